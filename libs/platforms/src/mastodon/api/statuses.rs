use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::media::Attachment;
use http::StatusCode;
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Api, Context, MAX_STATUS_BYTES, SHORT, id};
use crate::kit::{CallError, Effect, ErrorTable};
use crate::mastodon::errors::{WHO, is_final, is_missing_scope, is_unknown_endpoint};
use crate::mastodon::grant::Grant;
use crate::multipart::Form;
use crate::publish_request::MediaBytes;
use crate::recognition::Listed;

/// Uploads a file; may respond before the file is processed.
pub(crate) const UPLOAD: &str = "/api/v2/media";

/// The older call, which responds after the file is processed.
pub(crate) const UPLOAD_AT_ONCE: &str = "/api/v1/media";

/// The timeout of the publish call. Longer than servers need, and short enough to look up files and
/// statuses within [`STEP_LIMIT`](crate::platform::STEP_LIMIT).
const PUBLISH: Duration = Duration::from_secs(15);

/// Shorter than [`STEP_LIMIT`](crate::platform::STEP_LIMIT).
const FILE: Duration = Duration::from_secs(35);

/// The most that a server returns.
const PAGE: &str = "40";

const MAX_PAGE_BYTES: usize = 4 << 20;

#[derive(Serialize, Deserialize)]
pub(crate) struct Uploaded {
    pub(crate) id: String,
    /// A status may show the file with this URL and another id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
}

pub(crate) enum Upload {
    Ready(Uploaded),
    /// The server still processes it; its id.
    Processing(String),
}

pub(crate) enum Medium {
    Ready(Uploaded),
    Processing,
    /// The file does not exist, or a status already shows it.
    Unknown,
}

#[derive(Serialize)]
pub(crate) struct NewStatus<'a> {
    pub(crate) status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_reply_to_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) media_ids: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) visibility: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spoiler_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sensitive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<&'static str>,
}

#[derive(Deserialize)]
pub(crate) struct Status {
    #[serde(deserialize_with = "id")]
    pub(crate) id: String,
    url: Option<String>,
    /// Its `ActivityPub` id, which leads to its page if there is no other link.
    uri: Option<String>,
    created_at: Option<String>,
    edited_at: Option<String>,
    content: Option<String>,
    /// The source text; few servers include it in a listing.
    text: Option<String>,
    media_attachments: Option<Vec<MediaAttachment>>,
    reblog: Option<IgnoredAny>,
    /// An id; not every server's form is known.
    in_reply_to_id: Option<Value>,
}

