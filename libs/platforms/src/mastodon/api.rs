//! The addresses and answers of servers that speak Mastodon's API.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::media::Attachment;
use domain::rules::Rules;
use http::StatusCode;
use reqwest::{Method, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use url::Url;

use super::app::App;
use super::grant::{Endpoints, Grant};
use super::instance::Instance;
use super::multipart;
use super::preparation::Uploaded;
use super::refused::{Failure, NoAnswer, Refused};
use super::server::{self, Server};
use super::software::Software;
use crate::answer;
use crate::handoff::{Callback, HandOffRefusal, OurAddresses};
use crate::http_client::HttpClient;
use crate::job::MediaBytes;
use crate::recognition::Listed;

/// Uploads a file, which may be worked on afterwards.
pub(super) const UPLOAD: &str = "/api/v2/media";

/// Uploads a file and waits for what comes of it; the older call.
pub(super) const UPLOAD_AT_ONCE: &str = "/api/v1/media";

/// For calls of which a person waits for several.
const SHORT: Duration = Duration::from_secs(6);

/// For the public call. Longer than servers need, shorter than
/// [`super::DEADLINE`] by enough to ask for files and statuses afterwards.
const PUBLISH: Duration = Duration::from_secs(15);

/// For one file; shorter than [`super::DEADLINE`], too.
const FILE: Duration = Duration::from_secs(35);

/// The most statuses that a server lists at once.
const PAGE: &str = "40";

/// More than the longest text that reaches this service, twice in a status and
/// escaped.
const MAX_STATUS_BYTES: usize = 1 << 20;

/// More than so many statuses with all that belongs to them.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// The HTTP API, wherever it is.
#[derive(Clone)]
pub(super) struct Api {
    http: HttpClient,
}

/// A server, and what it says of itself.
pub(super) struct Discovered {
    pub(super) server: Server,
    pub(super) software: Software,
    pub(super) rules: Rules,
    pub(super) endpoints: Endpoints,
    /// The scopes that there are, where it says so.
    pub(super) scopes: Option<Vec<String>>,
}

/// What a server says of an app of ours.
pub(super) enum Knows {
    /// It knows it, or cannot be asked now.
    It,
    /// It may not know it.
    Not,
    /// It gives tokens for any code, and may have removed the app when they were
    /// given back.
    TakesAnyCode,
}

/// An app to be registered.
#[derive(Serialize)]
pub(super) struct NewApp<'a> {
    pub(super) client_name: &'a str,
    pub(super) redirect_uris: &'a str,
    pub(super) scopes: &'a str,
    pub(super) website: &'a str,
}

/// The answer of the token endpoint.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: SecretString,
    pub(super) refresh_token: Option<SecretString>,
    /// In seconds.
    pub(super) expires_in: Option<i64>,
    pub(super) scope: Option<String>,
}

/// The account behind a token.
#[derive(Deserialize)]
pub(super) struct Me {
    #[serde(deserialize_with = "id")]
    pub(super) id: String,
    pub(super) username: String,
    pub(super) display_name: Option<String>,
    pub(super) avatar: Option<String>,
    pub(super) url: Option<String>,
}

/// A file that is being uploaded.
pub(super) enum Upload {
    /// A status can show it.
    Ready(Uploaded),
    /// It is being worked on; its id.
    Processing(String),
}

/// How a file is that was uploaded before.
pub(super) enum Medium {
    /// A status can show it.
    Ready(Uploaded),
    /// It is being worked on.
    Processing,
    /// It is not there, or some status shows it.
    Unknown,
}

/// A status to be made.
#[derive(Serialize)]
pub(super) struct NewStatus<'a> {
    pub(super) status: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) media_ids: Vec<&'a str>,
    pub(super) visibility: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<&'static str>,
}

/// A status.
#[derive(Deserialize)]
pub(super) struct Status {
    #[serde(deserialize_with = "id")]
    pub(super) id: String,
    created_at: Option<String>,
    edited_at: Option<String>,
    content: Option<String>,
    /// Few servers show it in a listing.
    text: Option<String>,
    media_attachments: Option<Vec<Shown>>,
    reblog: Option<IgnoredAny>,
    in_reply_to_id: Option<IgnoredAny>,
}

