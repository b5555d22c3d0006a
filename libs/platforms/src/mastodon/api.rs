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

use super::refused::{Failure, Refused};
use crate::answer;
use crate::http_clients::HttpClients;
use crate::no_answer::NoAnswer;

/// For the other calls. While an account is connected a person waits for several
/// of them in a row.
const SHORT: Duration = Duration::from_secs(6);

/// The most of an answer that is read: more than a status takes that has the
/// longest text of this service in it twice, and escaped.
const MAX_STATUS_BYTES: usize = 1 << 20;

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
    ) -> Result<Response, NoAnswer> {
        let request = self.http.to_named(method, url.clone())?;
        // Without it, Pixelfed answers with redirects and pages.
        let request = request.header(http::header::ACCEPT, "application/json");
        Ok(fill(request).send().await?)
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

/// The answer of a call that went well.
async fn expected<T: DeserializeOwned>(response: Response, now: DateTime<Utc>) -> Result<T, Failure> {
    if !response.status().is_success() {
        return Err(Failure::Refused(Refused::read(response, now).await));
    }
    answer::json_up_to(response, MAX_STATUS_BYTES).await.map_err(|_| Failure::Unreadable)
}
