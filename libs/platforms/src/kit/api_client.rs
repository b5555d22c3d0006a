//! Calls to one host of a platform, with limits on time and size, each with its effect.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::media::MimeType;
use futures::{StreamExt, TryStreamExt};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::{Body, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::call_error::{CallError, Effect, ErrorKind};
use super::error_table::ErrorTable;
use crate::account::Credentials;
use crate::http_clients::{self, HttpClients};
use crate::multipart::{Form, ReadFailure};
use crate::publish_request::{MediaBytes, PublishRequest};
use crate::response;

/// Larger than most responses; [`Call::max_bytes`] is for the others.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;

#[derive(Clone)]
pub(crate) struct ApiClient {
    http: HttpClients,
    base_url: Url,
    reach: HostOrigin,
    errors: &'static ErrorTable,
    upload_hosts: &'static [&'static str],
    headers: HeaderMap,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HostOrigin {
    Known,
    /// A user named it: no address inside our network is called.
    Named,
}

#[derive(Clone, Copy)]
pub(crate) struct Auth<'a> {
    token: Option<&'a SecretString>,
    /// For `Basic`, where the token is a password.
    user: Option<&'a str>,
    pub(crate) now: DateTime<Utc>,
    may_have_published: bool,
}

impl<'a> Auth<'a> {
    /// Bearer token.
    pub(crate) fn token(token: &'a SecretString, now: DateTime<Utc>) -> Self {
        Self { token: Some(token), user: None, now, may_have_published: false }
    }

    pub(crate) fn basic(user: &'a str, password: &'a SecretString, now: DateTime<Utc>) -> Self {
        Self { user: Some(user), ..Self::token(password, now) }
    }

    pub(crate) fn anonymous(now: DateTime<Utc>) -> Self {
        Self { token: None, user: None, now, may_have_published: false }
    }

    pub(crate) fn account(credentials: &'a Credentials, now: DateTime<Utc>) -> Self {
        Self::token(credentials.account_token(), now)
    }

    /// Includes whether an earlier publish call may have published.
    pub(crate) fn post(request: &PublishRequest<'a>) -> Self {
        Self { may_have_published: request.may_have_published, ..Self::account(request.credentials, request.now) }
    }

    /// Without an `Authorization` header, for calls that the URL, the form or another header authorizes.
    pub(crate) fn without_token(self) -> Self {
        Self { token: None, ..self }
    }
}

impl ApiClient {
    pub(crate) fn known(http: HttpClients, base_url: Url, errors: &'static ErrorTable) -> Self {
        Self { http, base_url, reach: HostOrigin::Known, errors, upload_hosts: &[], headers: HeaderMap::new() }
    }

    pub(crate) fn named(http: HttpClients, base_url: Url, errors: &'static ErrorTable) -> Self {
        Self { reach: HostOrigin::Named, ..Self::known(http, base_url, errors) }
    }

