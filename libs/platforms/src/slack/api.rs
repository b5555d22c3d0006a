#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::media::MimeType;
use http::Method;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::TITLE;
use super::errors::ERRORS;
use crate::choices::{Choice, MAX_CHOICES};
use crate::deadline::Deadline;
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect};
use crate::oauth2::Endpoints;
use crate::publish_request::{MediaBytes, PublishRequest};
use crate::transport_error::TransportError;

/// Long, because the outcome of the publish call is hard to find out.
const PUBLISH: Duration = Duration::from_secs(20);

/// The timeout for reading where a file was shared, while a post waits for it.
const SHARING: Duration = Duration::from_secs(5);

/// The page size that Slack recommends. Any page may be shorter, not only the last one.
const PAGE: usize = 200;

/// Fewer than Slack allows in a minute (tier 3).
const MAX_CHANNEL_PAGES: usize = 40;

/// Less than a client waits for a list of channels.
const LISTING: Duration = Duration::from_secs(11);

/// Including those of governments.
const UPLOAD_HOSTS: &[&str] = &["files.slack.com", "files.slack-gov.com"];

/// Enough for a page of full messages.
const MAX_PAGE_BYTES: usize = 8 << 20;

const EVENT_TYPE: &str = "social_publishing_post";

pub(super) struct Api {
    client: ApiClient,
    base_url: String,
}

#[derive(Clone, Copy)]
pub(super) struct Bot<'a> {
    pub(super) token: &'a SecretString,
    pub(super) now: DateTime<Utc>,
}

impl<'a> Bot<'a> {
    pub(super) fn new(request: &'a PublishRequest<'_>) -> Self {
        Self { token: &request.credentials.access_token, now: request.now }
    }

    fn auth(self) -> Auth<'a> {
        Auth::token(self.token, self.now)
    }
}

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
    pub(super) unfurl: Option<bool>,
    /// The timestamp of the thread's first message, for a reply.
    pub(super) thread: Option<&'a str>,
}

#[derive(Debug)]
pub(super) enum ShareStatus {
    Shared {
        ts: String,
    },
    /// Slack knows the file, but has not shared it.
    NotYet,
}

#[derive(Deserialize)]
struct Posted {
    ts: Ts,
}

/// The timestamp of a message, which identifies it in its channel: `1503435956.000247`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Ts(String);

impl TryFrom<String> for Ts {
    type Error = &'static str;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        let is_number = |it: &str| !it.is_empty() && it.len() <= 20 && it.bytes().all(|it| it.is_ascii_digit());
        let is_ts = raw.split_once('.').is_some_and(|(seconds, rest)| is_number(seconds) && is_number(rest));
        if is_ts { Ok(Self(raw)) } else { Err("not the timestamp of a message") }
    }
}

#[derive(Deserialize)]
struct Ticket {
    upload_url: Url,
    file_id: String,
}

#[derive(Deserialize)]
struct Done {}

#[derive(Deserialize)]
struct FileInfo {
    file: File,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    shares: Shares,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Shares {
    public: SharesByChannel,
    private: SharesByChannel,
}

type SharesByChannel = BTreeMap<String, Vec<Posted>>;

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
    pub(super) fn find_by_reference(&self, reference: &str) -> Option<&str> {
        let is_it = |it: &&Listed| {
            it.metadata["event_type"] == EVENT_TYPE && it.metadata["event_payload"]["reference"] == reference
        };
        self.messages.iter().find(is_it).map(|it| it.ts.0.as_str())
    }

    /// The start of the next page; `None` on the last.
    pub(super) fn next(self) -> Result<Option<String>, CallError> {
        let cursor = self.response_metadata.map(|it| it.next_cursor).filter(|it| !it.is_empty());
        if self.has_more && cursor.is_none() {
            return Err(CallError::unreadable(TITLE, Effect::Read));
        }
        Ok(cursor)
    }
}

impl Api {
    pub(super) fn new(http: HttpClients, url: Url) -> Self {
        let base_url = url.as_str().trim_end_matches('/').to_owned();
        Self { client: ApiClient::known(http, url, &ERRORS).with_upload_hosts(UPLOAD_HOSTS), base_url }
    }

    pub(super) fn oauth(&self) -> Endpoints {
        Endpoints {
            authorization: format!("{}/oauth/v2/authorize", self.base_url),
            token: format!("{}/api/oauth.v2.access", self.base_url),
            revocation: Some(format!("{}/api/auth.revoke", self.base_url)),
            ..Endpoints::default()
        }
    }

    pub(super) async fn team(&self, bot: Bot<'_>) -> Result<Team, CallError> {
        self.post(bot, "auth.test").effect(Effect::Read).read().await
    }

    /// The channels that the bot was invited to, at most as many as an option may list.
    pub(super) async fn channels(&self, bot: Bot<'_>) -> Result<Vec<Choice>, CallError> {
        let (deadline, mut choices, mut cursor) = (Deadline::begin(bot.now), Vec::new(), String::new());
        for _ in 0..MAX_CHANNEL_PAGES {
            let Some(page) = deadline.within(LISTING, self.channel_page(bot, &cursor)).await else {
                let late = CallError::from_transport(TransportError::Late, Effect::Read, TITLE);
                // An incomplete list is more useful than none.
                return if choices.is_empty() { Err(late) } else { Ok(choices) };
            };
            let Channels { channels, response_metadata } = page?;
            let label =
                |it: &Channel| if it.is_private { format!("{} (private)", it.name) } else { format!("#{}", it.name) };
            choices.extend(channels.into_iter().map(|it| Choice { label: label(&it), value: it.id }));
            cursor = response_metadata.next_cursor;
            if cursor.is_empty() || MAX_CHOICES <= choices.len() {
                break;
            }
        }
        Ok(choices)
    }

