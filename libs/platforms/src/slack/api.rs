//! The Web API's addresses and answers.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::{Body, Method, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use super::failure::Failure;
use crate::answer::{self, Unreadable};
use crate::choices::{Choice, MAX_CHOICES};
use crate::http_clients::HttpClients;
use crate::job::{Job, MediaBytes};
use crate::not_now::NotNow;
use crate::oauth2::Endpoints;

/// For the public call. Long, because what it did is hard to find out.
const PUBLISH: Duration = Duration::from_secs(20);

/// For where a file was shared, while a post waits for it.
const SHARING: Duration = Duration::from_secs(5);

/// How many items a page has, as Slack recommends.
const PAGE: usize = 200;

/// A page of messages, with all that they carry.
const MAX_PAGE_BYTES: usize = 8 << 20;

/// By which our messages are known among those that carry metadata.
const EVENT_TYPE: &str = "social_publishing_post";

/// The Web API.
pub(super) struct Api {
    http: HttpClients,
    base_url: String,
}

/// Who asks, and when.
#[derive(Clone, Copy)]
pub(super) struct Bot<'a> {
    pub(super) token: &'a SecretString,
    pub(super) now: DateTime<Utc>,
}

impl<'a> Bot<'a> {
    pub(super) fn of(job: &'a Job<'_>) -> Self {
        Self { token: &job.credentials.access_token, now: job.now }
    }
}

/// A workspace.
#[derive(Deserialize)]
pub(super) struct Team {
    #[serde(rename = "team_id")]
    pub(super) id: String,
    #[serde(rename = "team")]
    pub(super) name: String,
    /// Such as `https://lighthouse.slack.com/`.
    pub(super) url: String,
}

/// A message without files.
pub(super) struct Message<'a> {
    pub(super) channel: &'a str,
    pub(super) text: &'a str,
    pub(super) reference: &'a str,
    /// Whether links are shown with a preview.
    pub(super) unfurl: Option<bool>,
}

/// Whether a file is in a channel.
#[derive(Debug)]
pub(super) enum Sharing {
    /// By the message of this time.
    Shared { ts: String },
    /// Slack knows it, and has not shared it.
    NotYet,
}

#[derive(Deserialize)]
struct Posted {
    ts: Ts,
}

/// The time of a message, which is its name in its channel: `1503435956.000247`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Ts(String);

impl TryFrom<String> for Ts {
    type Error = &'static str;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        let is_number = |it: &str| !it.is_empty() && it.len() <= 20 && it.bytes().all(|it| it.is_ascii_digit());
        let is_ts = raw.split_once('.').is_some_and(|(seconds, rest)| is_number(seconds) && is_number(rest));
        if is_ts { Ok(Self(raw)) } else { Err("this is not the time of a message") }
    }
}

#[derive(Deserialize)]
struct Ticket {
    upload_url: Url,
    file_id: String,
}

#[derive(Deserialize)]
struct Shared {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct FileInfo {
    file: File,
}

#[derive(Deserialize)]
struct File {
    permalink: Option<String>,
    #[serde(default)]
    shares: Shares,
}

/// Messages that show a file, by channels.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shares {
    public: Shows,
    private: Shows,
}

type Shows = std::collections::BTreeMap<String, Vec<Posted>>;

#[derive(Deserialize)]
struct Channels {
    channels: Vec<Channel>,
    #[serde(default)]
    response_metadata: Paging,
}

#[derive(Deserialize)]
struct Channel {
    id: String,
    name: String,
    #[serde(default)]
    is_private: bool,
}

#[derive(Default, Deserialize)]
struct Paging {
    #[serde(default)]
    next_cursor: String,
}

/// A page of what was posted in a channel.
#[derive(Deserialize)]
pub(super) struct History {
    messages: Vec<Listed>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    response_metadata: Option<Paging>,
}

#[derive(Deserialize)]
struct Listed {
    ts: Ts,
    #[serde(default)]
    metadata: Value,
}

impl History {
    /// The time of the message that carries this reference.
    pub(super) fn with_reference(&self, reference: &str) -> Option<&str> {
        let is_it = |it: &&Listed| {
            it.metadata["event_type"] == EVENT_TYPE && it.metadata["event_payload"]["reference"] == reference
        };
        self.messages.iter().find(is_it).map(|it| it.ts.0.as_str())
    }

