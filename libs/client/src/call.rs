//! One API call, repeated where that is safe.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use secrecy::ExposeSecret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::error::chain;
use crate::{ApiResponse, Client, Error, ErrorResponse, IdempotencyKey, RetryPolicy};

/// The most bytes of a response. A page of a hundred of the largest posts is smaller.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

pub(crate) struct Call<'a> {
    client: &'a Client,
    method: Method,
    url: Url,
    key: Option<&'a IdempotencyKey>,
    revision: Option<u64>,
    body: Option<String>,
    may_repeat: bool,
}

enum Attempt {
    Done {
        json: String,
        headers: HeaderMap,
    },
    NotSent(String),
    /// 429: nothing happened, the service asks to wait.
    Limited {
        wait: Option<Duration>,
        refusal: ErrorResponse,
    },
    /// The outcome is unknown: no response, or a 5xx.
    Unclear {
        wait: Option<Duration>,
        why: String,
    },
    Refused(ErrorResponse),
}

impl<'a> Call<'a> {
    /// Starts a call. It may be repeated if it changes nothing or can take effect only once. A
    /// PATCH may not: another client may have changed the resource in the meantime, or the change
    /// may have failed and been retried.
    pub(crate) fn new(client: &'a Client, method: Method, path: &[&str]) -> Self {
        let may_repeat = method == Method::GET || method == Method::DELETE;
        Self { client, method, url: client.base.join(path), key: None, revision: None, body: None, may_repeat }
    }