    async fn channel_page(&self, bot: Bot<'_>, cursor: &str) -> Result<Channels, CallError> {
        let call = self.get(bot, "users.conversations").query(&[
            ("types", "public_channel,private_channel"),
            ("exclude_archived", "true"),
            ("limit", &PAGE.to_string()),
            ("cursor", cursor),
        ]);
        call.read().await
    }

    /// Returns the file's id.
    pub(super) async fn upload(
        &self,
        bot: Bot<'_>,
        (name, mime_type, size_bytes): (&str, MimeType, u64),
        alt_text: Option<&str>,
        bytes: MediaBytes,
        timeout: Duration,
    ) -> Result<String, CallError> {
        let length = size_bytes.to_string();
        let described = alt_text.map(|it| ("alt_txt", it));
        let fields: Vec<_> = [("filename", name), ("length", length.as_str())].into_iter().chain(described).collect();
        let announced = self.post(bot, "files.getUploadURLExternal").form(&fields).effect(Effect::Private);
        let Ticket { upload_url, file_id } = announced.read().await?;
        // The URL authorizes the upload; the token is not sent there.
        let upload = self.client.upload_to(bot.auth().without_token(), Method::POST, upload_url);
        let response = upload.file(mime_type, size_bytes, bytes).timeout(timeout).response().await?;
        // A response that is no confirmation, such as the page of a proxy, begins otherwise.
        if response.body.starts_with(b"OK") { Ok(file_id) } else { Err(self.client.unreadable(Effect::Private)) }
    }

    /// Returns the message's timestamp.
    pub(super) async fn send(&self, bot: Bot<'_>, message: &Message<'_>) -> Result<String, CallError> {
        let mut body = json!({
            "channel": message.channel,
            "text": message.text,
            "link_names": false,
            "metadata": { "event_type": EVENT_TYPE, "event_payload": { "reference": message.reference } },
        });
        if let Some(unfurl) = message.unfurl {
            // Pages, and previews of pictures and videos at other URLs.
            body["unfurl_links"] = unfurl.into();
            body["unfurl_media"] = unfurl.into();
        }
        if let Some(thread) = message.thread {
            body["thread_ts"] = thread.into();
        }
        let Posted { ts } = self.post(bot, "chat.postMessage").json(&body).timeout(PUBLISH).read().await?;
        Ok(ts.0)
    }

    /// Makes uploaded files public with a text, in the channel or in the thread of a message. Success means that Slack
    /// has begun to share them.
    pub(super) async fn share(
        &self,
        bot: Bot<'_>,
        (channel, thread): (&str, Option<&str>),
        text: &str,
        files: &[String],
    ) -> Result<(), CallError> {
        let files: Vec<_> = files.iter().map(|it| json!({ "id": it })).collect();
        let files = Value::from(files).to_string();
        let comment = Some(text).filter(|it| !it.is_empty());
        let optional = [("initial_comment", comment), ("thread_ts", thread)];
        let optional = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let fields: Vec<_> = [("files", files.as_str()), ("channel_id", channel)].into_iter().chain(optional).collect();
        let call = self.post(bot, "files.completeUploadExternal").form(&fields);
        call.timeout(PUBLISH).read().await.map(|Done {}| ())
    }

    /// Whether a file is in a channel. An entry under another id counts, too: a channel gets a new
    /// id when it is shared with another workspace, and the file was shared in no other channel.
    pub(super) async fn share_status(&self, bot: Bot<'_>, file: &str, channel: &str) -> Result<ShareStatus, CallError> {
        let call = self.get(bot, "files.info").query(&[("file", file)]).timeout(SHARING);
        let FileInfo { file: File { shares } } = call.read().await?;
        let mut shares: BTreeMap<_, _> = shares.public.into_iter().chain(shares.private).collect();
        let posted = shares.remove(channel).or_else(|| shares.into_values().next());
        let first = posted.into_iter().flatten().next();
        Ok(first.map_or(ShareStatus::NotYet, |Posted { ts }| ShareStatus::Shared { ts: ts.0 }))
    }

    pub(super) async fn delete(&self, bot: Bot<'_>, file: &str) -> Result<(), CallError> {
        let call = self.post(bot, "files.delete").form(&[("file", file)]).effect(Effect::Private);
        call.timeout(SHARING).read().await.map(|Done {}| ())
    }

    /// The messages of a channel in this time, newest first; or those of a thread, oldest first. The list of a channel
    /// has no replies.
    pub(super) async fn history(
        &self,
        bot: Bot<'_>,
        (channel, thread): (&str, Option<&str>),
        (oldest, latest): (DateTime<Utc>, DateTime<Utc>),
        cursor: Option<&str>,
    ) -> Result<History, CallError> {
        let ts = |it: DateTime<Utc>| format!("{}.000000", it.timestamp());
        let call = match thread {
            Some(thread) => self.get(bot, "conversations.replies").query(&[("ts", thread)]),
            None => self.get(bot, "conversations.history"),
        };
        let call = call.query(&[
            ("channel", channel),
            ("oldest", &ts(oldest)),
            ("latest", &ts(latest)),
            ("include_all_metadata", "true"),
            ("limit", &PAGE.to_string()),
        ]);
        let call = if let Some(cursor) = cursor { call.query(&[("cursor", cursor)]) } else { call };
        call.read().await
    }

    fn get(&self, bot: Bot<'_>, method: &str) -> Call {
        self.client.get(bot.auth(), &["api", method]).max_bytes(MAX_PAGE_BYTES)
    }

    fn post(&self, bot: Bot<'_>, method: &str) -> Call {
        self.client.post(bot.auth(), &["api", method])
    }
}
