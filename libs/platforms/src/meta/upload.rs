//! Files whose bytes are sent to Meta's upload host, which resumes where an upload broke off.
//!
//! Source: `instagram-platform/content-publishing/resumable-uploads`, `video-api/guides/reels-publishing`.

use std::time::Duration;

use domain::media::Attachment;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method};
use reqwest::Body;
use secrecy::ExposeSecret;
use serde::de::IgnoredAny;
use url::Url;

use super::graph::Graph;
use crate::caller::Caller;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::publish_request::PublishRequest;

const HOST: &str = "rupload.facebook.com";

const TIMEOUT: Duration = Duration::from_secs(30);

impl Graph {
    /// Checks an upload URL of a response. The token is sent there, so it has to be Meta's upload
    /// host, or the origin of the API, which receives the token with every call.
    pub(crate) fn upload_url(&self, url: Url) -> Result<Url, CallError> {
        let is_official = url.scheme() == "https" && url.host_str() == Some(HOST) && url.port().is_none();
        let is_api = Url::parse(&self.base_url).is_ok_and(|it| it.origin() == url.origin());
        if (is_official || is_api) && url.username().is_empty() && url.password().is_none() {
            return Ok(url);
        }
        let (title, host) = (self.title(), url.host_str().unwrap_or_default());
        let message = format!("{title} returned an upload URL at {host}, which is not its upload host");
        Err(CallError::new(ErrorKind::Unavailable, Effect::Private, message))
    }

    pub(crate) async fn upload(
        &self,
        call: &PublishRequest<'_>,
        file: &Attachment,
        offset: u64,
        url: &Url,
    ) -> Result<(), CallError> {
        let caller = Caller::for_request(call);
        let bytes = call.files.open_range(file, offset..file.size_bytes).await?;
        let unsent = |message: &str| CallError::new(ErrorKind::NotSent, Effect::Private, message);
        let authorization = HeaderValue::from_str(&format!("OAuth {}", caller.token.expose_secret()));
        let mut authorization = authorization.map_err(|_| unsent("the token is unreadable"))?;
        authorization.set_sensitive(true);
        let builder = self.http.request_known_host(Method::POST, url.clone())?.timeout(TIMEOUT);
        let builder = builder
            .header(AUTHORIZATION, authorization)
            .header("offset", offset)
            .header("file_size", file.size_bytes)
            .header(CONTENT_TYPE, "application/octet-stream")
            // With a length, a stream that ends early is not mistaken for the whole file.
            .header(CONTENT_LENGTH, file.size_bytes - offset)
            .body(Body::wrap_stream(bytes));
        self.json::<IgnoredAny>(builder, caller, Effect::Private).await.map(|_| ())
    }
}
