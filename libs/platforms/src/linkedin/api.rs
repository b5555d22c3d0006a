use std::time::Duration;

use http::header::{ETAG, HeaderName};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::errors;
use super::version::Version;
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect};
use crate::oauth2::Endpoints;
use crate::publish_request::MediaBytes;

/// Long, because the outcome of the publish call is hard to find out.
const PUBLISH: Duration = Duration::from_secs(30);

const PART: Duration = Duration::from_secs(15);

/// Enough for a page of full posts.
const MAX_RESPONSE_BYTES: usize = 4 << 20;

/// `www.linkedin.com/dms-uploads/…` today, `api.linkedin.com/mediaUpload/…` before.
const UPLOAD_HOSTS: &[&str] = &[".linkedin.com"];

pub(super) struct Api {
    pub(super) http: HttpClients,
    /// The website, which has the OAuth endpoints.
    site: Url,
    client: ApiClient,
    version: HeaderValue,
}

/// A member, as `OpenID` Connect describes one.
#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) sub: String,
    pub(super) name: Option<String>,
    pub(super) picture: Option<String>,
    /// The last part of the profile's URL, which only `/v2/me` returns.
    #[serde(skip)]
    pub(super) vanity_name: Option<String>,
}

/// A member, for apps without `OpenID` Connect.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyMember {
    id: String,
    localized_first_name: Option<String>,
    localized_last_name: Option<String>,
    vanity_name: Option<String>,
}

