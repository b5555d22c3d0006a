//! The API's addresses and answers.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use http::{HeaderMap, Method};
use reqwest::{RequestBuilder, Response};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::failure::Failure;
use super::own_app::OwnApp;
use crate::answer;
use crate::caller::Caller;
use crate::http_clients::HttpClients;
use crate::not_now::NotNow;
use crate::oauth2::Endpoints;

/// For the public call. Long, because what it did costs money to find out.
const PUBLISH: Duration = Duration::from_secs(30);

/// The API.
#[derive(Clone)]
pub(super) struct Api {
    http: HttpClients,
    site: String,
    base_url: String,
    /// Whether it is called for an account that was connected with an app of its own.
    has_own_app: bool,
}

/// What most answers have.
#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

/// An account.
#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) username: String,
    pub(super) name: Option<String>,
    pub(super) profile_image_url: Option<String>,
    pub(super) subscription_type: Option<String>,
}

#[derive(Deserialize)]
struct Made {
    id: String,
}

/// A file as X has it.
#[derive(Deserialize)]
pub(super) struct Media {
    pub(super) id: String,
    #[serde(rename = "media_key")]
    pub(super) key: Option<String>,
    pub(super) processing_info: Option<Processing>,
}

/// How far a file is.
#[derive(Deserialize)]
pub(super) struct Processing {
    pub(super) state: String,
    pub(super) check_after_secs: Option<u32>,
    #[serde(default)]
    pub(super) error: Value,
}

