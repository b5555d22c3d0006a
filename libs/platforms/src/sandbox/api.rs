//! The sandbox network's addresses and answers.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::connection::Profile;
use domain::delivery::{Resolution, Setback};
use domain::media::{AltText, MimeType};
use domain::options::Options;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::account::Credentials;
use crate::answer;
use crate::choices::Choice;
use crate::handoff::HandOffRefusal;
use crate::http_clients::HttpClients;
use crate::job::{Job, MediaBytes};
use crate::no_answer::NoAnswer;
use crate::not_now::NotNow;
use crate::oauth2::Endpoints;
use crate::platform::STEP_LIMIT;

/// For the public call. Longer than the network needs, shorter than
/// `delivery::LEASE`, so that the worker that holds the delivery also learns the
/// outcome.
const PUBLISH: Duration = Duration::from_secs(15);

/// For one file.
const UPLOAD: Duration = STEP_LIMIT;

/// The sandbox network's HTTP API.
pub(super) struct Api {
    http: HttpClients,
    base_url: String,
}

/// Names the account that a call is for.
const ON_BEHALF_OF: &str = "sandbox-account";

/// Who makes a call: the token of a grant, and the account that it is for.
#[derive(Clone, Copy)]
pub(super) struct By<'a> {
    token: &'a SecretString,
    account: &'a str,
}

impl<'a> By<'a> {
    pub(super) fn account(credentials: &'a Credentials, profile: &'a Profile) -> Self {
        Self { token: &credentials.access_token, account: &profile.account_id }
    }

    pub(super) fn of(job: &Job<'a>) -> Self {
        Self::account(job.credentials, job.profile)
    }

    fn onto(self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(self.token.expose_secret()).header(ON_BEHALF_OF, self.account)
    }
}

/// The accounts behind a token.
#[derive(Deserialize)]
pub(super) struct Me {
    #[serde(flatten)]
    pub(super) account: PublicAccount,
    /// The name of the grant, where it covers others too.
    #[serde(default)]
    pub(super) grant: Option<String>,
    /// The others.
    #[serde(default)]
    pub(super) also: Vec<PublicAccount>,
}

/// An account, as it shows itself.
#[derive(Deserialize)]
pub(super) struct PublicAccount {
    pub(super) id: String,
    pub(super) handle: String,
    pub(super) name: String,
    pub(super) avatar_url: Option<String>,
    pub(super) profile_url: Option<String>,
}

impl PublicAccount {
    pub(super) fn profile(self) -> Profile {
        Profile {
            account_id: self.id,
            username: Some(self.handle),
            display_name: Some(self.name),
            avatar: self.avatar_url,
            profile_url: self.profile_url,
        }
    }
}

/// A board of an account.
#[derive(Deserialize)]
struct Board {
    id: String,
    name: String,
}

/// A public post.
#[derive(Deserialize)]
pub(super) struct PublicPost {
    pub(super) id: String,
    pub(super) url: Option<String>,
    pub(super) posted_at: DateTime<Utc>,
}

/// What a call has made.
#[derive(Deserialize)]
pub(super) struct Created {
    pub(super) id: String,
    pub(super) url: Option<String>,
}

#[derive(Serialize)]
struct NewPost<'a> {
    text: &'a str,
    media_ids: &'a [&'a str],
    /// What files show, by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    alt_texts: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Options::is_empty")]
    options: &'a Options,
    reference: &'a str,
}

#[derive(Serialize)]
struct NewComment<'a> {
    text: &'a str,
    reference: &'a str,
}

