#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use domain::media::Attachment;
use http::StatusCode;
use http::header::ACCEPT;
use reqwest::Method;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use super::errors::{ERRORS, NO_PASSWORD, TERM_EXISTS};
use super::site::{Index, Root};
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect};
use crate::multipart::Form;
use crate::publish_request::MediaBytes;

/// The timeout of the publish call, and of others that write a post: sites without a cache take
/// seconds.
const WRITE: Duration = Duration::from_secs(20);

/// Older versions return more than the requested fields.
const MAX_BYTES: usize = 2 << 20;

const PASSWORDS: &str = "wp/v2/users/me/application-passwords";

const OF_A_POST: &str = "id,slug,status,link,date_gmt";

#[derive(Clone)]
pub(super) struct Api {
    http: HttpClients,
}

#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) root: &'a Root,
    pub(super) user: &'a str,
    pub(super) password: &'a SecretString,
    pub(super) now: DateTime<Utc>,
}

#[derive(Deserialize)]
pub(super) struct Me {
    pub(super) id: u64,
    pub(super) username: String,
    #[serde(default)]
    pub(super) avatar_urls: Value,
    #[serde(default)]
    pub(super) roles: Vec<String>,
    /// An empty list if there are none.
    #[serde(default)]
    capabilities: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct Post {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) slug: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) link: Option<String>,
    #[serde(default)]
    date_gmt: Option<NaiveDateTime>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Medium {
    pub(super) id: u64,
    pub(super) source_url: String,
}

#[derive(Deserialize)]
pub(super) struct Term {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Deserialize)]
struct Password {
    uuid: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    app_id: String,
}

#[derive(Deserialize)]
struct Ignored {}

impl Me {
    pub(super) fn can(&self, capability: &str) -> bool {
        self.capabilities[capability] == true
    }
}

impl Post {
    /// The post's date, by the site's clock.
    pub(super) fn date(&self) -> Option<DateTime<Utc>> {
        self.date_gmt.map(|it| it.and_utc())
    }
}

impl Api {
    pub(super) fn new(http: HttpClients) -> Self {
        Self { http }
    }

    pub(super) async fn index(&self, caller: Caller<'_>) -> Result<Index, CallError> {
        self.get(caller, "", &[("_fields", Index::FIELDS)]).read().await
    }

    pub(super) async fn me(&self, caller: Caller<'_>) -> Result<Me, CallError> {
        let query = [("context", "edit"), ("_fields", "id,username,avatar_urls,roles,capabilities")];
        self.get(caller, "wp/v2/users/me", &query).read().await
    }

