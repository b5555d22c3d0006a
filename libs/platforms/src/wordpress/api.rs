//! The calls of the REST API.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use domain::media::Attachment;
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::Failure;
use super::site::{Index, Root};
use crate::answer;
use crate::http_clients::HttpClients;
use crate::job::MediaBytes;
use crate::multipart::Form;

/// For the public call, and for others that write a post: sites without a cache think
/// for seconds.
const WRITE: Duration = Duration::from_secs(20);

/// The most of an answer that is read. Only what is asked for is in it, but for older
/// versions.
const MAX_BYTES: usize = 2 << 20;

/// The application passwords of an account.
const PASSWORDS: &str = "wp/v2/users/me/application-passwords";

/// What is read of a post.
const OF_A_POST: &str = "id,slug,status,link,date_gmt";

/// The REST API of any site.
#[derive(Clone)]
pub(super) struct Api {
    http: HttpClients,
}

/// Who asks a site, and when.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) root: &'a Root,
    pub(super) user: &'a str,
    pub(super) password: &'a SecretString,
    pub(super) now: DateTime<Utc>,
}

/// A person's account on a site.
#[derive(Deserialize)]
pub(super) struct Me {
    pub(super) id: u64,
    pub(super) username: String,
    #[serde(default)]
    pub(super) avatar_urls: Value,
    #[serde(default)]
    pub(super) roles: Vec<String>,
    /// An empty list where there is none.
    #[serde(default)]
    capabilities: Value,
}

/// A post as it stands.
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

/// A file in the media library.
#[derive(Debug, Deserialize)]
pub(super) struct Medium {
    pub(super) id: u64,
    pub(super) source_url: String,
}

/// A category or a tag.
#[derive(Deserialize)]
pub(super) struct Term {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) name: String,
}

/// An application password, without its secret.
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
    /// Whether the account may do this.
    pub(super) fn can(&self, capability: &str) -> bool {
        self.capabilities[capability] == true
    }
}

impl Post {
    /// Its date, by the site's clock.
    pub(super) fn date(&self) -> Option<DateTime<Utc>> {
        self.date_gmt.map(|it| it.and_utc())
    }
}

impl Api {
    pub(super) fn new(http: HttpClients) -> Self {
        Self { http }
    }

    /// What a site says of itself.
    pub(super) async fn index(&self, caller: Caller<'_>) -> Result<Index, Failure> {
        let request = self.request(caller, Method::GET, "", &[("_fields", Index::FIELDS)])?;
        answered(request, caller.now).await
    }

    /// Who asks.
    pub(super) async fn me(&self, caller: Caller<'_>) -> Result<Me, Failure> {
        let query = [("context", "edit"), ("_fields", "id,username,avatar_urls,roles,capabilities")];
        answered(self.request(caller, Method::GET, "wp/v2/users/me", &query)?, caller.now).await
    }