    pub(crate) fn query(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.url.query_pairs_mut().append_pair(name, &value.to_string());
        }
        self
    }

    /// Adds the fields of an object as query parameters, except those that are `None`.
    pub(crate) fn parameters(self, fields: &impl Serialize) -> Result<Self, Error> {
        // Parameters that cannot be serialized were never sent.
        let fields = serde_json::to_value(fields).map_err(|it| Error::Unreachable(it.to_string()))?;
        let given = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        Ok(given.fold(self, |call, (name, value)| match value {
            Value::String(text) => call.query(name, Some(text)),
            value => call.query(name, Some(value)),
        }))
    }

    /// With a key, a call may be repeated.
    pub(crate) fn key(self, key: Option<&'a IdempotencyKey>) -> Self {
        Self { key, may_repeat: self.may_repeat || key.is_some(), ..self }
    }

    pub(crate) fn if_match(self, revision: Option<u64>) -> Self {
        Self { revision, ..self }
    }

    /// For a POST that changes nothing.
    pub(crate) fn repeatable(self) -> Self {
        Self { may_repeat: true, ..self }
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Result<Self, Error> {
        // A body that cannot be serialized was never sent.
        let body = serde_json::to_string(body).map_err(|it| Error::Unreachable(it.to_string()))?;
        Ok(Self { body: Some(body), ..self })
    }

    pub(crate) async fn read<T: DeserializeOwned>(self) -> Result<ApiResponse<T>, Error> {
        let is_read_only = self.changes_nothing();
        let (json, headers) = self.make().await?;
        match ApiResponse::read(json, headers.contains_key("idempotent-replayed")) {
            Err(Error::Unreadable(why)) if is_read_only => Err(Error::Unreachable(why)),
            read => read,
        }
    }

    pub(crate) async fn expect_success(self) -> Result<(), Error> {
        self.make().await.map(drop)
    }

    async fn make(self) -> Result<(String, HeaderMap), Error> {
        let retry_policy = self.client.retry_policy;
        let (mut attempts, mut rate_limited, mut unknown_outcome) = (0, 0, None);
        loop {
            let attempt = self.attempt().await;
            attempts += 1;
            let can_retry = attempts < retry_policy.tries;
            match attempt {
                Attempt::Done { json, headers } => return Ok((json, headers)),
                Attempt::Limited { wait, refusal } => {
                    let wait = wait.unwrap_or(retry_policy.longest_wait);
                    if rate_limited == retry_policy.limits || retry_policy.longest_wait < wait {
                        return Err(self.refused(refusal, unknown_outcome));
                    }
                    (attempts, rate_limited) = (attempts - 1, rate_limited + 1);
                    if let Some(on_limit) = self.client.on_limit {
                        on_limit(wait);
                    }
                    tokio::time::sleep(wait).await;
                }
                Attempt::NotSent(_) if can_retry => tokio::time::sleep(retry_policy.wait_after(attempts)).await,
                Attempt::NotSent(why) => {
                    return Err(match unknown_outcome {
                        Some(reason) => self.unknown(reason),
                        None => Error::Unreachable(why),
                    });
                }
                Attempt::Unclear { wait, why } => {
                    if !self.may_repeat || !can_retry {
                        return Err(self.unknown(why));
                    }
                    unknown_outcome = Some(why);
                    let retry_after = wait.filter(|it| *it <= retry_policy.longest_wait).unwrap_or_default();
                    tokio::time::sleep(retry_policy.wait_after(attempts).max(retry_after)).await;
                }
                Attempt::Refused(refusal) if refusal.status == 409 && self.key.is_some() && can_retry => {
                    // The first call with this key is still in progress.
                    tokio::time::sleep(retry_policy.wait_after(attempts)).await;
                }
                Attempt::Refused(refusal) => {
                    // The call without a response has already deleted it.
                    if unknown_outcome.is_some() && self.method == Method::DELETE && refusal.status == 404 {
                        return Ok(Default::default());
                    }
                    return Err(self.refused(refusal, unknown_outcome));
                }
            }
        }
    }

    /// The final error. A refusal is certain unless an earlier call may have taken effect. With a
    /// key, the service replays an earlier success before it validates the request, so a 422 proves
    /// that nothing happened.
    fn refused(&self, refusal: ErrorResponse, unknown_outcome: Option<String>) -> Error {
        let is_certain_refusal = self.changes_nothing() || self.key.is_some() && refusal.status == 422;
        match unknown_outcome {
            Some(why) if !is_certain_refusal => {
                Error::Unknown(format!("{why}; a repeated call returned: {}", refusal.message))
            }
            _ if refusal.status == 401 => Error::NotSignedIn(Box::new(refusal)),
            _ => Error::Refused(Box::new(refusal)),
        }
    }

    fn unknown(&self, why: String) -> Error {
        if self.changes_nothing() { Error::Unreachable(why) } else { Error::Unknown(why) }
    }

    fn changes_nothing(&self) -> bool {
        self.method == Method::GET || self.method == Method::POST && self.may_repeat && self.key.is_none()
    }

    async fn attempt(&self) -> Attempt {
        let client = self.client;
        let mut request = client.http.request(self.method.clone(), self.url.clone());
        request = request.timeout(client.retry_policy.timeout).headers(client.headers.clone());
        if let Some(token) = &client.token {
            request = request.bearer_auth(token.expose_secret());
        }
        if let Some(key) = self.key {
            request = request.header("idempotency-key", key.as_str());
        }
        if let Some(revision) = self.revision {
            request = request.header("if-match", format!("\"{revision}\""));
        }
        if let Some(body) = &self.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() || error.is_builder() => return Attempt::NotSent(chain(error)),
            Err(error) => return Attempt::Unclear { wait: None, why: chain(error) },
        };
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if bytes.len() + chunk.len() <= MAX_ANSWER => bytes.extend_from_slice(&chunk),
                Ok(Some(_)) => return Attempt::Unclear { wait: None, why: "the response is too large".to_owned() },
                Ok(None) => break,
                Err(error) => return Attempt::Unclear { wait: None, why: chain(error) },
            }
        }
        classify(response.status(), response.headers(), String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn classify(status: StatusCode, headers: &HeaderMap, json: String) -> Attempt {
    if status.is_success() {
        return Attempt::Done { json, headers: headers.clone() };
    }
    let wait = RetryPolicy::asked_wait(headers);
    let request_id = headers.get("x-request-id").and_then(|it| it.to_str().ok()).map(ToOwned::to_owned);
    let refusal = ErrorResponse::read(status.as_u16(), request_id, json);
    match status {
        StatusCode::TOO_MANY_REQUESTS => Attempt::Limited { wait, refusal },
        it if it.is_server_error() => Attempt::Unclear { wait, why: refusal.message },
        _ => Attempt::Refused(refusal),
    }
}
