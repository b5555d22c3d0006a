//! The addresses and answers of homeservers.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use http::StatusCode;
use reqwest::{Body, Method, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use url::Url;

use super::failure::Failure;
use super::grant::Grant;
use super::user::{Homeserver, UserId};
use crate::answer::{self, Unreadable};
use crate::http_clients::HttpClients;
use crate::job::{Job, MediaBytes};

/// For one message. Long, because what it did is found out by further calls.
const SEND: Duration = Duration::from_secs(15);

/// For a look at one page of a room, or at all rooms.
const LOOK: Duration = Duration::from_secs(10);

/// A page of events, each of which may have 64 KiB, is as long as this at most.
const MAX_PAGE_BYTES: usize = 8 << 20;

/// How many events a page has at most.
const PAGE: &str = "100";

/// The longest id of an event, or address of a file, in bytes.
const MAX_ID: usize = 255;

/// Where people sign in, and are told how they can.
const LOGIN: &[&str] = &["_matrix", "client", "v3", "login"];

/// The client-server API.
#[derive(Clone)]
pub(super) struct Api {
    http: HttpClients,
}

/// A device, at its homeserver.
#[derive(Clone, Copy)]
pub(super) struct Device<'a> {
    pub(super) server: &'a Homeserver,
    pub(super) token: &'a SecretString,
    pub(super) now: DateTime<Utc>,
}

impl<'a> Device<'a> {
    pub(super) fn of(grant: &'a Grant, job: &'a Job<'_>) -> Self {
        Self { server: &grant.server, token: &job.credentials.access_token, now: job.now }
    }
}

/// What proves who a user is.
pub(super) enum Proof<'a> {
    Password(&'a UserId, &'a SecretString),
    /// What the homeserver's page has given them, to be used once.
    FromPage(&'a str),
}

/// What a device is given to prove itself.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: SecretString,
    pub(super) refresh_token: Option<SecretString>,
    pub(super) expires_in_ms: Option<u32>,
}

impl Tokens {
    pub(super) fn expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.expires_in_ms.map(|it| now + TimeDelta::milliseconds(it.into()))
    }
}

/// A device that was made just now.
#[derive(Deserialize)]
pub(super) struct LoggedIn {
    pub(super) user_id: String,
    #[serde(flatten)]
    pub(super) tokens: Tokens,
}

#[derive(Deserialize)]
struct WhoAmI {
    user_id: String,
}

#[derive(Deserialize)]
struct Versions {
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Named {
    displayname: Option<String>,
}

#[derive(Deserialize)]
struct MediaConfig {
    #[serde(rename = "m.upload.size")]
    upload_size: Option<u64>,
}

#[derive(Deserialize)]
struct Uploaded {
    content_uri: String,
}

#[derive(Deserialize)]
struct Sent {
    #[serde(deserialize_with = "event_id")]
    event_id: String,
}

/// A page of what was said in a room.
#[derive(Deserialize)]
pub(super) struct Messages {
    pub(super) chunk: Vec<Said>,
    /// Where the next page begins; `None` behind the last.
    pub(super) end: Option<String>,
}

/// A message.
#[derive(Deserialize)]
pub(super) struct Said {
    #[serde(deserialize_with = "event_id")]
    pub(super) event_id: String,
    pub(super) sender: String,
    origin_server_ts: i64,
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default)]
    unsigned: Value,
}

impl Said {
    /// When, by the clock of its homeserver.
    pub(super) fn at(&self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_millis(self.origin_server_ts)
    }

    /// The transaction by which it was sent, where this device has sent it.
    pub(super) fn transaction(&self) -> Option<&str> {
        self.unsigned["transaction_id"].as_str()
    }
}

impl Api {
    pub(super) fn new(http: HttpClients) -> Self {
        Self { http }
    }

    /// What stands at an address that anybody may read; `None` where it moves the
    /// reader elsewhere, which is then said.
    pub(super) async fn read(&self, url: Url, now: DateTime<Utc>) -> Result<Result<Value, Option<Url>>, Failure> {
        let response = self.http.to_named(Method::GET, url.clone())?.send().await?;
        if response.status().is_redirection() {
            let location = response.headers().get(http::header::LOCATION).and_then(|it| it.to_str().ok());
            return Ok(Err(location.and_then(|it| url.join(it).ok())));
        }
        expected(response, now).await.map(Ok)
    }

    /// Whether there is a homeserver that speaks a version with `/v3/` in its paths.
    pub(super) async fn is_homeserver(&self, server: &Homeserver, now: DateTime<Utc>) -> Result<bool, Failure> {
        let url = server.url(&["_matrix", "client", "versions"]);
        let answer = self.read(url, now).await?.ok().and_then(|it| serde_json::from_value::<Versions>(it).ok());
        Ok(answer.is_some_and(|it| it.versions.iter().any(|version| version.starts_with("v1."))))
    }