/// A file as a status shows it, by whatever name.
#[derive(Deserialize)]
struct Shown {
    id: Option<String>,
    url: Option<String>,
}

/// What a status was made from.
#[derive(Deserialize)]
struct Source {
    text: Option<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(deserialize_with = "id")]
    id: String,
    url: Option<String>,
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: SecretString,
}

/// `/.well-known/oauth-authorization-server`
#[derive(Deserialize)]
struct Metadata {
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    app_registration_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
}

/// What is at an address that needs no token.
enum Public {
    Json(Value),
    /// Another server.
    Moved(Server),
    /// Nothing of ours.
    Nothing,
}

impl Status {
    pub(super) fn created_at(&self) -> Option<DateTime<Utc>> {
        DateTime::parse_from_rfc3339(self.created_at.as_ref()?).ok().map(|it| it.to_utc())
    }

    /// Whether it was changed since it was made.
    pub(super) fn is_edited(&self) -> bool {
        self.edited_at.is_some()
    }

    /// What it was made from, where the listing says so.
    pub(super) fn source(&self) -> Option<&str> {
        self.text.as_deref().filter(|it| !it.is_empty())
    }

    /// As HTML.
    pub(super) fn content(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// How many files it shows.
    pub(super) fn files(&self) -> usize {
        self.media_attachments.as_ref().map_or(0, Vec::len)
    }

    /// Whether it shows the file with this id, or this address.
    pub(super) fn shows(&self, id: &str, url: Option<&str>) -> bool {
        let is_it = |it: &Shown| it.id.as_deref() == Some(id) || (url.is_some() && it.url.as_deref() == url);
        self.media_attachments.iter().flatten().any(is_it)
    }

    /// Whether it only passes on another one.
    pub(super) fn is_boost(&self) -> bool {
        self.reblog.is_some()
    }

    /// Whether it answers another one, which none of ours does.
    pub(super) fn is_reply(&self) -> bool {
        self.in_reply_to_id.is_some()
    }
}

impl From<File> for Uploaded {
    fn from(File { id, url }: File) -> Self {
        // Longer ones are not worth keeping.
        Self { id, url: url.filter(|it| it.len() <= 500) }
    }
}

impl Listed for Status {
    fn id(&self) -> &str {
        &self.id
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        self.created_at()
    }
}

impl Api {
    pub(super) fn new(http: HttpClient) -> Self {
        Self { http }
    }

    /// What a server says of itself. Where it leads to another, that one is
    /// taken: many people know the domain of their handle and not the server's.
    pub(super) async fn discover(&self, typed: Server) -> Result<Discovered, HandOffRefusal> {
        let (server, instance) = match self.instance(typed).await? {
            (server, Ok(instance)) => (server, instance),
            (_, Err(moved)) => match self.instance(moved).await? {
                (server, Ok(instance)) => (server, instance),
                (server, Err(_)) => return Err(no_instance(&server)),
            },
        };
        let metadata = self.metadata(&server).await?;
        let (endpoints, scopes) = match metadata {
            Some(metadata) => (endpoints(&server, &metadata)?, metadata.scopes_supported),
            None => (Endpoints::default(), None),
        };
        let (software, rules) = (instance.software, instance.rules(server.name()));
        Ok(Discovered { server, software, rules, endpoints, scopes })
    }

    /// A server's description of itself, or the server that it leads to.
    async fn instance(&self, server: Server) -> Result<(Server, Result<Instance, Server>), HandOffRefusal> {
        for path in ["/api/v2/instance", "/api/v1/instance"] {
            match self.public(&server, path).await? {
                Public::Json(answer) => {
                    if let Some(instance) = Instance::read(answer) {
                        return Ok((server, Ok(instance)));
                    }
                }
                Public::Moved(other) => return Ok((server, Err(other))),
                Public::Nothing => {}
            }
        }
        Err(no_instance(&server))
    }

    async fn metadata(&self, server: &Server) -> Result<Option<Metadata>, HandOffRefusal> {
        Ok(match self.public(server, "/.well-known/oauth-authorization-server").await? {
            Public::Json(answer) => serde_json::from_value(answer).ok(),
            Public::Moved(_) | Public::Nothing => None,
        })
    }

