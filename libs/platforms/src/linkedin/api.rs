//! The API's addresses and answers.

use std::time::Duration;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use reqwest::{Body, Method, RequestBuilder, Response, StatusCode};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::failure::Failure;
use super::version::Version;
use crate::answer;
use crate::caller::Caller;
use crate::http_clients::HttpClients;
use crate::job::MediaBytes;
use crate::not_now::NotNow;
use crate::oauth2::Endpoints;

/// For the public call. Long, because what it did is hard to find out.
const PUBLISH: Duration = Duration::from_secs(30);

/// The API.
pub(super) struct Api {
    pub(super) http: HttpClients,
    /// The website, where its OAuth is.
    site: String,
    base_url: String,
    pub(super) version: Version,
}

/// A member, as `OpenID` Connect tells of one.
#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) sub: String,
    pub(super) name: Option<String>,
    pub(super) picture: Option<String>,
    /// What their address ends with, which only the other way tells.
    #[serde(skip)]
    pub(super) vanity_name: Option<String>,
}

/// A member, as apps are told that have no part in signing in.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Me {
    id: String,
    localized_first_name: Option<String>,
    localized_last_name: Option<String>,
    vanity_name: Option<String>,
}

impl From<Me> for Member {
    fn from(Me { id, localized_first_name, localized_last_name, vanity_name }: Me) -> Self {
        let names: Vec<_> = [localized_first_name, localized_last_name].into_iter().flatten().collect();
        // A picture is the name of a file there.
        Self { sub: id, name: Some(names.join(" ")), picture: None, vanity_name }
    }
}

/// What the answer to an action has.
#[derive(Deserialize)]
struct Action<T> {
    value: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageUpload {
    upload_url: Url,
    image: String,
}

/// The bytes of a file, and how many there are.
pub(super) struct Contents {
    pub(super) length: u64,
    pub(super) bytes: MediaBytes,
}

impl Api {
    /// At these addresses: of the website, and of the API.
    pub(super) fn new(http: HttpClients, (site, api): (&Url, &Url), version: Version) -> Self {
        let plain = |it: &Url| it.as_str().trim_end_matches('/').to_owned();
        Self { http, site: plain(site), base_url: plain(api), version }
    }

    /// Where its OAuth is.
    pub(super) fn oauth(&self) -> Endpoints {
        let at = |name: &str| format!("{}/oauth/v2/{name}", self.site);
        Endpoints {
            authorization: at("authorization"),
            token: at("accessToken"),
            revocation: Some(at("revoke")),
            ..Endpoints::default()
        }
    }

    /// Whose token it is, by `OpenID` Connect or without.
    pub(super) async fn member(&self, by: Caller<'_>, openid: bool) -> Result<Member, Failure> {
        let path = if openid { "userinfo" } else { "me" };
        let request = self.http.to_known(Method::GET, format!("{}/v2/{path}", self.base_url))?;
        let request = request.bearer_auth(by.token.expose_secret());
        if openid { self.json(request, by).await } else { Ok(self.json::<Me>(request, by).await?.into()) }
    }

    /// Makes a post public; its name.
    pub(super) async fn post(&self, by: Caller<'_>, body: &Value) -> Result<String, Failure> {
        let request = self.rest(by, Method::POST, "posts")?.json(body).timeout(PUBLISH);
        let response = self.answered(request, by).await?;
        // The body is empty, and so there is no other word of what was made.
        named(response.headers()).ok_or_else(unreadable)
    }

    /// Adds a comment of this account under this post. Its text is no little text.
    pub(super) async fn comment(&self, by: Caller<'_>, (actor, post): (&str, &str), text: &str) -> Result<(), Failure> {
        let body = json!({ "actor": actor, "object": post, "message": { "text": text } });
        let request = self.rest(by, Method::POST, &format!("socialActions/{}/comments", encoded(post)))?;
        let response = self.answered(request.json(&body).timeout(PUBLISH), by).await?;
        if response.status() == StatusCode::CREATED { Ok(()) } else { Err(unreadable()) }
    }

