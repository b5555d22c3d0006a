#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use http::header::{AUTHORIZATION, HeaderName};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Position, Url};

use super::Grant;
use super::errors::{ERRORS, NOT_FOUND};
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect, ErrorKind, File};
use crate::multipart::Form;
use crate::publish_request::PublishRequest;
use crate::response::shown;

pub(super) const API: &str = "ghost/api/admin/";

/// Ghost 5 and 6 have this version.
const VERSION: (HeaderName, &str) = (HeaderName::from_static("accept-version"), "v5.0");

const WRITE: Duration = Duration::from_secs(20);

/// Less than [`STEP_LIMIT`](crate::platform::STEP_LIMIT).
const UPLOAD: Duration = Duration::from_secs(36);

/// A response has the whole content of a post.
const MAX_BYTES: usize = 4 << 20;

#[derive(Clone)]
pub(super) struct Api {
    http: HttpClients,
}

#[derive(Deserialize)]
pub(super) struct Site {
    #[serde(default)]
    title: String,
    url: Url,
    #[serde(default)]
    logo: Option<String>,
    #[serde(default)]
    icon: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Post {
    pub(super) id: String,
    pub(super) slug: String,
    pub(super) status: String,
    pub(super) updated_at: String,
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) published_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
pub(super) struct Newsletter {
    pub(super) name: String,
    pub(super) slug: String,
}

#[derive(Deserialize)]
struct Sites {
    site: Site,
}

#[derive(Deserialize)]
struct Posts {
    posts: Vec<Post>,
}

#[derive(Deserialize)]
struct Newsletters {
    newsletters: Vec<Newsletter>,
}

#[derive(Deserialize)]
struct Uploads {
    #[serde(alias = "media")]
    images: Vec<Uploaded>,
}

#[derive(Deserialize)]
struct Uploaded {
    url: String,
}

impl Site {
    /// The account is the address that gets the key, whatever the site says of itself.
    pub(super) fn profile(&self, admin: &Url) -> AccountInfo {
        let place = |it: &Url| it[Position::BeforeHost..Position::AfterPath].trim_end_matches('/').to_owned();
        let home = Some(&self.url).filter(|it| matches!(it.scheme(), "http" | "https")).unwrap_or(admin);
        let icon = self.icon.as_ref().or(self.logo.as_ref()).and_then(|it| home.join(it).ok());
        AccountInfo {
            account_id: place(admin),
            username: Some(place(home)),
            display_name: Some(shown(&self.title)).filter(|it| !it.is_empty()),
            avatar: icon.map(String::from),
            profile_url: Some(home.as_str().to_owned()),
        }
    }

    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok().map(|Sites { site }| site)
    }
}

impl Api {
    pub(super) fn new(http: HttpClients) -> Self {
        Self { http }
    }

    pub(super) fn http(&self) -> &HttpClients {
        &self.http
    }

    pub(super) async fn site(&self, admin: &Url, now: DateTime<Utc>) -> Result<Site, CallError> {
        let Sites { site } = self.client(admin).call_encoded(Auth::anonymous(now), Method::GET, "site/").read().await?;
        Ok(site)
    }

    /// Fails unless the key may read posts.
    pub(super) async fn check_key(&self, grant: &Grant, now: DateTime<Utc>) -> Result<(), CallError> {
        let call = self.call(grant, now, Method::GET, "posts/?limit=1&fields=id");
        call.effect(Effect::Read).expect_success().await
    }

    pub(super) async fn newsletters(&self, grant: &Grant, now: DateTime<Utc>) -> Result<Vec<Newsletter>, CallError> {
        let call = self.call(grant, now, Method::GET, "newsletters/?limit=100&filter=status%3Aactive");
        call.effect(Effect::Read).read().await.map(|Newsletters { newsletters }| newsletters)
    }

    /// The post with this slug, of any status.
    pub(super) async fn post_with_slug(
        &self,
        grant: &Grant,
        slug: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Post>, CallError> {
        let call = self.call(grant, now, Method::GET, &format!("posts/slug/{slug}/"));
        match read_post(call, Effect::Private).await {
            Ok(post) => Ok(Some(post)),
            Err(error) if error.is_status(StatusCode::NOT_FOUND) && error.has_code(&[NOT_FOUND]) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn post(&self, grant: &Grant, id: &str, now: DateTime<Utc>) -> Result<Post, CallError> {
        read_post(self.call(grant, now, Method::GET, &format!("posts/{id}/")), Effect::Read).await
    }

    pub(super) async fn create(&self, grant: &Grant, post: &Value, now: DateTime<Utc>) -> Result<Post, CallError> {
        let call = self.call(grant, now, Method::POST, "posts/?source=html").json(&json!({ "posts": [post] }));
        read_post(call.timeout(WRITE), Effect::Private).await
    }

    /// Changes a draft into a post that may be public, and sends it to the subscribers of a newsletter.
    pub(super) async fn publish(
        &self,
        grant: &Grant,
        (id, fields): (&str, &Value),
        newsletter: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Post, CallError> {
        let call = self.call(grant, now, Method::PUT, &format!("posts/{id}/"));
        let query: Vec<_> = newsletter.iter().flat_map(|it| [("newsletter", *it), ("email_segment", "all")]).collect();
        read_post(call.query(&query).json(&json!({ "posts": [fields] })).timeout(WRITE), Effect::Public).await
    }

    /// Uploads below `images` or `media`. Everyone can read the file at the returned URL.
    pub(super) async fn upload(
        &self,
        request: &PublishRequest<'_>,
        grant: &Grant,
        collection: &str,
        (name, file): (&str, &File<'_>),
    ) -> Result<String, CallError> {
        let bytes = file.open(request).await?;
        let form = Form::new().file(("file", name), file.mime_type(), file.size_bytes(), bytes);
        let call = self.call(grant, request.now, Method::POST, &format!("{collection}/upload/"));
        let uploaded = call.effect(Effect::Private).multipart(form).timeout(UPLOAD).read().await;
        let uploaded: Uploads = uploaded.map_err(|mut error| {
            // The web server sends this without asking Ghost.
            if error.status == Some(StatusCode::PAYLOAD_TOO_LARGE) {
                error.kind = ErrorKind::InvalidPost;
                return error.with_message(|_| "the file is larger than the site's server accepts".to_owned());
            }
            error
        })?;
        let uploaded = uploaded.images.into_iter().next().map(|it| it.url);
        uploaded.ok_or_else(|| CallError::unreadable(ERRORS.title, Effect::Private))
    }

    fn call(&self, grant: &Grant, now: DateTime<Utc>, method: Method, path: &str) -> Call {
        let call = self.client(&grant.admin).call_encoded(Auth::anonymous(now), method, path);
        call.header(AUTHORIZATION, format!("Ghost {}", grant.key.token(now))).max_bytes(MAX_BYTES)
    }

    fn client(&self, admin: &Url) -> ApiClient {
        let mut base = admin.clone();
        base.set_path(&format!("{}{API}", admin.path()));
        let (name, version) = VERSION;
        ApiClient::named(self.http.clone(), base, &ERRORS).with_header(name, http::HeaderValue::from_static(version))
    }
}

async fn read_post(call: Call, effect: Effect) -> Result<Post, CallError> {
    let Posts { posts } = call.effect(effect).read().await?;
    // The id becomes a part of URLs.
    let post = posts.into_iter().next().filter(|it| it.id.bytes().all(|it| it.is_ascii_alphanumeric()));
    post.ok_or_else(|| CallError::unreadable(ERRORS.title, effect))
}
