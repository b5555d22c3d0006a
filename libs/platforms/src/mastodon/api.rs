//! The URLs and responses of servers with Mastodon's API. The modules below find a server, request
//! grants, and make calls for statuses.

pub(super) mod discovery;
mod finger;
pub(super) mod oauth;
pub(super) mod statuses;

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use url::Url;

use super::errors::{ERRORS, WHO};
use crate::http_clients::{self, HttpClients};
use crate::kit::{CallError, Effect, ErrorTable};
use crate::response;
use crate::transport_error::TransportError;

/// While an account is connected, a user waits for several calls in a row.
const SHORT: Duration = Duration::from_secs(6);

/// More than a status that contains this service's longest text twice, and escaped.
const MAX_STATUS_BYTES: usize = 1 << 20;

#[derive(Clone, Copy)]
struct Context {
    effect: Effect,
    errors: &'static ErrorTable,
    now: DateTime<Utc>,
}

#[derive(Clone)]
pub(super) struct Api {
    http: HttpClients,
}

impl Api {
    pub(super) fn new(http: HttpClients) -> Self {
        Self { http }
    }

    async fn send(
        &self,
        url: &Url,
        method: Method,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, TransportError> {
        let request = self.http.request_named_host(method, url.clone())?;
        // Without it, Pixelfed returns redirects and pages.
        let request = request.header(http::header::ACCEPT, "application/json");
        Ok(http_clients::send(fill(request)).await?)
    }

    async fn response(
        &self,
        url: &Url,
        method: Method,
        context: Context,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, CallError> {
        let sent = self.send(url, method, fill).await;
        sent.map_err(|it| CallError::from_transport(it, context.effect, WHO))
    }

    async fn read<T: DeserializeOwned>(
        &self,
        url: &Url,
        method: Method,
        context: Context,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<T, CallError> {
        context.expected(self.response(url, method, context, fill).await?, MAX_STATUS_BYTES).await
    }
}

impl Context {
    fn new(effect: Effect, now: DateTime<Utc>) -> Self {
        Self { effect, errors: &ERRORS, now }
    }

    async fn expected<T: DeserializeOwned>(self, response: Response, max_bytes: usize) -> Result<T, CallError> {
        let Self { effect, errors, now } = self;
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_success() {
            let read = response::json_up_to(response, max_bytes).await;
            return read.map_err(|_| {
                let mut error = CallError::unreadable(WHO, effect);
                error.status = Some(status);
                error
            });
        }
        let body = response::body(response).await.unwrap_or_default();
        Err(errors.classify(effect, status, &headers, &body, now))
    }
}

/// Parses an id: short enough for our tables, and without characters that have a meaning in a URL.
fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    const MAX: usize = 200;
    let id = String::deserialize(from)?;
    let is_plain = id.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.'));
    if id.is_empty() || MAX < id.len() || !is_plain {
        return Err(serde::de::Error::custom("not a valid id"));
    }
    Ok(id)
}