    /// Uploads a picture for posts of this owner; its name.
    pub(super) async fn upload_image(
        &self,
        by: Caller<'_>,
        owner: &str,
        contents: Contents,
        within: Duration,
    ) -> Result<String, Failure> {
        let body = json!({ "initializeUploadRequest": { "owner": owner } });
        let ImageUpload { upload_url, image } = self.action(by, "images?action=initializeUpload", &body).await?;
        let upload = self.put(upload_url, contents, within)?.bearer_auth(by.token.expose_secret());
        let response = self.answered(upload, by).await.map_err(Failure::of_an_address)?;
        // What is no confirmation, such as the page of a proxy, has something to say.
        let is_there =
            response.status() == StatusCode::CREATED || answer::body(response).await.is_ok_and(|it| it.is_empty());
        if is_there { urn(image) } else { Err(unreadable()) }
    }

    /// A request that brings bytes to an address that LinkedIn gave for them.
    pub(super) fn put(&self, url: Url, contents: Contents, within: Duration) -> Result<RequestBuilder, NotNow> {
        let request = self.http.to_known(Method::PUT, url)?.timeout(within);
        // With a length, a stream that ends early is not taken for the file.
        let request = request.header(CONTENT_TYPE, "application/octet-stream").header(CONTENT_LENGTH, contents.length);
        Ok(request.body(Body::wrap_stream(contents.bytes)))
    }

    /// What an action answers.
    pub(super) async fn action<T: DeserializeOwned>(
        &self,
        by: Caller<'_>,
        path: &str,
        body: &Value,
    ) -> Result<T, Failure> {
        let request = self.rest(by, Method::POST, path)?.json(body);
        self.json::<Action<T>>(request, by).await.map(|it| it.value)
    }

    /// A request of the versioned API. What stands in the path is encoded already.
    pub(super) fn rest(&self, by: Caller<'_>, method: Method, path: &str) -> Result<RequestBuilder, NotNow> {
        let request = self.http.to_known(method, format!("{}/rest/{path}", self.base_url))?;
        let request = request.bearer_auth(by.token.expose_secret());
        Ok(request.header("LinkedIn-Version", self.version.name()).header("X-Restli-Protocol-Version", "2.0.0"))
    }

    /// The answer of a call, as JSON.
    pub(super) async fn json<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        by: Caller<'_>,
    ) -> Result<T, Failure> {
        let response = self.answered(request, by).await?;
        answer::json_up_to(response, MAX_ANSWER_BYTES).await.map_err(|_| unreadable())
    }

    /// The answer of a call that went well.
    pub(super) async fn answered(&self, request: RequestBuilder, by: Caller<'_>) -> Result<Response, Failure> {
        let response = request.send().await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_at = answer::retry_at(response.headers(), by.now);
        let body = answer::body(response).await.unwrap_or_default();
        let failure = Failure::of(status, retry_at, &body);
        if failure.is_of_our_version() {
            self.version.is_refused();
        }
        Err(failure)
    }
}

/// A page of posts, with all that they say.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The name of what was made.
fn named(headers: &HeaderMap) -> Option<String> {
    let name = ["x-restli-id", "x-linkedin-id"].iter().find_map(|it| headers.get(*it)?.to_str().ok());
    urn(name?.replace("%3A", ":")).ok()
}

/// A name of something over there, as it can be passed on.
pub(super) fn urn(name: String) -> Result<String, Failure> {
    let is_urn = name.starts_with("urn:li:") && name.len() <= 200 && name.bytes().all(is_of_urn);
    if is_urn { Ok(name) } else { Err(unreadable()) }
}

fn is_of_urn(it: u8) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, b':' | b'-' | b'_' | b'(' | b')' | b',')
}

/// A name as it stands in paths and queries.
pub(super) fn encoded(urn: &str) -> String {
    form_urlencoded::byte_serialize(urn.as_bytes()).collect()
}

pub(super) fn unreadable() -> Failure {
    Failure::Unknown { why: "LinkedIn's answer could not be read".to_owned() }
}
