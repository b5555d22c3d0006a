#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::media::Attachment;
use http::StatusCode;
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use url::Url;

use super::errors::ERRORS;
use super::grant::Grant;
use super::oauth::Metadata;
use super::user::{Homeserver, UserId};
use crate::account::Credentials;
use crate::http_clients::{self, HttpClients};
use crate::kit::{ApiClient, Auth, Call, CallError, Effect};
use crate::publish_request::{MediaBytes, PublishRequest};
use crate::response;

/// Long, because finding out the outcome takes further calls.
const SEND: Duration = Duration::from_secs(15);

/// An event may have 64 KiB.
const MAX_PAGE_BYTES: usize = 8 << 20;

const PAGE: &str = "100";

/// The longest id of an event, or URI of a file, in bytes.
const MAX_ID: usize = 255;

/// The sign-in call; it also lists the login types.
const LOGIN: &[&str] = &["_matrix", "client", "v3", "login"];

pub(super) const CREATE: &str = "m.room.create";

#[derive(Clone)]
pub(super) struct Api {
    pub(super) http: HttpClients,
}

#[derive(Clone, Copy)]
pub(super) struct Device<'a> {
    pub(super) server: &'a Homeserver,
    pub(super) token: &'a SecretString,
    pub(super) now: DateTime<Utc>,
}

impl<'a> Device<'a> {
    pub(super) fn new(grant: &'a Grant, request: &'a PublishRequest<'_>) -> Self {
        Self { server: &grant.server, token: &request.credentials.access_token, now: request.now }
    }
}

pub(super) enum Proof<'a> {
    Password(&'a UserId, &'a SecretString),
    /// The one-time token from the homeserver's page.
    FromPage(&'a str),
}

/// The tokens of a device without OAuth 2.0.
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

    pub(super) fn credentials(self, now: DateTime<Utc>) -> Credentials {
        let expires_at = self.expires_at(now);
        Credentials { refresh_token: self.refresh_token, expires_at, ..Credentials::new(self.access_token) }
    }
}

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
struct Login {
    flows: Vec<Flow>,
}

#[derive(Deserialize)]
struct Flow {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct JoinedRooms {
    joined_rooms: Vec<String>,
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

#[derive(Deserialize)]
pub(super) struct Messages {
    pub(super) chunk: Vec<RoomEvent>,
    /// The start of the next page; `None` on the last.
    pub(super) end: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct RoomEvent {
    #[serde(deserialize_with = "event_id")]
    pub(super) event_id: String,
    pub(super) sender: String,
    origin_server_ts: i64,
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default)]
    unsigned: Value,
}

impl RoomEvent {
    /// When the event was sent, by the clock of its homeserver.
    pub(super) fn at(&self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_millis(self.origin_server_ts)
    }

    /// The transaction id, if this device sent the event.
    pub(super) fn transaction(&self) -> Option<&str> {
        self.unsigned["transaction_id"].as_str()
    }
}

impl Api {
    pub(super) fn new(http: HttpClients) -> Self {
        Self { http }
    }

    /// The JSON at a public URL, or the URL that it redirects to.
    pub(super) async fn well_known(&self, url: Url) -> Option<Result<Value, Url>> {
        let response = http_clients::send(self.http.request_named_host(Method::GET, url.clone()).ok()?).await.ok()?;
        if response.status().is_redirection() {
            let location = response.headers().get(http::header::LOCATION)?.to_str().ok()?;
            return url.join(location).ok().map(Err);
        }
        if !response.status().is_success() {
            return None;
        }
        response::json(response).await.ok().map(Ok)
    }

    /// Whether there is a homeserver with the calls that have `/v3/` in their paths.
    pub(super) async fn is_homeserver(&self, server: &Homeserver, now: DateTime<Utc>) -> Result<bool, CallError> {
        let call = self.client(server).get(Auth::anonymous(now), &["_matrix", "client", "versions"]);
        let Versions { versions } = call.read().await?;
        if versions.iter().any(|it| it.starts_with("v1.")) {
            return Ok(true);
        }
        // Old forks of Conduit list none of these versions, but have the calls.
        Ok(!versions.is_empty() && self.flows(server, now).await.is_ok())
    }

    pub(super) async fn auth_metadata(&self, server: &Homeserver, now: DateTime<Utc>) -> Result<Metadata, CallError> {
        self.client(server).get(Auth::anonymous(now), &["_matrix", "client", "v1", "auth_metadata"]).read().await
    }

    /// The login types without an authorization server.
    pub(super) async fn flows(&self, server: &Homeserver, now: DateTime<Utc>) -> Result<Vec<String>, CallError> {
        let Login { flows } = self.client(server).get(Auth::anonymous(now), LOGIN).read().await?;
        Ok(flows.into_iter().map(|it| it.kind).collect())
    }

    pub(super) async fn log_in(
        &self,
        server: &Homeserver,
        proof: Proof<'_>,
        device_name: &str,
        now: DateTime<Utc>,
    ) -> Result<LoggedIn, CallError> {
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
        let call = self.client(server).post(Auth::anonymous(now), LOGIN).effect(Effect::Private);
        call.json(&body).read().await
    }

    pub(super) async fn refresh(
        &self,
        server: &Homeserver,
        token: &SecretString,
        within: Duration,
        now: DateTime<Utc>,
    ) -> Result<Tokens, CallError> {
        let call = self.client(server).post(Auth::anonymous(now), &["_matrix", "client", "v3", "refresh"]);
        let body = json!({ "refresh_token": token.expose_secret() });
        call.effect(Effect::Private).json(&body).timeout(within).read().await
    }