impl Api {
    pub(super) fn new(http: HttpClients, base_url: &str) -> Self {
        Self { http, base_url: base_url.trim_end_matches('/').to_owned() }
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.base_url)
    }

    /// Where its OAuth is, which follows the RFCs.
    pub(super) fn oauth(&self) -> Endpoints {
        Endpoints {
            authorization: self.url("oauth/authorize"),
            token: self.url("oauth/token"),
            revocation: Some(self.url("oauth/revoke")),
            ..Endpoints::default()
        }
    }

    /// The account behind a token.
    pub(super) async fn me(&self, token: &SecretString) -> Result<Me, HandOffRefusal> {
        let request = self.http.to_known(Method::GET, self.url("api/me"))?.bearer_auth(token.expose_secret());
        hand_off_answer(request.send().await).await
    }

    /// The account that a call is for, as it shows itself now.
    pub(super) async fn account(&self, by: By<'_>, now: DateTime<Utc>) -> Result<PublicAccount, Setback> {
        self.read(by, "api/me", now).await
    }

    /// The boards of the account.
    pub(super) async fn boards(&self, by: By<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, Setback> {
        let boards: Vec<Board> = self.read(by, "api/boards", now).await?;
        Ok(boards.into_iter().map(|it| Choice { value: it.id, label: it.name }).collect())
    }

    async fn read<T: DeserializeOwned>(&self, by: By<'_>, path: &str, now: DateTime<Utc>) -> Result<T, Setback> {
        let request = by.onto(self.http.to_known(Method::GET, self.url(path))?);
        let response = request.send().await.map_err(not_answered)?;
        if !response.status().is_success() {
            return Err(setback(response, now).await);
        }
        answer::json(response).await.map_err(|error| Setback::Busy { retry_at: None, reason: error.to_string() })
    }

    /// Uploads a file of this type and size; its id over there.
    pub(super) async fn upload(
        &self,
        by: By<'_>,
        (mime_type, size_bytes): (MimeType, u64),
        bytes: MediaBytes,
        now: DateTime<Utc>,
    ) -> Result<String, Setback> {
        let request = by
            .onto(self.http.to_known(Method::POST, self.url("api/media"))?)
            .header(http::header::CONTENT_TYPE, mime_type.as_str())
            // With a length, a stream that ends early is not taken for the file.
            .header(http::header::CONTENT_LENGTH, size_bytes)
            .body(reqwest::Body::wrap_stream(bytes))
            .timeout(UPLOAD);
        Ok(created(request, now).await?.id)
    }

    /// Makes a post public.
    pub(super) async fn post(
        &self,
        by: By<'_>,
        text: &str,
        media: &[(String, Option<&AltText>)],
        (options, reference): (&Options, &str),
        now: DateTime<Utc>,
    ) -> Result<Created, Setback> {
        let media_ids: Vec<_> = media.iter().map(|it| it.0.as_str()).collect();
        let alt_texts = media.iter().filter_map(|(id, words)| Some((id.as_str(), words.as_ref()?.as_str()))).collect();
        let request = by
            .onto(self.http.to_known(Method::POST, self.url("api/posts"))?)
            .json(&NewPost { text, media_ids: &media_ids, alt_texts, options, reference })
            .timeout(PUBLISH);
        created(request, now).await
    }

    /// Adds a comment to a public post.
    pub(super) async fn comment(
        &self,
        by: By<'_>,
        post: &str,
        (text, reference): (&str, &str),
        now: DateTime<Utc>,
    ) -> Result<(), Setback> {
        let mut url = Url::parse(&self.url("api/posts")).map_err(|_| NotNow)?;
        url.path_segments_mut().map_err(|()| NotNow)?.extend([post, "comments"]);
        let request =
            by.onto(self.http.to_known(Method::POST, url)?).json(&NewComment { text, reference }).timeout(PUBLISH);
        created(request, now).await.map(drop)
    }

    /// The account's posts with this reference, oldest first; or why that
    /// cannot be said.
    pub(super) async fn posts_with(&self, by: By<'_>, reference: &str) -> Result<Vec<PublicPost>, Resolution> {
        let unclear = |reason: &str| Resolution::Unclear { reason: reason.to_owned() };
        let request = self.http.to_known(Method::GET, self.url("api/posts")).map_err(|it| unclear(&it.to_string()))?;
        let request = by.onto(request).query(&[("reference", reference)]);
        let response = request.send().await.map_err(|_| unclear("the sandbox did not answer"))?;
        match response.status() {
            StatusCode::OK => answer::json(response).await.map_err(|it| unclear(&it.to_string())),
            StatusCode::UNAUTHORIZED => {
                Err(Resolution::Disconnected { reason: "the sandbox does not accept the token any more".to_owned() })
            }
            _ => Err(unclear(&answer::words(response).await)),
        }
    }
}

/// An answer of the hand-off. What is refused for a reason is said to the
/// person; whatever may pass is "try again".
async fn hand_off_answer<T: DeserializeOwned>(sent: Result<Response, reqwest::Error>) -> Result<T, HandOffRefusal> {
    let response = sent.map_err(|_| HandOffRefusal::Unreachable)?;
    match response.status() {
        it if it.is_success() => answer::json(response).await.map_err(|_| HandOffRefusal::Unreachable),
        it if it.is_client_error() && it != StatusCode::TOO_MANY_REQUESTS => {
            Err(HandOffRefusal::Refused(answer::words(response).await))
        }
        _ => Err(HandOffRefusal::Unreachable),
    }
}

/// What a call made.
async fn created(request: RequestBuilder, now: DateTime<Utc>) -> Result<Created, Setback> {
    let response = request.send().await.map_err(not_answered)?;
    if response.status() != StatusCode::CREATED {
        return Err(setback(response, now).await);
    }
    // The call was carried out, but the id of what it made cannot be read.
    answer::json(response).await.map_err(|error| Setback::Unknown { may_still_run: true, reason: error.to_string() })
}

/// What follows when there is no answer. Nothing was done for certain only where no
/// connection was made.
fn not_answered(error: reqwest::Error) -> Setback {
    let no_answer = NoAnswer::from(error);
    let reason = no_answer.words("the sandbox");
    if no_answer.is_unsent() {
        Setback::Busy { retry_at: None, reason }
    } else {
        Setback::Unknown { may_still_run: true, reason }
    }
}

/// What follows from an error, decided by its status alone.
async fn setback(response: Response, now: DateTime<Utc>) -> Setback {
    let retry_at = answer::retry_at(response.headers(), now);
    let status = response.status();
    let reason = answer::words(response).await;
    match status {
        StatusCode::UNAUTHORIZED => Setback::Disconnected { reason },
        StatusCode::TOO_MANY_REQUESTS => Setback::Busy { retry_at, reason },
        it if it.is_client_error() => Setback::Refused { reason },
        // It has answered, so it has stopped working on the call. What it had done
        // before the error is not known.
        _ => Setback::Unknown { may_still_run: false, reason },
    }
}