    /// Where the next page begins; `None` behind the last.
    pub(super) fn next(self) -> Result<Option<String>, Failure> {
        let cursor = self.response_metadata.map(|it| it.next_cursor).filter(|it| !it.is_empty());
        if self.has_more && cursor.is_none() {
            return Err(unreadable());
        }
        Ok(cursor)
    }
}

impl Api {
    pub(super) fn new(http: HttpClients, base_url: &Url) -> Self {
        Self { http, base_url: base_url.as_str().trim_end_matches('/').to_owned() }
    }

    /// Where its OAuth is.
    pub(super) fn oauth(&self) -> Endpoints {
        Endpoints {
            authorization: format!("{}/oauth/v2/authorize", self.base_url),
            token: self.url("oauth.v2.access"),
            revocation: Some(self.url("auth.revoke")),
            ..Endpoints::default()
        }
    }

    fn url(&self, method: &str) -> String {
        format!("{}/api/{method}", self.base_url)
    }

    /// The workspace of a bot.
    pub(super) async fn team(&self, bot: Bot<'_>) -> Result<Team, Failure> {
        asked(self.request(bot, Method::POST, "auth.test")?, bot.now).await
    }

    /// The channels to which a bot was invited, as many as are told of one option.
    pub(super) async fn channels(&self, bot: Bot<'_>) -> Result<Vec<Choice>, Failure> {
        let (mut choices, mut cursor) = (Vec::new(), String::new());
        for _ in 0..MAX_CHOICES / PAGE {
            let request = self.request(bot, Method::GET, "users.conversations")?.query(&[
                ("types", "public_channel,private_channel"),
                ("exclude_archived", "true"),
                ("limit", &PAGE.to_string()),
                ("cursor", &cursor),
            ]);
            let Channels { channels, response_metadata } = asked(request, bot.now).await?;
            let label =
                |it: &Channel| if it.is_private { format!("{} (private)", it.name) } else { format!("#{}", it.name) };
            choices.extend(channels.into_iter().map(|it| Choice { label: label(&it), value: it.id }));
            cursor = response_metadata.next_cursor;
            if cursor.is_empty() {
                break;
            }
        }
        Ok(choices)
    }