    async fn public(&self, server: &Server, path: &str) -> Result<Public, HandOffRefusal> {
        let url = server.url(path);
        let name = server.name();
        let response = self.send(&url, Method::GET, |it| it.timeout(SHORT)).await.map_err(|it| {
            let advice = match it {
                NoAnswer::Forbidden(_) => format!("Type the name of your server, such as {}.", server::EXAMPLE),
                _ => "Check its name, or try again later.".to_owned(),
            };
            server::refused(format!("{name} was not called: {}. {advice}", it.reason()))
        })?;
        let status = response.status();
        if status.is_redirection() {
            let location = response.headers().get(http::header::LOCATION).and_then(|it| it.to_str().ok());
            let other = location.and_then(|it| url.join(it).ok()).and_then(|it| Server::of(&it));
            return Ok(other.filter(|it| it != server).map_or(Public::Nothing, Public::Moved));
        }
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(server::refused(format!("{name} answered {status}. Check its name, or try again later.")));
        }
        if !status.is_success() {
            return Ok(Public::Nothing);
        }
        // Many answer every path with a page for people.
        Ok(answer::json(response).await.map_or(Public::Nothing, Public::Json))
    }

    /// Registers this service at a server.
    pub(super) async fn register(&self, found: &Discovered, new: &NewApp<'_>) -> Result<App, HandOffRefusal> {
        let url = found.server.url(&found.endpoints.registration);
        let response = self.send(&url, Method::POST, |it| it.json(new).timeout(SHORT)).await?;
        let Registered { client_id, client_secret } = expected(response, DateTime::UNIX_EPOCH).await?;
        Ok(App { client_id, client_secret, scopes: new.scopes.to_owned(), any_code: false })
    }

    /// Whether a server shows a person the page on which they decide. Some
    /// answer an app that they do not know with an error there.
    pub(super) async fn shows_page(&self, page: &str) -> bool {
        const PASSING: [StatusCode; 2] = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        let Ok(url) = Url::parse(page) else { return false };
        match self.send(&url, Method::GET, |it| it.timeout(SHORT)).await {
            Ok(response) => !response.status().is_client_error() || PASSING.contains(&response.status()),
            Err(_) => true,
        }
    }

    /// Whether a server still knows an app of ours. It is asked for the tokens
    /// of a code that is none: who is asking is looked at before the code is.
    /// Where both are refused in the same words, it is asked for a token without
    /// an account, for which nothing but the app counts. Whatever that brings is
    /// given back.
    pub(super) async fn knows(&self, grant: &Grant, here: &OurAddresses) -> Knows {
        let with_code = [("grant_type", "authorization_code"), ("code", "0"), ("redirect_uri", &here.redirect_uri)];
        let without_account = [("grant_type", "client_credentials")];
        let hides_why = grant.software.hides_why_tokens_fail();
        let form = if hides_why { without_account.as_slice() } else { with_code.as_slice() };
        let url = grant.server.url(&grant.endpoints.token);
        match self.form::<Tokens>(&url, &grant.app, form).await {
            Err(Failure::Refused(refused)) if refused.may_be_of_our_app() => Knows::Not,
            Err(_) => Knows::It,
            Ok(Tokens { access_token, .. }) => {
                if let Err(failure) = self.revoke(grant, &access_token).await {
                    tracing::warn!(server = grant.server.name(), ?failure, "an unwanted token was not given back");
                }
                if hides_why { Knows::It } else { Knows::TakesAnyCode }
            }
        }
    }