#[derive(Deserialize)]
struct MediaAttachment {
    id: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Source {
    pub(crate) text: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct File {
    #[serde(deserialize_with = "id")]
    id: String,
    pub(crate) url: Option<String>,
}

impl Status {
    pub(crate) fn created_at(&self) -> Option<DateTime<Utc>> {
        DateTime::parse_from_rfc3339(self.created_at.as_ref()?).ok().map(|it| it.to_utc())
    }

    pub(crate) fn is_edited(&self) -> bool {
        self.edited_at.is_some()
    }

    pub(crate) fn source(&self) -> Option<&str> {
        self.text.as_deref().filter(|it| !it.is_empty())
    }

    pub(crate) fn content(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    pub(crate) fn files(&self) -> usize {
        self.media_attachments.as_ref().map_or(0, Vec::len)
    }

    pub(crate) fn shows(&self, id: &str, url: Option<&str>) -> bool {
        let is_it = |it: &MediaAttachment| it.id.as_deref() == Some(id) || (url.is_some() && it.url.as_deref() == url);
        self.media_attachments.iter().flatten().any(is_it)
    }

    pub(crate) fn is_boost(&self) -> bool {
        self.reblog.is_some()
    }

    pub(crate) fn is_reply(&self) -> bool {
        self.in_reply_to_id.is_some()
    }

    pub(crate) fn is_reply_to_other(&self, id: &str) -> bool {
        self.in_reply_to_id.as_ref().is_some_and(|it| it.as_str() != Some(id))
    }
}

impl From<File> for Uploaded {
    fn from(File { id, url }: File) -> Self {
        // The URL only helps to recognize the file; a very long one is not worth its size in the
        // stored state.
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

    fn url(&self) -> Option<String> {
        self.url.clone().or_else(|| self.uri.clone())
    }
}

impl Api {
    pub(crate) async fn upload(
        &self,
        grant: &Grant,
        token: &SecretString,
        path: &str,
        file: &Attachment,
        bytes: MediaBytes,
        now: DateTime<Utc>,
    ) -> Result<Upload, CallError> {
        let form = file.alt_text.iter().fold(Form::new(), |form, it| form.text("description", it.as_str()));
        // Some servers store files under their uploaded names.
        let name = format!("{}.{}", file.media_id, file.mime_type.extension());
        let form = form.file(("file", &name), file.mime_type, file.size_bytes, bytes);
        let with_file = |it: RequestBuilder| form.onto(it).0.bearer_auth(token.expose_secret()).timeout(FILE);
        let context = Context::new(Effect::Private, now);
        let response = self.response(&grant.server.url(path), Method::POST, context, with_file).await?;
        let is_processing = response.status() == StatusCode::ACCEPTED;
        let file: File = context.expected(response, MAX_STATUS_BYTES).await?;
        Ok(if is_processing { Upload::Processing(file.id) } else { Upload::Ready(file.into()) })
    }

    pub(crate) async fn medium(
        &self,
        grant: &Grant,
        token: &SecretString,
        id: &str,
        now: DateTime<Utc>,
    ) -> Result<Medium, CallError> {
        let url = grant.server.url(&format!("/api/v1/media/{id}"));
        // Part of the upload: an error is about the file.
        let context = Context::new(Effect::Private, now);
        let with_token = |it: RequestBuilder| it.bearer_auth(token.expose_secret()).timeout(SHORT);
        let response = self.response(&url, Method::GET, context, with_token).await?;
        if response.status() == StatusCode::PARTIAL_CONTENT {
            return Ok(Medium::Processing);
        }
        match context.expected::<File>(response, MAX_STATUS_BYTES).await {
            Ok(file) if file.id == id => Ok(Medium::Ready(file.into())),
            Ok(_) => Err(CallError::unreadable(WHO, context.effect)),
            // Mastodon itself may send this without a body.
            Err(error) if error.status == Some(StatusCode::NOT_FOUND) => Ok(Medium::Unknown),
            Err(error) => Err(error),
        }
    }

    /// `key` is the idempotency key, by which a server recognizes a repeat; `None` for servers
    /// without such keys.
    pub(crate) async fn post(
        &self,
        grant: &Grant,
        token: &SecretString,
        status: &NewStatus<'_>,
        key: Option<&str>,
        errors: &'static ErrorTable,
        now: DateTime<Utc>,
    ) -> Result<Status, CallError> {
        let url = grant.server.url("/api/v1/statuses");
        let with_status = |it: RequestBuilder| {
            let it = match key {
                Some(key) => it.header("Idempotency-Key", key),
                None => it,
            };
            it.bearer_auth(token.expose_secret()).json(status).timeout(PUBLISH)
        };
        let context = Context { errors, ..Context::new(Effect::Public, now) };
        self.read(&url, Method::POST, context, with_status).await
    }

    /// Newest first: the first page, or the one after a status.
    pub(crate) async fn statuses(
        &self,
        grant: &Grant,
        token: &SecretString,
        account_id: &str,
        after: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Status>, CallError> {
        let mut url = grant.server.url(&format!("/api/v1/accounts/{account_id}/statuses"));
        url.query_pairs_mut().append_pair("limit", PAGE).append_pair("exclude_reblogs", "true");
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("max_id", after);
        }
        let context = Context::new(Effect::Read, now);
        let with_token = |it: RequestBuilder| it.bearer_auth(token.expose_secret()).timeout(SHORT);
        context.expected(self.response(&url, Method::GET, context, with_token).await?, MAX_PAGE_BYTES).await
    }

    /// `None` if the server does not return it.
    pub(crate) async fn source(
        &self,
        grant: &Grant,
        token: &SecretString,
        id: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<String>, CallError> {
        let url = grant.server.url(&format!("/api/v1/statuses/{id}/source"));
        let with_token = |it: RequestBuilder| it.bearer_auth(token.expose_secret()).timeout(SHORT);
        match self.read::<Source>(&url, Method::GET, Context::new(Effect::Read, now), with_token).await {
            Ok(source) => Ok(source.text),
            Err(error) if is_final(&error) || is_unknown_endpoint(&error) || is_missing_scope(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