    /// Uploads a file of this name and size; its id.
    pub(super) async fn upload(
        &self,
        bot: Bot<'_>,
        (name, size_bytes): (&str, u64),
        description: Option<&str>,
        bytes: MediaBytes,
        within: Duration,
    ) -> Result<String, Failure> {
        let length = size_bytes.to_string();
        let described = description.map(|it| ("alt_txt", it));
        let fields: Vec<_> = [("filename", name), ("length", length.as_str())].into_iter().chain(described).collect();
        let request = self.request(bot, Method::POST, "files.getUploadURLExternal")?.form(&fields);
        let Ticket { upload_url, file_id } = asked(request, bot.now).await?;
        // The address is proof enough; the token is not sent there.
        let request = self
            .http
            .to_known(Method::POST, upload_url)?
            .header(http::header::CONTENT_TYPE, "application/octet-stream")
            // With a length, a stream that ends early is not taken for the file.
            .header(http::header::CONTENT_LENGTH, size_bytes)
            .body(Body::wrap_stream(bytes))
            .timeout(within);
        let response = request.send().await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::TOO_MANY_REQUESTS => {
                return Err(Failure::Limited { retry_at: answer::retry_at(response.headers(), bot.now) });
            }
            status => return Err(Failure::NotSent { why: format!("Slack did not take it: {status}") }),
        }
        // What is no confirmation, such as the page of a proxy, begins otherwise.
        let said = answer::body(response).await.map_err(|it| Failure::Unknown { why: it.to_string() })?;
        if said.starts_with(b"OK") { Ok(file_id) } else { Err(unreadable()) }
    }

    /// Makes a message public; its time.
    pub(super) async fn post(&self, bot: Bot<'_>, message: &Message<'_>) -> Result<String, Failure> {
        let mut body = json!({
            "channel": message.channel,
            "text": message.text,
            "link_names": false,
            "metadata": { "event_type": EVENT_TYPE, "event_payload": { "reference": message.reference } },
        });
        if let Some(unfurl) = message.unfurl {
            // Pages, and what is shown of pictures and videos at other addresses.
            body["unfurl_links"] = unfurl.into();
            body["unfurl_media"] = unfurl.into();
        }
        let request = self.request(bot, Method::POST, "chat.postMessage")?.json(&body).timeout(PUBLISH);
        let Posted { ts } = asked(request, bot.now).await?;
        Ok(ts.0)
    }

    /// Makes uploaded files public with a text; where people see the first of them.
    pub(super) async fn share(
        &self,
        bot: Bot<'_>,
        channel: &str,
        text: &str,
        files: &[String],
    ) -> Result<Option<String>, Failure> {
        let files: Vec<_> = files.iter().map(|it| json!({ "id": it })).collect();
        let files = Value::from(files).to_string();
        let request = self
            .request(bot, Method::POST, "files.completeUploadExternal")?
            .form(&[("files", files.as_str()), ("channel_id", channel), ("initial_comment", text)])
            .timeout(PUBLISH);
        let Shared { files } = asked(request, bot.now).await?;
        Ok(files.into_iter().next().and_then(|it| it.permalink))
    }

    /// Whether a file is in a channel.
    pub(super) async fn sharing(&self, bot: Bot<'_>, file: &str, channel: &str) -> Result<Sharing, Failure> {
        let request = self.request(bot, Method::GET, "files.info")?.query(&[("file", file)]).timeout(SHARING);
        let FileInfo { file: File { shares, .. } } = asked(request, bot.now).await?;
        let shows = [shares.public, shares.private].into_iter().find_map(|mut it| it.remove(channel));
        let first = shows.into_iter().flatten().next();
        Ok(first.map_or(Sharing::NotYet, |Posted { ts }| Sharing::Shared { ts: ts.0 }))
    }

    /// What was posted in a channel in this time, the newest first.
    pub(super) async fn history(
        &self,
        bot: Bot<'_>,
        channel: &str,
        (oldest, latest): (DateTime<Utc>, DateTime<Utc>),
        cursor: Option<&str>,
    ) -> Result<History, Failure> {
        let ts = |it: DateTime<Utc>| format!("{}.000000", it.timestamp());
        let request = self.request(bot, Method::GET, "conversations.history")?.query(&[
            ("channel", channel),
            ("oldest", &ts(oldest)),
            ("latest", &ts(latest)),
            ("include_all_metadata", "true"),
            ("limit", &PAGE.to_string()),
        ]);
        let request = if let Some(cursor) = cursor { request.query(&[("cursor", cursor)]) } else { request };
        asked(request, bot.now).await
    }

    fn request(&self, bot: Bot<'_>, method: Method, name: &str) -> Result<RequestBuilder, NotNow> {
        Ok(self.http.to_known(method, self.url(name))?.bearer_auth(bot.token.expose_secret()))
    }
}

/// The answer of a call. Slack says with 200, too, that it did not carry one out.
async fn asked<T: DeserializeOwned>(request: RequestBuilder, now: DateTime<Utc>) -> Result<T, Failure> {
    let response = request.send().await?;
    let (status, retry_at) = (response.status(), answer::retry_at(response.headers(), now));
    if status == StatusCode::TOO_MANY_REQUESTS {
        return Err(Failure::Limited { retry_at });
    }
    let answer: Value = answer::json_up_to(response, MAX_PAGE_BYTES).await.map_err(|why| match why {
        Unreadable::Form if status.is_server_error() => Failure::Unknown { why: "Slack failed inside".to_owned() },
        _ => unreadable(),
    })?;
    match (&answer["ok"], answer["error"].as_str()) {
        (Value::Bool(true), _) if status.is_success() => serde_json::from_value(answer).map_err(|_| unreadable()),
        // Whatever stands in the page of an outage, nothing certain follows from it.
        (Value::Bool(false), Some(code)) if !status.is_server_error() => {
            Err(Failure::Refused { code: code.to_owned() })
        }
        _ => Err(unreadable()),
    }
}

fn unreadable() -> Failure {
    Failure::Unknown { why: "Slack's answer could not be read".to_owned() }
}