impl From<LegacyMember> for Member {
    fn from(LegacyMember { id, localized_first_name, localized_last_name, vanity_name }: LegacyMember) -> Self {
        let names: Vec<_> = [localized_first_name, localized_last_name].into_iter().flatten().collect();
        // The picture is a URN here, which takes another call to resolve.
        Self { sub: id, name: Some(names.join(" ")), picture: None, vanity_name }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedComment {
    comment_urn: String,
}

#[derive(Deserialize)]
pub(super) struct Action<T> {
    pub(super) value: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileUpload {
    upload_url: Url,
    #[serde(alias = "image", alias = "document")]
    urn: String,
}

/// The size in bytes, and the content.
pub(super) type Contents = (u64, MediaBytes);

impl Api {
    pub(super) fn new(http: HttpClients, site: Url, base_url: Url, version: &Version) -> Self {
        let client = ApiClient::known(http.clone(), base_url, &errors::ERRORS).with_upload_hosts(UPLOAD_HOSTS);
        Self { http, site, client, version: version.header() }
    }

    pub(super) fn oauth(&self) -> Endpoints {
        let at = |name: &str| format!("{}/oauth/v2/{name}", self.site.as_str().trim_end_matches('/'));
        Endpoints {
            authorization: at("authorization"),
            token: at("accessToken"),
            revocation: Some(at("revoke")),
            ..Endpoints::default()
        }
    }

    pub(super) async fn member(&self, auth: Auth<'_>, has_openid: bool) -> Result<Member, CallError> {
        if has_openid {
            return self.client.get(auth, &["v2", "userinfo"]).read().await;
        }
        self.client.get(auth, &["v2", "me"]).read::<LegacyMember>().await.map(Member::from)
    }

    /// Returns the URN of the post.
    pub(super) async fn create_post(&self, auth: Auth<'_>, author: &str, body: &Value) -> Result<String, CallError> {
        let call = self.rest(auth, Method::POST, "posts").errors(errors::for_author(author));
        let response = call.effect(Effect::Public).json(body).timeout(PUBLISH).response().await?;
        // The body is empty; only this header names the post.
        created(&response.headers).ok_or_else(|| self.client.unreadable(Effect::Public))
    }

    /// Adds a comment of this account to this post; returns its URN. Its text is not little text.
    pub(super) async fn comment(
        &self,
        auth: Auth<'_>,
        (actor, post): (&str, &str),
        text: &str,
    ) -> Result<String, CallError> {
        let body = json!({ "actor": actor, "object": post, "message": { "text": text } });
        let call = self.rest(auth, Method::POST, &comments(post)).effect(Effect::Public).json(&body).timeout(PUBLISH);
        let created: CreatedComment = call.read().await.map_err(errors::for_comment)?;
        Some(created.comment_urn).filter(|it| is_urn(it)).ok_or_else(|| self.client.unreadable(Effect::Public))
    }

    /// Uploads a file of this collection, such as `images`, for posts of this owner; returns its URN.
    pub(super) async fn upload_whole(
        &self,
        auth: Auth<'_>,
        owner: &str,
        collection: &str,
        contents: Contents,
        timeout: Duration,
    ) -> Result<String, CallError> {
        let body = json!({ "initializeUploadRequest": { "owner": owner } });
        let call = self.private(auth, owner, &format!("{collection}?action=initializeUpload")).json(&body);
        let Action { value: FileUpload { upload_url, urn } } = call.read().await?;
        let upload = self.client.upload_to(auth, Method::PUT, upload_url).octets(contents.0, contents.1);
        upload.errors(&errors::UPLOAD_URL_ERRORS).timeout(timeout).expect_success().await?;
        self.urn(urn)
    }

    /// Uploads a part of a video; returns its tag. The URL needs no token.
    pub(super) async fn upload_part(&self, auth: Auth<'_>, url: Url, contents: Contents) -> Result<String, CallError> {
        let upload = self.client.upload_to(auth.without_token(), Method::PUT, url).octets(contents.0, contents.1);
        let response = upload.errors(&errors::UPLOAD_URL_ERRORS).timeout(PART).response().await?;
        let tag = response.headers.get(ETAG).and_then(|it| it.to_str().ok()).unwrap_or_default().trim_matches('"');
        if tag.is_empty() { Err(self.unreadable(Effect::Private)) } else { Ok(tag.to_owned()) }
    }

    pub(super) fn private(&self, auth: Auth<'_>, owner: &str, path: &str) -> Call {
        self.rest(auth, Method::POST, path).errors(errors::for_author(owner)).effect(Effect::Private)
    }

    /// A finder call, which returns a list.
    pub(super) fn find(&self, auth: Auth<'_>, path: &str) -> Call {
        self.get(auth, path).header(HeaderName::from_static("x-restli-method"), "FINDER")
    }

    pub(super) fn get(&self, auth: Auth<'_>, path: &str) -> Call {
        self.rest(auth, Method::GET, path).max_bytes(MAX_RESPONSE_BYTES)
    }

    pub(super) fn file(&self, auth: Auth<'_>, owner: &str, collection: &str, urn: &str) -> Call {
        self.get(auth, &format!("{collection}/{}", encoded(urn))).errors(errors::for_author(owner))
    }

    /// The versioned API. URNs are encoded by `encoded`: colons as well, which the URL standard
    /// leaves in paths.
    fn rest(&self, auth: Auth<'_>, method: Method, path: &str) -> Call {
        let call = self.client.call_encoded(auth, method, &format!("rest/{path}"));
        let call = call.header(HeaderName::from_static("linkedin-version"), &self.version);
        call.header(HeaderName::from_static("x-restli-protocol-version"), "2.0.0")
    }

    pub(super) fn urn(&self, urn: String) -> Result<String, CallError> {
        if is_urn(&urn) { Ok(urn) } else { Err(self.client.unreadable(Effect::Private)) }
    }

    pub(super) fn unreadable(&self, effect: Effect) -> CallError {
        self.client.unreadable(effect)
    }
}

pub(super) fn comments(post: &str) -> String {
    format!("socialActions/{}/comments", encoded(post))
}

fn created(headers: &HeaderMap) -> Option<String> {
    let urn = ["x-restli-id", "x-linkedin-id"].iter().find_map(|it| headers.get(*it)?.to_str().ok());
    Some(urn?.replace("%3A", ":")).filter(|it| is_urn(it))
}

fn is_urn(urn: &str) -> bool {
    let may_contain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b':' | b'-' | b'_' | b'(' | b')' | b',');
    urn.starts_with("urn:li:") && urn.len() <= 200 && urn.bytes().all(may_contain)
}

pub(super) fn encoded(urn: &str) -> String {
    form_urlencoded::byte_serialize(urn.as_bytes()).collect()
}