    /// The id of the application password of the call; `None` before version 5.7, which cannot
    /// report it.
    pub(super) async fn current_password_uuid(&self, caller: Caller<'_>) -> Result<Option<String>, CallError> {
        let path = format!("{PASSWORDS}/introspect");
        match self.get(caller, &path, &[("_fields", "uuid")]).read().await {
            Ok(Password { uuid, .. }) => Ok(Some(uuid)),
            // Version 5.6 looks for a password with the id `introspect`.
            Err(error) if error.has_code(&[NO_PASSWORD]) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The id of this software's application password with this name, or of its only one. Names are
    /// unique, but a user can change one before they approve it. `last_used` does not help:
    /// WordPress stores it once a day.
    pub(super) async fn find_password_uuid(
        &self,
        caller: Caller<'_>,
        app_id: &str,
        name: &str,
    ) -> Result<Option<String>, CallError> {
        let mut ours: Vec<Password> = self.get(caller, PASSWORDS, &[("_fields", "uuid,name,app_id")]).read().await?;
        ours.retain(|it| it.app_id == app_id);
        let named = ours.iter().position(|it| it.name == name).or((ours.len() == 1).then_some(0));
        Ok(named.map(|at| ours.swap_remove(at).uuid))
    }

    pub(super) async fn delete_password(&self, caller: Caller<'_>, uuid: &str) -> Result<(), CallError> {
        let is_plain = uuid.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'));
        if !is_plain {
            return Err(CallError::unreadable(ERRORS.title, Effect::Private));
        }
        let call = self.call(caller, Method::DELETE, &format!("{PASSWORDS}/{uuid}"), &[]);
        call.read().await.map(|Ignored {}| ())
    }

    pub(super) async fn draft(&self, caller: Caller<'_>, slug: &str) -> Result<Option<Post>, CallError> {
        let query = [("slug", slug), ("status", "draft"), ("_fields", OF_A_POST)];
        let found: Vec<Post> = self.call(caller, Method::GET, "wp/v2/posts", &query).read().await?;
        Ok(found.into_iter().find(|it| it.slug == slug))
    }

    pub(super) async fn post(&self, caller: Caller<'_>, id: u64) -> Result<Post, CallError> {
        let query = [("context", "edit"), ("_fields", OF_A_POST)];
        self.get(caller, &format!("wp/v2/posts/{id}"), &query).read().await
    }

    pub(super) async fn make(&self, caller: Caller<'_>, fields: &Value) -> Result<Post, CallError> {
        self.write(caller, "wp/v2/posts", fields).read().await
    }

    pub(super) async fn change(&self, caller: Caller<'_>, id: u64, fields: &Value) -> Result<Post, CallError> {
        self.write(caller, &format!("wp/v2/posts/{id}"), fields).read().await
    }

    pub(super) async fn publish(&self, caller: Caller<'_>, id: u64, fields: &Value) -> Result<Post, CallError> {
        self.write(caller, &format!("wp/v2/posts/{id}"), fields).effect(Effect::Public).read().await
    }

    /// Without the trash.
    pub(super) async fn delete(&self, caller: Caller<'_>, collection: &str, id: u64) -> Result<(), CallError> {
        let query = [("force", "true"), ("_fields", "deleted")];
        let call = self.call(caller, Method::DELETE, &format!("wp/v2/{collection}/{id}"), &query);
        call.read().await.map(|Ignored {}| ())
    }

    pub(super) async fn medium(&self, caller: Caller<'_>, slug: &str) -> Result<Option<Medium>, CallError> {
        let query = [("slug", slug), ("status", "inherit"), ("_fields", "id,source_url")];
        let found: Vec<Medium> = self.call(caller, Method::GET, "wp/v2/media", &query).read().await?;
        Ok(found.into_iter().next())
    }

    pub(super) async fn upload(
        &self,
        caller: Caller<'_>,
        post: u64,
        slug: &str,
        file: &Attachment,
        bytes: MediaBytes,
        within: Duration,
    ) -> Result<Medium, CallError> {
        let form = Form::new().text("post", &post.to_string()).text("slug", slug).text("title", slug);
        let form = file.alt_text.iter().fold(form, |form, it| form.text("alt_text", it.as_str()));
        let name = format!("{slug}.{}", file.mime_type.extension());
        let form = form.file(("file", &name), file.mime_type, file.size_bytes, bytes);
        let call = self.call(caller, Method::POST, "wp/v2/media", &[("_fields", "id,source_url")]);
        let uploaded = call.multipart(form).timeout(within).read().await;
        uploaded.map_err(|error| match error.status {
            // The web server sent this without asking WordPress.
            Some(StatusCode::PAYLOAD_TOO_LARGE) => {
                error.with_message(|_| "the file is larger than the site's server accepts".to_owned())
            }
            _ => error,
        })
    }

    /// Creates the missing sizes of a picture, as the editor of WordPress does after a failed
    /// upload.
    pub(super) async fn create_image_sizes(&self, caller: Caller<'_>, id: u64) -> Result<Medium, CallError> {
        let path = format!("wp/v2/media/{id}/post-process");
        let call = self.call(caller, Method::POST, &path, &[("_fields", "id,source_url")]);
        call.json(&BTreeMap::from([("action", "create-image-subsizes")])).timeout(WRITE).read().await
    }

    /// The terms of a taxonomy, `categories` or `tags`, whose names contain these words.
    pub(super) async fn terms(&self, caller: Caller<'_>, taxonomy: &str, search: &str) -> Result<Vec<Term>, CallError> {
        let query = [("search", search), ("per_page", "100"), ("_fields", "id,name")];
        self.call(caller, Method::GET, &format!("wp/v2/{taxonomy}"), &query).read().await
    }

    /// Creates a term of this name; returns the existing one if there is one.
    pub(super) async fn create_term(&self, caller: Caller<'_>, taxonomy: &str, name: &str) -> Result<u64, CallError> {
        let call = self.call(caller, Method::POST, &format!("wp/v2/{taxonomy}"), &[("_fields", "id")]);
        match call.json(&BTreeMap::from([("name", name)])).read().await {
            Ok(Term { id, .. }) => Ok(id),
            Err(error) => {
                let existing = error.value("/data/term_id").and_then(Value::as_u64);
                existing.filter(|_| error.has_code(&[TERM_EXISTS])).ok_or(error)
            }
        }
    }

    fn write(&self, caller: Caller<'_>, path: &str, fields: &Value) -> Call {
        self.call(caller, Method::POST, path, &[("_fields", OF_A_POST)]).json(fields).timeout(WRITE)
    }

    fn get(&self, caller: Caller<'_>, path: &str, query: &[(&str, &str)]) -> Call {
        self.call(caller, Method::GET, path, query).effect(Effect::Read)
    }

    /// A call of the preparation: nothing that it creates is public.
    fn call(&self, caller: Caller<'_>, method: Method, path: &str, query: &[(&str, &str)]) -> Call {
        let Caller { root, user, password, now } = caller;
        let client = ApiClient::named(self.http.clone(), root.url().clone(), &ERRORS);
        let call = client.call_url(Auth::basic(user, password, now), method, root.route(path));
        call.query(query).header(ACCEPT, "application/json").max_bytes(MAX_BYTES).effect(Effect::Private)
    }
}