    /// The id of the application password that the call is made with; `None` before version 5.7, which cannot say it.
    pub(super) async fn own_password(&self, caller: Caller<'_>) -> Result<Option<String>, Failure> {
        let path = format!("{PASSWORDS}/introspect");
        match answered(self.request(caller, Method::GET, &path, &[("_fields", "uuid")])?, caller.now).await {
            Ok(Password { uuid, .. }) => Ok(Some(uuid)),
            // Version 5.6 looks for a password with the id `introspect`.
            Err(failure) if failure.is_of_no_password() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The id of the application password of this program that has this name, or of the only one. Names are unique; a
    /// person can change one before they approve. `last_used` does not tell: WordPress stores it once a day.
    pub(super) async fn password_of(
        &self,
        caller: Caller<'_>,
        app_id: &str,
        name: &str,
    ) -> Result<Option<String>, Failure> {
        let request = self.request(caller, Method::GET, PASSWORDS, &[("_fields", "uuid,name,app_id")])?;
        let mut ours: Vec<Password> = answered(request, caller.now).await?;
        ours.retain(|it| it.app_id == app_id);
        let named = ours.iter().position(|it| it.name == name).or((ours.len() == 1).then_some(0));
        Ok(named.map(|at| ours.swap_remove(at).uuid))
    }

    /// Deletes an application password.
    pub(super) async fn delete_password(&self, caller: Caller<'_>, uuid: &str) -> Result<(), Failure> {
        let is_plain = uuid.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'));
        if !is_plain {
            return Err(Failure::Unreadable);
        }
        let request = self.request(caller, Method::DELETE, &format!("{PASSWORDS}/{uuid}"), &[])?;
        answered::<Ignored>(request, caller.now).await.map(|_| ())
    }

    /// The draft with this slug.
    pub(super) async fn draft(&self, caller: Caller<'_>, slug: &str) -> Result<Option<Post>, Failure> {
        let query = [("slug", slug), ("status", "draft"), ("_fields", OF_A_POST)];
        let found: Vec<Post> = answered(self.request(caller, Method::GET, "wp/v2/posts", &query)?, caller.now).await?;
        Ok(found.into_iter().find(|it| it.slug == slug))
    }

    /// A post.
    pub(super) async fn post(&self, caller: Caller<'_>, id: u64) -> Result<Post, Failure> {
        let query = [("context", "edit"), ("_fields", OF_A_POST)];
        answered(self.request(caller, Method::GET, &format!("wp/v2/posts/{id}"), &query)?, caller.now).await
    }

    /// Makes a post; or changes one, where there is an id.
    pub(super) async fn write(&self, caller: Caller<'_>, id: Option<u64>, fields: &Value) -> Result<Post, Failure> {
        let path = id.map_or_else(|| "wp/v2/posts".to_owned(), |id| format!("wp/v2/posts/{id}"));
        let request = self.request(caller, Method::POST, &path, &[("_fields", OF_A_POST)])?;
        answered(request.json(fields).timeout(WRITE), caller.now).await
    }

    /// Deletes something, past the trash.
    pub(super) async fn delete(&self, caller: Caller<'_>, what: &str, id: u64) -> Result<(), Failure> {
        let query = [("force", "true"), ("_fields", "deleted")];
        let request = self.request(caller, Method::DELETE, &format!("wp/v2/{what}/{id}"), &query)?;
        answered::<Ignored>(request, caller.now).await.map(|_| ())
    }

    /// The file with this slug.
    pub(super) async fn medium(&self, caller: Caller<'_>, slug: &str) -> Result<Option<Medium>, Failure> {
        let query = [("slug", slug), ("status", "inherit"), ("_fields", "id,source_url")];
        let found: Vec<Medium> =
            answered(self.request(caller, Method::GET, "wp/v2/media", &query)?, caller.now).await?;
        Ok(found.into_iter().next())
    }

    /// Uploads a file that belongs to a post, under this slug.
    pub(super) async fn upload(
        &self,
        caller: Caller<'_>,
        post: u64,
        slug: &str,
        file: &Attachment,
        bytes: MediaBytes,
        within: Duration,
    ) -> Result<Medium, Failure> {
        let form = Form::new().text("post", &post.to_string()).text("slug", slug).text("title", slug);
        let form = file.alt_text.iter().fold(form, |form, it| form.text("alt_text", it.as_str()));
        let name = format!("{slug}.{}", file.mime_type.extension());
        let form = form.file(("file", &name), file.mime_type, file.size_bytes, bytes);
        let request = self.request(caller, Method::POST, "wp/v2/media", &[("_fields", "id,source_url")])?;
        answered(form.onto(request).0.timeout(within), caller.now).await
    }

    /// Makes the sizes of a picture that are missing, as the editor of WordPress does after an upload that failed.
    pub(super) async fn make_sizes(&self, caller: Caller<'_>, id: u64) -> Result<Medium, Failure> {
        let path = format!("wp/v2/media/{id}/post-process");
        let request = self.request(caller, Method::POST, &path, &[("_fields", "id,source_url")])?;
        let request = request.json(&BTreeMap::from([("action", "create-image-subsizes")]));
        answered(request.timeout(WRITE), caller.now).await
    }

    /// The terms of a taxonomy, `categories` or `tags`, with these words in their names.
    pub(super) async fn terms(&self, caller: Caller<'_>, taxonomy: &str, words: &str) -> Result<Vec<Term>, Failure> {
        let query = [("search", words), ("per_page", "100"), ("_fields", "id,name")];
        answered(self.request(caller, Method::GET, &format!("wp/v2/{taxonomy}"), &query)?, caller.now).await
    }

    /// Makes a term of this name; or names the one that has it already.
    pub(super) async fn make_term(&self, caller: Caller<'_>, taxonomy: &str, name: &str) -> Result<u64, Failure> {
        let request = self.request(caller, Method::POST, &format!("wp/v2/{taxonomy}"), &[("_fields", "id")])?;
        let made = answered::<Term>(request.json(&BTreeMap::from([("name", name)])), caller.now).await;
        match made {
            Ok(Term { id, .. }) => Ok(id),
            Err(failure) => failure.existing_term().ok_or(failure),
        }
    }

    fn request(
        &self,
        caller: Caller<'_>,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<RequestBuilder, Failure> {
        let mut url = caller.root.route(path);
        url.query_pairs_mut().extend_pairs(query);
        let request = self.http.to_named(method, url)?;
        let request = request.header(http::header::ACCEPT, "application/json");
        Ok(request.basic_auth(caller.user, Some(caller.password.expose_secret())))
    }
}

/// The answer of a call that went well.
async fn answered<T: DeserializeOwned>(request: RequestBuilder, now: DateTime<Utc>) -> Result<T, Failure> {
    let response = request.send().await?;
    if !response.status().is_success() {
        return Err(Failure::read(response, now).await);
    }
    answer::json_up_to(response, MAX_BYTES).await.map_err(|_| Failure::Unreadable)
}