    /// Further hosts that upload URLs of responses may have. A leading dot matches all subdomains.
    #[must_use]
    pub(crate) fn with_upload_hosts(self, upload_hosts: &'static [&'static str]) -> Self {
        Self { upload_hosts, ..self }
    }

    #[must_use]
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// A URL of this host. Segments are encoded, so that an id cannot become a path.
    pub(crate) fn url(&self, path: &[&str]) -> Option<Url> {
        let mut url = self.base_url.clone();
        // The URL standard would remove these.
        let is_segment = |it: &&str| !matches!(*it, "" | "." | "..");
        if !path.iter().all(is_segment) {
            return None;
        }
        url.path_segments_mut().ok()?.pop_if_empty().extend(path);
        Some(url)
    }

    pub(crate) fn get(&self, auth: Auth<'_>, path: &[&str]) -> Call {
        self.call(auth, Method::GET, path)
    }

    /// Counts as the publish call unless [`Call::effect`] says otherwise: a forgotten effect must not repeat a post.
    pub(crate) fn post(&self, auth: Auth<'_>, path: &[&str]) -> Call {
        self.call(auth, Method::POST, path)
    }

    /// Like [`ApiClient::post`], with another method.
    pub(crate) fn call(&self, auth: Auth<'_>, method: Method, path: &[&str]) -> Call {
        if let Some(url) = self.url(path) {
            return self.call_url(auth, method, url);
        }
        let error = CallError::new(ErrorKind::NotSent, Effect::Private, "an id cannot be part of a URL");
        self.prepare(auth, method == Method::GET, Err(error))
    }

    /// A path and query that are encoded already, where a platform wants characters encoded that the URL standard
    /// leaves as they are, or the other way round.
    pub(crate) fn call_encoded(&self, auth: Auth<'_>, method: Method, path_and_query: &str) -> Call {
        let (path, query) =
            path_and_query.split_once('?').map_or((path_and_query, None), |(path, it)| (path, Some(it)));
        let mut url = self.base_url.clone();
        url.set_path(&format!("{}/{path}", self.base_url.path().trim_end_matches('/')));
        url.set_query(query);
        self.call_url(auth, method, url)
    }

    /// An upload URL of a response: at this host, or by https at a host of [`ApiClient::with_upload_hosts`]. A
    /// manipulated response cannot send a user's file or token anywhere else.
    pub(crate) fn upload_to(&self, auth: Auth<'_>, method: Method, url: Url) -> Call {
        let is_ours = url.origin() == self.base_url.origin();
        let is_listed = url.scheme() == "https"
            && url.port().is_none()
            && url.host_str().is_some_and(|it| self.upload_hosts.iter().any(|host| is_at(it, host)));
        if is_ours || is_listed {
            return self.call_url(auth, method, url).effect(Effect::Private);
        }
        let host = url.host_str().unwrap_or_default();
        tracing::error!(platform = self.errors.title, host, scheme = url.scheme(), "upload URL at an unknown host");
        self.prepare(auth, false, Err(self.unreadable(Effect::Private))).effect(Effect::Private)
    }

    /// A URL of this host that has more than a path.
    pub(crate) fn call_url(&self, auth: Auth<'_>, method: Method, url: Url) -> Call {
        let is_get = method == Method::GET;
        let request = match self.reach {
            HostOrigin::Known => self.http.request_known_host(method, url).map_err(CallError::from),
            HostOrigin::Named => self.http.request_named_host(method, url).map_err(CallError::from),
        };
        let request = request.map(|it| {
            let it = it.headers(self.headers.clone());
            match (auth.user, auth.token) {
                (Some(user), password) => it.basic_auth(user, password.map(ExposeSecret::expose_secret)),
                (None, Some(token)) => it.bearer_auth(token.expose_secret()),
                (None, None) => it,
            }
        });
        self.prepare(auth, is_get, request)
    }

    fn prepare(&self, auth: Auth<'_>, is_get: bool, request: Result<RequestBuilder, CallError>) -> Call {
        let effect = if is_get { Effect::Read } else { Effect::Public };
        let Auth { now, may_have_published, .. } = auth;
        let context = Context { errors: self.errors, effect, now, may_have_published };
        Call { request, context, max_bytes: MAX_RESPONSE_BYTES, also_success: None, unread: ReadFailure::default() }
    }

    pub(crate) fn unreadable(&self, effect: Effect) -> CallError {
        CallError::unreadable(self.errors.title, effect)
    }
}

fn is_at(host: &str, pattern: &str) -> bool {
    if pattern.starts_with('.') { host.ends_with(pattern) } else { host == pattern }
}

#[must_use = "nothing is sent before `read`, `done` or `response`"]
pub(crate) struct Call {
    request: Result<RequestBuilder, CallError>,
    context: Context,
    max_bytes: usize,
    also_success: Option<StatusCode>,
    /// Whether our own storage failed while a file was sent.
    unread: ReadFailure,
}

#[derive(Clone, Copy)]
struct Context {
    errors: &'static ErrorTable,
    effect: Effect,
    now: DateTime<Utc>,
    may_have_published: bool,
}

pub(crate) struct ApiResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Call {
    pub(crate) fn effect(mut self, effect: Effect) -> Self {
        self.context.effect = effect;
        self
    }

    pub(crate) fn errors(mut self, errors: &'static ErrorTable) -> Self {
        self.context.errors = errors;
        self
    }