    pub(super) async fn log_out(&self, device: Device<'_>) -> Result<(), CallError> {
        let call = self.call(device, Method::POST, &["_matrix", "client", "v3", "logout"]).effect(Effect::Private);
        call.json(&json!({})).read().await.map(|_: Value| ())
    }

    pub(super) async fn who_am_i(&self, device: Device<'_>) -> Result<String, CallError> {
        let call = self.call(device, Method::GET, &["_matrix", "client", "v3", "account", "whoami"]);
        let WhoAmI { user_id } = call.read().await?;
        Ok(user_id)
    }

    pub(super) async fn display_name(&self, device: Device<'_>, user: &UserId) -> Result<Option<String>, CallError> {
        let call = self.call(device, Method::GET, &["_matrix", "client", "v3", "profile", user.as_str()]);
        match call.read().await {
            Ok(Named { displayname }) => Ok(displayname.filter(|it| !it.trim().is_empty())),
            Err(error) if error.is_status(StatusCode::NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The upload limit in bytes, if the server states it. Servers from before version 1.11 have
    /// another path for it.
    pub(super) async fn upload_limit(&self, device: Device<'_>) -> Result<Option<u64>, CallError> {
        for path in [["_matrix", "client", "v1", "media", "config"].as_slice(), &["_matrix", "media", "v3", "config"]] {
            match self.call(device, Method::GET, path).read().await {
                Ok(MediaConfig { upload_size }) => return Ok(upload_size),
                Err(error) if error.is_status(StatusCode::NOT_FOUND) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    pub(super) async fn joined_rooms(&self, device: Device<'_>) -> Result<Vec<String>, CallError> {
        let call = self.call(device, Method::GET, &["_matrix", "client", "v3", "joined_rooms"]);
        let JoinedRooms { joined_rooms } = call.max_bytes(MAX_PAGE_BYTES).read().await?;
        Ok(joined_rooms)
    }

    /// The content of a room's state event of this type. [`CREATE`] is the whole event, because of
    /// its sender, on servers since version 1.16.
    pub(super) async fn state(&self, device: Device<'_>, room: &str, kind: &str) -> Result<Option<Value>, CallError> {
        let path = ["_matrix", "client", "v3", "rooms", room, "state", kind];
        let format = if kind == CREATE { "event" } else { "content" };
        let call = self.call(device, Method::GET, &path).query(&[("format", format)]);
        // This is read before a message is sent: a user who is not in the room cannot send one
        // either.
        match call.effect(Effect::Private).read().await {
            Ok(state) => Ok(Some(state)),
            Err(error) if error.has_code(&["M_NOT_FOUND"]) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn is_encrypted(&self, device: Device<'_>, room: &str) -> Result<bool, CallError> {
        Ok(self.state(device, room, "m.room.encryption").await?.is_some())
    }

    /// Returns the file's `mxc://` URI.
    pub(super) async fn upload(
        &self,
        device: Device<'_>,
        name: &str,
        file: &Attachment,
        bytes: MediaBytes,
        within: Duration,
    ) -> Result<String, CallError> {
        let call = self.call(device, Method::POST, &["_matrix", "media", "v3", "upload"]).effect(Effect::Private);
        let call = call.query(&[("filename", name)]).file(file.mime_type, file.size_bytes, bytes);
        let Uploaded { content_uri } = call.timeout(within).read().await?;
        let unreadable = || CallError::unreadable(ERRORS.title, Effect::Private);
        if is_mxc_uri(&content_uri) { Ok(content_uri) } else { Err(unreadable()) }
    }

    /// Returns the id of the event.
    pub(super) async fn send(
        &self,
        device: Device<'_>,
        room: &str,
        transaction: &str,
        content: &Value,
    ) -> Result<String, CallError> {
        let path = ["_matrix", "client", "v3", "rooms", room, "send", "m.room.message", transaction];
        let call = self.call(device, Method::PUT, &path).effect(Effect::Public);
        let Sent { event_id } = call.json(content).timeout(SEND).read().await?;
        Ok(event_id)
    }

    /// A page of a user's messages in a room, newest first.
    pub(super) async fn messages(
        &self,
        device: Device<'_>,
        room: &str,
        user: &UserId,
        from: Option<&str>,
    ) -> Result<Messages, CallError> {
        let filter = json!({ "senders": [user.as_str()], "types": ["m.room.message"] }).to_string();
        let call = self.call(device, Method::GET, &["_matrix", "client", "v3", "rooms", room, "messages"]);
        let call = call.query(&[("dir", "b"), ("limit", PAGE), ("filter", &filter)]).max_bytes(MAX_PAGE_BYTES);
        let call = if let Some(from) = from { call.query(&[("from", from)]) } else { call };
        call.read().await
    }

    fn call(&self, device: Device<'_>, method: Method, path: &[&str]) -> Call {
        self.client(device.server).call(Auth::token(device.token, device.now), method, path)
    }

    fn client(&self, server: &Homeserver) -> ApiClient {
        ApiClient::named(self.http.clone(), server.base().clone(), &ERRORS)
    }
}

/// Parses the id of an event: not too long for our tables, and printable ASCII.
fn event_id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let id = String::deserialize(from)?;
    let is_plain = id.starts_with('$') && id.len() <= MAX_ID && id.bytes().all(|it| it.is_ascii_graphic());
    if is_plain { Ok(id) } else { Err(serde::de::Error::custom("not a valid id")) }
}

/// Whether this is the URI of an uploaded file: `mxc://example.org/AbC123`.
fn is_mxc_uri(uri: &str) -> bool {
    let parts = uri.strip_prefix("mxc://").and_then(|it| it.split_once('/'));
    let is_media = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it));
    parts.is_some_and(|(server, media)| {
        uri.len() <= MAX_ID && !server.is_empty() && server.bytes().all(|it| it.is_ascii_graphic()) && is_media(media)
    })
}
