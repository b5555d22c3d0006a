//! One call of the API, made again where that is safe.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use secrecy::ExposeSecret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::chain;
use crate::{ApiResponse, Client, Error, IdempotencyKey, Patience, Refusal};

/// The most bytes of an answer: a page of a hundred of the largest posts is
/// less.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// A call that is being put together.
pub(crate) struct Call<'a> {
    client: &'a Client,
    method: Method,
    url: Url,
    key: Option<&'a IdempotencyKey>,
    revision: Option<u64>,
    body: Option<String>,
    may_repeat: bool,
}

/// How one attempt ended.
enum Attempt {
    /// 2xx.
    Done { json: String, headers: HeaderMap },
    /// Nothing was sent.
    NotSent(String),
    /// The service would have it later, and did nothing.
    Limited { wait: Option<Duration>, refusal: Refusal },
    /// Nobody knows.
    Unclear { wait: Option<Duration>, why: String },
    /// It said no.
    Refused(Refusal),
}

impl<'a> Call<'a> {
    /// A call that is made again if it is one that changes nothing, or can
    /// only take effect once. A PATCH cannot: what it changed may have been
    /// changed by somebody else since, or have failed and be tried once more.
    pub(crate) fn new(client: &'a Client, method: Method, path: &[&str]) -> Self {
        let may_repeat = method == Method::GET || method == Method::DELETE;
        Self { client, method, url: client.base.join(path), key: None, revision: None, body: None, may_repeat }
    }

    /// Adds a parameter, if there is one.
    pub(crate) fn query(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.url.query_pairs_mut().append_pair(name, &value.to_string());
        }
        self
    }

    /// With a key, a call can be made again.
    pub(crate) fn key(self, key: Option<&'a IdempotencyKey>) -> Self {
        Self { key, may_repeat: self.may_repeat || key.is_some(), ..self }
    }

    /// Changes a post only while it has this revision.
    pub(crate) fn if_match(self, revision: Option<u64>) -> Self {
        Self { revision, ..self }
    }

    /// For a POST that changes nothing.
    pub(crate) fn repeatable(self) -> Self {
        Self { may_repeat: true, ..self }
    }

    /// Sends this.
    pub(crate) fn json(self, body: &impl Serialize) -> Result<Self, Error> {
        // A body that cannot be written was never sent.
        let body = serde_json::to_string(body).map_err(|it| Error::Unreachable(it.to_string()))?;
        Ok(Self { body: Some(body), ..self })
    }

    /// Makes the call and reads its answer.
    pub(crate) async fn read<T: DeserializeOwned>(self) -> Result<ApiResponse<T>, Error> {
        let changes_nothing = self.changes_nothing();
        let (json, headers) = self.make().await?;
        match ApiResponse::read(json, headers.contains_key("idempotent-replayed")) {
            Err(Error::Unreadable(why)) if changes_nothing => Err(Error::Unreachable(why)),
            read => read,
        }
    }

    /// Makes a call that has no answer.
    pub(crate) async fn done(self) -> Result<(), Error> {
        self.make().await.map(drop)
    }

    async fn make(self) -> Result<(String, HeaderMap), Error> {
        let patience = self.client.patience;
        let (mut made, mut limits, mut unclear) = (0, 0, None);
        loop {
            let attempt = self.attempt().await;
            made += 1;
            let may_go_on = made < patience.tries;
            match attempt {
                Attempt::Done { json, headers } => return Ok((json, headers)),
                Attempt::Limited { wait, refusal } => {
                    let wait = wait.unwrap_or(patience.longest_wait);
                    if limits == patience.limits || patience.longest_wait < wait {
                        return Err(self.refused(refusal, unclear));
                    }
                    (made, limits) = (made - 1, limits + 1);
                    tokio::time::sleep(wait).await;
                }
                Attempt::NotSent(_) if may_go_on => tokio::time::sleep(patience.wait_after(made)).await,
                Attempt::NotSent(why) => {
                    return Err(match unclear {
                        Some(before) => self.unknown(before),
                        None => Error::Unreachable(why),
                    });
                }
                Attempt::Unclear { wait, why } => {
                    if !self.may_repeat || !may_go_on {
                        return Err(self.unknown(why));
                    }
                    unclear = Some(why);
                    let asked = wait.filter(|it| *it <= patience.longest_wait).unwrap_or_default();
                    tokio::time::sleep(patience.wait_after(made).max(asked)).await;
                }
                Attempt::Refused(refusal) if refusal.status == 409 && self.key.is_some() && may_go_on => {
                    // The first call with this key is still being answered.
                    tokio::time::sleep(patience.wait_after(made)).await;
                }
                Attempt::Refused(refusal) => {
                    // Gone already, by the call that had no answer.
                    if unclear.is_some() && self.method == Method::DELETE && refusal.status == 404 {
                        return Ok(Default::default());
                    }
                    return Err(self.refused(refusal, unclear));
                }
            }
        }
    }

    /// A refusal, which is the last word unless an earlier call may have taken
    /// effect. With a key, an effect would have been answered again before
    /// anything is found wrong, so then a 422 says that there was none.
    fn refused(&self, refusal: Refusal, unclear: Option<String>) -> Error {
        let is_certain = self.changes_nothing() || self.key.is_some() && refusal.status == 422;
        match unclear {
            Some(why) if !is_certain => Error::Unknown(format!("{why}; asked again: {}", refusal.message)),
            _ if refusal.status == 401 => Error::NotSignedIn(Box::new(refusal)),
            _ => Error::Refused(Box::new(refusal)),
        }
    }

    fn unknown(&self, why: String) -> Error {
        if self.changes_nothing() { Error::Unreachable(why) } else { Error::Unknown(why) }
    }

    /// A GET, or a POST that only asks.
    fn changes_nothing(&self) -> bool {
        self.method == Method::GET || self.method == Method::POST && self.may_repeat && self.key.is_none()
    }

    async fn attempt(&self) -> Attempt {
        let client = self.client;
        let mut request = client.http.request(self.method.clone(), self.url.clone());
        request = request.timeout(client.patience.answer_within).headers(client.headers.clone());
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
                Ok(Some(_)) => return Attempt::Unclear { wait: None, why: "the answer is too large".to_owned() },
                Ok(None) => break,
                Err(error) => return Attempt::Unclear { wait: None, why: chain(error) },
            }
        }
        judge(response.status(), response.headers(), String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What an answer means.
fn judge(status: StatusCode, headers: &HeaderMap, json: String) -> Attempt {
    if status.is_success() {
        return Attempt::Done { json, headers: headers.clone() };
    }
    let wait = Patience::asked_wait(headers);
    let request_id = headers.get("x-request-id").and_then(|it| it.to_str().ok()).map(ToOwned::to_owned);
    let refusal = Refusal::read(status.as_u16(), request_id, json);
    match status {
        StatusCode::TOO_MANY_REQUESTS => Attempt::Limited { wait, refusal },
        it if it.is_server_error() => Attempt::Unclear { wait, why: refusal.message },
        _ => Attempt::Refused(refusal),
    }
}
