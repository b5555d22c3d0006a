//! The API's addresses and answers.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::errors::{ERRORS, OWN_APP_ERRORS};
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect};

/// For the public call. Long, because what it did costs money to find out.
const PUBLISH: Duration = Duration::from_secs(30);

/// The API.
pub(super) struct Api(ApiClient);

/// What most answers have.
#[derive(Deserialize)]
pub(super) struct Data<T> {
    pub(super) data: T,
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
    /// For accounts that were connected with the operator's app.
    pub(super) fn new(http: HttpClients, base_url: Url) -> Self {
        Self(ApiClient::known(http, base_url, &ERRORS))
    }

    /// For accounts that were connected with an app of their owner's.
    pub(super) fn of_own_apps(http: HttpClients, base_url: Url) -> Self {
        Self(ApiClient::known(http, base_url, &OWN_APP_ERRORS))
    }

    /// Whose token it is.
    pub(super) async fn member(&self, auth: Auth<'_>) -> Result<Member, CallError> {
        let fields = "profile_image_url,username,name,subscription_type";
        let asked = self.0.get(auth, &["2", "users", "me"]).query(&[("user.fields", fields)]);
        asked.read().await.map(|it: Data<Member>| it.data)
    }

    /// Makes a post public; its id.
    pub(super) async fn post(&self, auth: Auth<'_>, body: &Value) -> Result<String, CallError> {
        let call = self.0.post(auth, &["2", "tweets"]).effect(Effect::Public).json(body).timeout(PUBLISH);
        let Data { data: Made { id } } = call.read().await?;
        if is_id(&id) { Ok(id) } else { Err(self.unreadable(Effect::Public)) }
    }

    /// Says what a file shows.
    pub(super) async fn describe(&self, auth: Auth<'_>, id: &str, words: &str) -> Result<(), CallError> {
        let body = json!({ "id": id, "metadata": { "alt_text": { "text": words } } });
        self.0.post(auth, &["2", "media", "metadata"]).effect(Effect::Private).json(&body).done().await
    }

    /// The newest posts of an account since then, at most twenty, which are paid by the
    /// post.
    pub(super) async fn posts_since(
        &self,
        auth: Auth<'_>,
        account: &str,
        since: DateTime<Utc>,
    ) -> Result<Vec<Post>, CallError> {
        let since = since.to_rfc3339_opts(SecondsFormat::Secs, true);
        let asked = [
            ("max_results", "20"),
            ("start_time", &since),
            ("exclude", "retweets,replies"),
            ("tweet.fields", "created_at,text,attachments,entities,note_tweet"),
        ];
        let posts: Posts = self.0.get(auth, &["2", "users", account, "tweets"]).query(&asked).read().await?;
        Ok(posts.data)
    }

    /// A call about files: nothing is public, and it may be repeated.
    pub(super) fn upload(&self, auth: Auth<'_>, path: &[&str]) -> Call {
        self.0.post(auth, &[&["2", "media", "upload"], path].concat()).effect(Effect::Private)
    }

    /// How far a file is. What follows a failure is what follows that of an upload.
    pub(super) async fn status(&self, auth: Auth<'_>, id: &str) -> Result<Media, CallError> {
        let asked = [("command", "STATUS"), ("media_id", id)];
        let call = self.0.get(auth, &["2", "media", "upload"]).effect(Effect::Private).query(&asked);
        call.read().await.map(|it: Data<Media>| it.data)
    }

    /// For a success that is not in the documented form.
    pub(super) fn unreadable(&self, effect: Effect) -> CallError {
        self.0.unreadable(effect)
    }
}

/// Whether this is an id, as it can be passed on.
pub(super) fn is_id(it: &str) -> bool {
    (1..=19).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit())
}
