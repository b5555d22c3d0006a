//! The addresses and answers of servers that speak Mastodon's API: finding a
//! server, calls for grants and calls for statuses are below.

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

/// For the other calls. While an account is connected a person waits for several
/// of them in a row.
const SHORT: Duration = Duration::from_secs(6);

/// The most of an answer that is read: more than a status takes that has the
/// longest text of this service in it twice, and escaped.
const MAX_STATUS_BYTES: usize = 1 << 20;

/// What decides the meaning of a failed call.
#[derive(Clone, Copy)]
struct Context {
    effect: Effect,
    errors: &'static ErrorTable,
    now: DateTime<Utc>,
}

/// The HTTP API of any server.
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
        let request = self.http.to_named(method, url.clone())?;
        // Without it, Pixelfed answers with redirects and pages.
        let request = request.header(http::header::ACCEPT, "application/json");
        Ok(http_clients::send(fill(request)).await?)
    }

    /// The response, whatever its status.
    async fn response(
        &self,
        url: &Url,
        method: Method,
        context: Context,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, CallError> {
        let sent = self.send(url, method, fill).await;
        sent.map_err(|it| CallError::of_transport(it, context.effect, WHO))
    }

    /// The response of success, as JSON.
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

    /// The response of a call that went well.
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

/// Reads an id of a server: short enough for our tables, and without characters
/// that have a meaning in an address.
fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    const MAX: usize = 200;
    let id = String::deserialize(from)?;
    let is_plain = id.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.'));
    if id.is_empty() || MAX < id.len() || !is_plain {
        return Err(serde::de::Error::custom("an id that is none"));
    }
    Ok(id)
}