    /// Whether people sign in on a page of a homeserver's.
    pub(super) async fn has_page(&self, server: &Homeserver, now: DateTime<Utc>) -> Result<bool, Failure> {
        let answer = self.read(server.url(LOGIN), now).await?.unwrap_or_default();
        let flows = answer["flows"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(flows.iter().any(|it| it["type"] == "m.login.sso"))
    }

    /// Makes a device of this name, by what proves who the user is.
    pub(super) async fn log_in(
        &self,
        server: &Homeserver,
        proof: Proof<'_>,
        device_name: &str,
        now: DateTime<Utc>,
    ) -> Result<LoggedIn, Failure> {
        let mut body = match proof {
            Proof::Password(user, password) => json!({
                "type": "m.login.password",
                "identifier": { "type": "m.id.user", "user": user.as_str() },
                "password": password.expose_secret(),
            }),
            Proof::FromPage(token) => json!({ "type": "m.login.token", "token": token }),
        };
        body["initial_device_display_name"] = device_name.into();
        body["refresh_token"] = true.into();
        asked(self.http.to_named(Method::POST, server.url(LOGIN))?.json(&body), now).await
    }

    /// New tokens of a device.
    pub(super) async fn refresh(
        &self,
        server: &Homeserver,
        token: &SecretString,
        within: Duration,
        now: DateTime<Utc>,
    ) -> Result<Tokens, Failure> {
        let url = server.url(&["_matrix", "client", "v3", "refresh"]);
        let body = json!({ "refresh_token": token.expose_secret() });
        asked(self.http.to_named(Method::POST, url)?.json(&body).timeout(within), now).await
    }

    /// Ends a device, with all of its tokens.
    pub(super) async fn log_out(&self, device: Device<'_>) -> Result<(), Failure> {
        let request = self.request(device, Method::POST, &["_matrix", "client", "v3", "logout"])?;
        asked::<Value>(request.json(&json!({})), device.now).await.map(|_| ())
    }

    /// Whose device it is.
    pub(super) async fn who_am_i(&self, device: Device<'_>) -> Result<String, Failure> {
        let request = self.request(device, Method::GET, &["_matrix", "client", "v3", "account", "whoami"])?;
        let WhoAmI { user_id } = asked(request, device.now).await?;
        Ok(user_id)
    }

    /// The name that a user has given themselves.
    pub(super) async fn display_name(&self, device: Device<'_>, user: &UserId) -> Result<Option<String>, Failure> {
        let request = self.request(device, Method::GET, &["_matrix", "client", "v3", "profile", user.as_str()])?;
        match asked::<Named>(request, device.now).await {
            Ok(Named { displayname }) => Ok(displayname.filter(|it| !it.trim().is_empty())),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// How large a file may be, in bytes, where the server says so. Servers from
    /// before version 1.11 say it at another address.
    pub(super) async fn upload_limit(&self, device: Device<'_>) -> Result<Option<u64>, Failure> {
        for path in [["_matrix", "client", "v1", "media", "config"].as_slice(), &["_matrix", "media", "v3", "config"]] {
            match asked::<MediaConfig>(self.request(device, Method::GET, path)?, device.now).await {
                Ok(MediaConfig { upload_size }) => return Ok(upload_size),
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// The rooms that a user has joined, as `/sync` tells them to who asks it first,
    /// with these kinds of their state.
    pub(super) async fn joined(&self, device: Device<'_>, state: &[&str]) -> Result<Value, Failure> {
        let none = json!({ "types": [] });
        // A change of the state that came last stands in the timeline, and nowhere else.
        let filter = json!({
            "presence": none, "account_data": none,
            "room": {
                "ephemeral": none, "account_data": none,
                "timeline": { "limit": 1, "types": state },
                "state": { "types": state, "lazy_load_members": true },
            },
        });
        let request = self.request(device, Method::GET, &["_matrix", "client", "v3", "sync"])?;
        let query = [("filter", filter.to_string().as_str()), ("set_presence", "offline"), ("timeout", "0")]
            .map(|(name, value)| (name, value.to_owned()));
        asked(request.query(&query).timeout(LOOK), device.now).await
    }

    /// Whether what is said in a room has to be encrypted.
    pub(super) async fn is_encrypted(&self, device: Device<'_>, room: &str) -> Result<bool, Failure> {
        let path = ["_matrix", "client", "v3", "rooms", room, "state", "m.room.encryption"];
        match asked::<Value>(self.request(device, Method::GET, &path)?, device.now).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.is(&["M_NOT_FOUND"]) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Uploads a file of this name, type and size; its `mxc://` address.
    pub(super) async fn upload(
        &self,
        device: Device<'_>,
        (name, mime_type, size_bytes): (&str, &str, u64),
        bytes: MediaBytes,
        within: Duration,
    ) -> Result<String, Failure> {
        let request = self
            .request(device, Method::POST, &["_matrix", "media", "v3", "upload"])?
            .query(&[("filename", name)])
            .header(http::header::CONTENT_TYPE, mime_type)
            // With a length, a stream that ends early is not taken for the file.
            .header(http::header::CONTENT_LENGTH, size_bytes)
            .body(Body::wrap_stream(bytes))
            .timeout(within);
        let Uploaded { content_uri } = asked(request, device.now).await?;
        if is_content(&content_uri) { Ok(content_uri) } else { Err(unreadable()) }
    }

    /// Says something in a room; the id of the event.
    pub(super) async fn send(
        &self,
        device: Device<'_>,
        room: &str,
        transaction: &str,
        content: &Value,
    ) -> Result<String, Failure> {
        let path = ["_matrix", "client", "v3", "rooms", room, "send", "m.room.message", transaction];
        let request = self.request(device, Method::PUT, &path)?.json(content).timeout(SEND);
        let Sent { event_id } = asked(request, device.now).await?;
        Ok(event_id)
    }

    /// What a user has said in a room, the newest first.
    pub(super) async fn said(
        &self,
        device: Device<'_>,
        room: &str,
        user: &UserId,
        from: Option<&str>,
    ) -> Result<Messages, Failure> {
        let filter = json!({ "senders": [user.as_str()], "types": ["m.room.message"] }).to_string();
        let request = self
            .request(device, Method::GET, &["_matrix", "client", "v3", "rooms", room, "messages"])?
            .query(&[("dir", "b"), ("limit", PAGE), ("filter", &filter)])
            .timeout(LOOK);
        let request = if let Some(from) = from { request.query(&[("from", from)]) } else { request };
        asked(request, device.now).await
    }

    fn request(&self, device: Device<'_>, method: Method, path: &[&str]) -> Result<RequestBuilder, Failure> {
        let request = self.http.to_named(method, device.server.url(path))?;
        Ok(request.bearer_auth(device.token.expose_secret()))
    }
}

async fn asked<T: DeserializeOwned>(request: RequestBuilder, now: DateTime<Utc>) -> Result<T, Failure> {
    expected(request.send().await?, now).await
}

/// The answer of a call that went well. "Errors are generally best expressed by their
/// error code rather than the HTTP status code returned."
async fn expected<T: DeserializeOwned>(response: Response, now: DateTime<Utc>) -> Result<T, Failure> {
    let (status, retry_at) = (response.status(), answer::retry_at(response.headers(), now));
    let body: Value = match answer::json_up_to(response, MAX_PAGE_BYTES).await {
        Ok(body) => body,
        Err(Unreadable::Form) if !status.is_success() => Value::Null,
        Err(_) => return Err(unreadable()),
    };
    if status.is_success() {
        return serde_json::from_value(body).map_err(|_| unreadable());
    }
    let code = body["errcode"].as_str();
    if status == StatusCode::TOO_MANY_REQUESTS || code == Some("M_LIMIT_EXCEEDED") {
        // Of servers before version 1.10.
        let wait = body["retry_after_ms"].as_u64().and_then(|it| u32::try_from(it).ok());
        let wait = wait.map(|it| now + TimeDelta::milliseconds(it.into()));
        return Err(Failure::Limited { retry_at: retry_at.max(wait) });
    }
    let said = serde_json::to_vec(&body).unwrap_or_default();
    let words = answer::words_of(status, &said);
    match code {
        Some(code) if status.is_client_error() => Err(Failure::Refused { status, code: code.to_owned(), words }),
        // The page of a proxy, which may have passed on the call.
        _ => Err(Failure::Unknown {
            may_still_run: status.is_server_error(),
            why: format!("its homeserver failed: {words}"),
        }),
    }
}

fn unreadable() -> Failure {
    Failure::Unknown { may_still_run: true, why: "its homeserver's answer could not be read".to_owned() }
}

/// Reads the id of an event: not too long for our tables, and plain.
fn event_id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let id = String::deserialize(from)?;
    let is_plain = id.starts_with('$') && id.len() <= MAX_ID && id.bytes().all(|it| it.is_ascii_graphic());
    if is_plain { Ok(id) } else { Err(serde::de::Error::custom("an id that is none")) }
}

/// Whether this is the address of an uploaded file: `mxc://example.org/AbC123`.
fn is_content(uri: &str) -> bool {
    let parts = uri.strip_prefix("mxc://").and_then(|it| it.split_once('/'));
    let is_media = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it));
    parts.is_some_and(|(server, media)| {
        uri.len() <= MAX_ID && !server.is_empty() && server.bytes().all(|it| it.is_ascii_graphic()) && is_media(media)
    })
}