    /// A timeout other than 10 s.
    pub(crate) fn timeout(self, timeout: Duration) -> Self {
        self.with(|it| it.timeout(timeout))
    }

    /// A limit of the response other than 256 KiB.
    pub(crate) fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    pub(crate) fn accept(self, status: StatusCode) -> Self {
        Self { also_success: Some(status), ..self }
    }

    pub(crate) fn query<T: Serialize + ?Sized>(self, query: &T) -> Self {
        self.with(|it| it.query(query))
    }

    pub(crate) fn json<T: Serialize + ?Sized>(self, body: &T) -> Self {
        self.with(|it| it.json(body))
    }

    pub(crate) fn form<T: Serialize + ?Sized>(self, body: &T) -> Self {
        self.with(|it| it.form(body))
    }

    /// Marked as sensitive, so that it is not printed.
    pub(crate) fn header(self, name: HeaderName, value: impl AsRef<[u8]>) -> Self {
        let is_secret = name == AUTHORIZATION;
        self.with(|it| match HeaderValue::from_bytes(value.as_ref()) {
            Ok(mut value) => {
                value.set_sensitive(is_secret);
                it.header(name, value)
            }
            // The request fails, and returns the reason.
            Err(_) => it.header(name, value.as_ref()),
        })
    }

    pub(crate) fn multipart(mut self, form: Form) -> Self {
        self.request = self.request.map(|it| {
            let (request, unread) = form.onto(it);
            self.unread = unread;
            request
        });
        self
    }

    /// A file as the whole body. Its length is sent, so that a stream that ends early is not mistaken for the whole
    /// file.
    pub(crate) fn file(self, mime_type: MimeType, size_bytes: u64, bytes: MediaBytes) -> Self {
        self.body(mime_type.as_str(), size_bytes, bytes)
    }

    /// Like `file`, as `application/octet-stream`: for a part of a file, or where the platform detects the type.
    pub(crate) fn octets(self, size_bytes: u64, bytes: MediaBytes) -> Self {
        self.body("application/octet-stream", size_bytes, bytes)
    }

    fn body(self, content_type: &'static str, size_bytes: u64, bytes: MediaBytes) -> Self {
        let unread = self.unread.clone();
        let bytes = bytes.inspect_err(move |_| unread.set()).boxed();
        self.with(|it| {
            it.header(CONTENT_TYPE, content_type).header(CONTENT_LENGTH, size_bytes).body(Body::wrap_stream(bytes))
        })
    }

    fn with(self, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        Self { request: self.request.map(change), ..self }
    }

    pub(crate) async fn read<T: DeserializeOwned>(self) -> Result<T, CallError> {
        let context = self.context;
        let response = self.response().await?;
        let json = (context.errors.json_of)(&response.body);
        serde_json::from_slice(json).map_err(|_| context.unreadable())
    }

    /// Sends the call, and ignores the body of a success, which may be empty. HTML is an error: it
    /// comes from an intermediary.
    pub(crate) async fn expect_success(self) -> Result<(), CallError> {
        let context = self.context;
        let response = self.response().await?;
        if is_page(&response.body) { Err(context.unreadable()) } else { Ok(()) }
    }

    pub(crate) async fn response(self) -> Result<ApiResponse, CallError> {
        let Self { request, context, max_bytes, also_success, unread } = self;
        let title = context.errors.title;
        let request = request.map_err(|it| CallError { effect: context.effect, ..it })?;
        let response = match http_clients::send(request).await {
            Ok(response) => response,
            Err(_) if unread.is_set() => return Err(context.error(ErrorKind::NotSent, "the file could not be read")),
            Err(error) => return Err(context.complete(CallError::from_transport(error, context.effect, title))),
        };
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response::body_up_to(response, max_bytes).await;
        if !status.is_success() && also_success != Some(status) {
            return Err(context.classify(status, &headers, &body.unwrap_or_default()));
        }
        let cut = |_| context.error(ErrorKind::NoResponse, format!("{title}'s response was cut off"));
        let body = body.map_err(cut)?;
        if context.errors.is_error_in_success(&body) {
            return Err(context.classify(status, &headers, &body));
        }
        Ok(ApiResponse { status, headers, body })
    }
}