/// A post, as its account's list has it.
#[derive(Deserialize)]
pub(super) struct Post {
    pub(super) id: String,
    #[serde(default)]
    pub(super) text: String,
    pub(super) created_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub(super) attachments: Attachments,
    #[serde(default)]
    pub(super) entities: Entities,
    /// The whole text of a long one.
    pub(super) note_tweet: Option<Note>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Attachments {
    pub(super) media_keys: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Entities {
    pub(super) urls: Vec<Link>,
}

#[derive(Deserialize)]
pub(super) struct Link {
    pub(super) url: String,
    pub(super) expanded_url: Option<String>,
    /// Where it leads to a file of the post itself.
    pub(super) media_key: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Note {
    pub(super) text: String,
    #[serde(default)]
    pub(super) entities: Entities,
}

#[derive(Deserialize)]
struct Posts {
    /// Missing where there are none.
    #[serde(default)]
    data: Vec<Post>,
}

impl Api {
    pub(super) fn new(http: HttpClients, site: &str, base_url: String) -> Self {
        Self { http, site: site.to_owned(), base_url, has_own_app: false }
    }

    /// The same for an account with or without an app of its own.
    pub(super) fn by(&self, own: Option<&OwnApp>) -> Self {
        Self { has_own_app: own.is_some(), ..self.clone() }
    }

    /// Where its OAuth is.
    pub(super) fn oauth(&self) -> Endpoints {
        let at = |name: &str| format!("{}/2/oauth2/{name}", self.base_url);
        Endpoints {
            authorization: format!("{}/i/oauth2/authorize", self.site),
            token: at("token"),
            revocation: Some(at("revoke")),
            ..Endpoints::default()
        }
    }

    /// Whose token it is.
    pub(super) async fn member(&self, by: Caller<'_>) -> Result<Member, Failure> {
        let fields = "profile_image_url,username,name,subscription_type";
        let request = self.request(by, Method::GET, "users/me")?.query(&[("user.fields", fields)]);
        self.data(request, by).await
    }

    /// Makes a post public; its id.
    pub(super) async fn post(&self, by: Caller<'_>, body: &Value) -> Result<String, Failure> {
        let request = self.request(by, Method::POST, "tweets")?.json(body).timeout(PUBLISH);
        let Made { id } = self.data(request, by).await?;
        if is_id(&id) { Ok(id) } else { Err(unreadable()) }
    }

    /// Says what a file shows.
    pub(super) async fn describe(&self, by: Caller<'_>, id: &str, words: &str) -> Result<(), Failure> {
        let body = json!({ "id": id, "metadata": { "alt_text": { "text": words } } });
        let request = self.request(by, Method::POST, "media/metadata")?.json(&body);
        self.data::<IgnoredAny>(request, by).await.map(|_| ())
    }

    /// The newest posts of an account since then, at most twenty, which are paid by the
    /// post.
    pub(super) async fn posts_since(
        &self,
        by: Caller<'_>,
        account: &str,
        since: DateTime<Utc>,
    ) -> Result<Vec<Post>, Failure> {
        let since = since.to_rfc3339_opts(SecondsFormat::Secs, true);
        let asked = [
            ("max_results", "20"),
            ("start_time", &since),
            ("exclude", "retweets,replies"),
            ("tweet.fields", "created_at,text,attachments,entities,note_tweet"),
        ];
        let request = self.request(by, Method::GET, &format!("users/{account}/tweets"))?.query(&asked);
        let response = self.answered(request, by).await?;
        answer::json::<Posts>(response).await.map(|it| it.data).map_err(|_| unreadable())
    }

    pub(super) fn request(&self, by: Caller<'_>, method: Method, path: &str) -> Result<RequestBuilder, NotNow> {
        let request = self.http.to_known(method, format!("{}/2/{path}", self.base_url))?;
        Ok(request.bearer_auth(by.token.expose_secret()))
    }

    /// What an answer has.
    pub(super) async fn data<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        by: Caller<'_>,
    ) -> Result<T, Failure> {
        let response = self.answered(request, by).await?;
        answer::json::<Data<T>>(response).await.map(|it| it.data).map_err(|_| unreadable())
    }

    /// The answer of a call that went well.
    pub(super) async fn answered(&self, request: RequestBuilder, by: Caller<'_>) -> Result<Response, Failure> {
        let response = request.send().await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_at = resets_at(response.headers()).or_else(|| answer::retry_at(response.headers(), by.now));
        let body = answer::body(response).await.unwrap_or_default();
        let failure = Failure::of(status, retry_at, &body);
        let failure = if self.has_own_app { failure.of_own_app() } else { failure };
        if failure.is_ours() {
            tracing::error!(why = failure.words(), "X does not serve this deployment's app");
        }
        Err(failure)
    }
}

/// When a limit that is used up begins anew: of the day, where that is the one.
fn resets_at(headers: &HeaderMap) -> Option<DateTime<Utc>> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<i64>().ok();
    let of = |limit: &str| {
        let is_used_up = number(&format!("{limit}-remaining")) == Some(0);
        number(&format!("{limit}-reset")).filter(|_| is_used_up)
    };
    let resets = ["x-user-limit-24hour", "x-app-limit-24hour", "x-rate-limit"].into_iter().find_map(of);
    DateTime::from_timestamp(resets?, 0)
}

/// Whether this is an id, as it can be passed on.
pub(super) fn is_id(it: &str) -> bool {
    (1..=19).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit())
}

pub(super) fn unreadable() -> Failure {
    Failure::Unknown { may_still_run: false, why: "X's answer could not be read".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_used_up_says_when() {
        let headers = |pairs: &[(&'static str, &str)]| {
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect::<HeaderMap>()
        };
        let at = |seconds| DateTime::from_timestamp(seconds, 0);
        let short = [("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "1800000000")];
        assert_eq!(resets_at(&headers(&short)), at(1_800_000_000));
        let day = [("x-user-limit-24hour-remaining", "0"), ("x-user-limit-24hour-reset", "1800050000")];
        assert_eq!(resets_at(&headers(&[&short[..], &day].concat())), at(1_800_050_000));
        assert_eq!(resets_at(&headers(&[("x-rate-limit-remaining", "3"), short[1]])), None);
    }
}