    /// Tokens for a code.
    pub(super) async fn exchange(&self, grant: &Grant, code: &str, callback: &Callback) -> Result<Tokens, Failure> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", callback.verifier.expose_secret()),
            ("redirect_uri", &callback.here.redirect_uri),
        ];
        self.form(&grant.server.url(&grant.endpoints.token), &grant.app, &form).await
    }

    /// New tokens for a refresh token, which may be spent by it.
    pub(super) async fn refresh(&self, grant: &Grant, token: &SecretString) -> Result<Tokens, Failure> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token.expose_secret())];
        self.form(&grant.server.url(&grant.endpoints.token), &grant.app, &form).await
    }

    /// Ends the grant of a token.
    pub(super) async fn revoke(&self, grant: &Grant, token: &SecretString) -> Result<(), Failure> {
        let form = [("token", token.expose_secret())];
        let url = grant.server.url(&grant.endpoints.revocation);
        self.form(&url, &grant.app, &form).await.map(|IgnoredAny| ())
    }

    /// The account behind a token.
    pub(super) async fn me(&self, server: &Server, token: &SecretString) -> Result<Me, Failure> {
        let url = server.url("/api/v1/accounts/verify_credentials");
        let response = self.send(&url, Method::GET, |it| it.bearer_auth(token.expose_secret()).timeout(SHORT)).await?;
        expected(response, DateTime::UNIX_EPOCH).await
    }

    /// Uploads a file, by [`UPLOAD`] or [`UPLOAD_AT_ONCE`].
    pub(super) async fn upload(
        &self,
        grant: &Grant,
        token: &SecretString,
        path: &str,
        file: &Attachment,
        bytes: MediaBytes,
        now: DateTime<Utc>,
    ) -> Result<Upload, Failure> {
        let with_file =
            |it: RequestBuilder| multipart::with_file(it, file, bytes).bearer_auth(token.expose_secret()).timeout(FILE);
        let response = self.send(&grant.server.url(path), Method::POST, with_file).await?;
        let is_processing = response.status() == StatusCode::ACCEPTED;
        let file: File = expected(response, now).await?;
        Ok(if is_processing { Upload::Processing(file.id) } else { Upload::Ready(file.into()) })
    }

    /// How a file is that was uploaded before.
    pub(super) async fn medium(
        &self,
        grant: &Grant,
        token: &SecretString,
        id: &str,
        now: DateTime<Utc>,
    ) -> Result<Medium, Failure> {
        let url = grant.server.url(&format!("/api/v1/media/{id}"));
        let response = self.send(&url, Method::GET, |it| it.bearer_auth(token.expose_secret()).timeout(SHORT)).await?;
        if response.status() == StatusCode::PARTIAL_CONTENT {
            return Ok(Medium::Processing);
        }
        match expected::<File>(response, now).await {
            Ok(file) if file.id == id => Ok(Medium::Ready(file.into())),
            Ok(_) => Err(Failure::Unreadable),
            Err(Failure::Refused(refused)) if refused.is_not_found() => Ok(Medium::Unknown),
            Err(failure) => Err(failure),
        }
    }

    /// Makes a status. The key is what a server recognises a repeat by.
    pub(super) async fn post(
        &self,
        grant: &Grant,
        token: &SecretString,
        status: &NewStatus<'_>,
        key: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Status, Failure> {
        let url = grant.server.url("/api/v1/statuses");
        let with_status = |it: RequestBuilder| {
            let it = match key {
                Some(key) => it.header("Idempotency-Key", key),
                None => it,
            };
            it.bearer_auth(token.expose_secret()).json(status).timeout(PUBLISH)
        };
        expected(self.send(&url, Method::POST, with_status).await?, now).await
    }

    /// A page of an account's statuses, newest first; the first one, or the one
    /// after a status.
    pub(super) async fn statuses(
        &self,
        grant: &Grant,
        token: &SecretString,
        account_id: &str,
        after: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Status>, Failure> {
        let mut url = grant.server.url(&format!("/api/v1/accounts/{account_id}/statuses"));
        url.query_pairs_mut().append_pair("limit", PAGE).append_pair("exclude_reblogs", "true");
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("max_id", after);
        }
        let response = self.send(&url, Method::GET, |it| it.bearer_auth(token.expose_secret()).timeout(SHORT)).await?;
        if !response.status().is_success() {
            return Err(Failure::Refused(Refused::read(response, now).await));
        }
        answer::json_up_to(response, MAX_PAGE_BYTES).await.map_err(|_| Failure::Unreadable)
    }

    /// What a status was made from; `None` where the server does not say.
    pub(super) async fn source(
        &self,
        grant: &Grant,
        token: &SecretString,
        id: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<String>, Failure> {
        let url = grant.server.url(&format!("/api/v1/statuses/{id}/source"));
        let response = self.send(&url, Method::GET, |it| it.bearer_auth(token.expose_secret()).timeout(SHORT)).await?;
        match expected::<Source>(response, now).await {
            Ok(source) => Ok(source.text),
            Err(Failure::Refused(refused))
                if refused.is_final() || refused.has_no_such_call() || refused.is_beyond_the_scopes() =>
            {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Sends a form with our own id and secret.
    async fn form<T: DeserializeOwned>(&self, url: &Url, app: &App, form: &[(&str, &str)]) -> Result<T, Failure> {
        let ours = [("client_id", app.client_id.as_str()), ("client_secret", app.client_secret.expose_secret())];
        let form: Vec<_> = form.iter().chain(&ours).collect();
        let response = self.send(url, Method::POST, |it| it.form(&form).timeout(SHORT)).await?;
        expected(response, DateTime::UNIX_EPOCH).await
    }

    async fn send(
        &self,
        url: &Url,
        method: Method,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, NoAnswer> {
        let request = self.http.client_for(url)?.request(method, url.clone());
        // Pixelfed answers others with redirects and pages.
        let request = request.header(http::header::ACCEPT, "application/json");
        Ok(fill(request).send().await?)
    }
}

/// An id as servers give them: short enough for our tables, and with nothing in
/// it that means something in an address.
fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    const MAX: usize = 200;
    let id = String::deserialize(from)?;
    let is_plain = id.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.'));
    if id.is_empty() || MAX < id.len() || !is_plain {
        return Err(serde::de::Error::custom("an id that is none"));
    }
    Ok(id)
}

/// What was hoped for.
async fn expected<T: DeserializeOwned>(response: Response, now: DateTime<Utc>) -> Result<T, Failure> {
    if !response.status().is_success() {
        return Err(Failure::Refused(Refused::read(response, now).await));
    }
    answer::json_up_to(response, MAX_STATUS_BYTES).await.map_err(|_| Failure::Unreadable)
}

/// The paths that a server names. An address elsewhere would be given our
/// secret, or a person's code.
fn endpoints(server: &Server, metadata: &Metadata) -> Result<Endpoints, HandOffRefusal> {
    let usual = Endpoints::default();
    let here = |named: &str| {
        let elsewhere = || HandOffRefusal::Refused(format!("{} signs people in at another server", server.name()));
        server.path_of(named).ok_or_else(elsewhere)
    };
    let or_usual = |named: Option<&String>, usual: String| named.map_or(Ok(usual), |it| here(it));
    Ok(Endpoints {
        authorization: here(&metadata.authorization_endpoint)?,
        token: here(&metadata.token_endpoint)?,
        revocation: or_usual(metadata.revocation_endpoint.as_ref(), usual.revocation)?,
        registration: or_usual(metadata.app_registration_endpoint.as_ref(), usual.registration)?,
    })
}

fn no_instance(server: &Server) -> HandOffRefusal {
    let name = server.name();
    server::refused(format!("{name} does not speak Mastodon's API. Type the name of the server where your account is."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(token_endpoint: &str) -> Metadata {
        serde_json::from_value(serde_json::json!({
            "authorization_endpoint": "https://harbour.example/oauth/authorize",
            "token_endpoint": token_endpoint,
            "revocation_endpoint": "https://harbour.example/oauth/end",
        }))
        .unwrap()
    }

    #[test]
    fn a_server_says_where_its_oauth_is_and_not_elsewhere() {
        let server = Server::parse("harbour.example").unwrap();

        let found = endpoints(&server, &metadata("https://harbour.example/oauth/token")).unwrap();
        assert_eq!((found.token.as_str(), found.revocation.as_str()), ("/oauth/token", "/oauth/end"));
        assert_eq!(found.registration, "/api/v1/apps");
        for elsewhere in ["https://other.example/oauth/token", "http://harbour.example/oauth/token", "/oauth/token"] {
            let refused = endpoints(&server, &metadata(elsewhere));
            assert!(matches!(refused, Err(HandOffRefusal::Refused(_))), "{elsewhere}");
        }
    }
}