impl Context {
    fn error(self, kind: ErrorKind, message: impl Into<String>) -> CallError {
        self.complete(CallError::new(kind, self.effect, message))
    }

    fn unreadable(self) -> CallError {
        self.complete(CallError::unreadable(self.errors.title, self.effect))
    }

    fn complete(self, error: CallError) -> CallError {
        let Self { errors, may_have_published, .. } = self;
        CallError { can_look_up: errors.can_look_up, may_have_published, ..error }
    }

    fn classify(self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> CallError {
        let error = self.errors.classify(self.effect, status, headers, body, self.now);
        if error.kind == ErrorKind::AppMisconfigured {
            // Without the message, which may repeat the request.
            let (platform, codes) = (self.errors.title, &error.codes);
            tracing::error!(platform, %status, ?codes, "the platform refuses this deployment's app");
        }
        self.complete(error)
    }
}

fn is_page(body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    let starts_with = |it: &str| start.get(..it.len()).is_some_and(|start| start.eq_ignore_ascii_case(it.as_bytes()));
    starts_with("<!doctype html") || starts_with("<html")
}

#[cfg(test)]
mod tests {
    use egress::AddressPolicy;

    use super::*;

    fn client(base_url: &str) -> ApiClient {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = HttpClients::new(AddressPolicy::PublicOnly);
        ApiClient::known(http, Url::parse(base_url).unwrap(), &ErrorTable::STANDARD)
    }

    #[test]
    fn id_cannot_become_a_path() {
        let client = client("https://api.example/v2/");
        let url = |path: &[&str]| client.url(path).map(String::from);
        assert_eq!(url(&["posts", "a/../b?c"]), Some("https://api.example/v2/posts/a%2F..%2Fb%3Fc".to_owned()));
        for id in ["", ".", ".."] {
            assert_eq!(url(&["posts", id]), None, "{id}");
        }
    }

    #[test]
    fn encoded_path_and_query_stay_as_they_are() {
        let client = client("https://api.example/v2/");
        let token = SecretString::from("secret");
        let auth = Auth::token(&token, domain::testing::noon());
        for path in ["posts/urn%3Ali%3A1", "posts?ids=List(1,2)&q=a%3Ab", "posts"] {
            let request = client.call_encoded(auth, Method::GET, path).request.unwrap().build().unwrap();
            assert_eq!(request.url().as_str(), format!("https://api.example/v2/{path}"));
        }
    }

    #[test]
    fn upload_url_of_another_host_is_not_called() {
        let client = client("https://api.example").with_upload_hosts(&["upload.example", ".cdn.example"]);
        let now = domain::testing::noon();
        let token = SecretString::from("secret");
        let is_called = |url: &str| {
            let call = client.upload_to(Auth::token(&token, now), Method::PUT, Url::parse(url).unwrap());
            call.request.is_ok()
        };
        for url in ["https://api.example/u/1", "https://upload.example/1?sig=2", "https://eu.cdn.example/1"] {
            assert!(is_called(url), "{url}");
        }
        for url in [
            "http://upload.example/1",
            "https://upload.example:8443/1",
            "https://upload.example.evil.example/1",
            "https://evilcdn.example/1",
            "https://169.254.169.254/latest",
        ] {
            assert!(!is_called(url), "{url}");
        }
    }

    #[test]
    fn call_without_a_stated_effect_counts_as_the_publish_call() {
        let client = client("https://api.example");
        let token = SecretString::from("secret");
        let auth = Auth::token(&token, domain::testing::noon());
        assert_eq!(client.get(auth, &["posts"]).context.effect, Effect::Read);
        assert_eq!(client.post(auth, &["posts"]).context.effect, Effect::Public);
        assert_eq!(client.call(auth, Method::DELETE, &["posts"]).context.effect, Effect::Public);
    }

    #[test]
    fn html_page_is_not_a_success() {
        assert!(is_page(b"\n<!DOCTYPE html><html>") && is_page(b"<HTML>"));
        assert!(!is_page(b"") && !is_page(b"OK - 1139") && !is_page(b"<?xml version=\"1.0\"?><Response/>"));
    }
}
