//! A thin client of the REST API that checks every response.
//!
//! Everything that holds for every response (headers, shape of an error body) is checked here, so
//! that each check also verifies it.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use reqwest::{
    Client, Method,
    header::{HeaderMap, HeaderValue},
};
use serde_json::Value;

use crate::{
    error::{Result, TestError},
    http_response::{HttpResponse, shortened},
    moment, shapes,
};

/// A larger body may be refused before the server has read it completely.
const LARGE: usize = 64 * 1024;

/// Does not follow redirects.
///
/// For a deployment on this machine each client has a loopback address of its own, so that one
/// check's limit per address does not affect another check.
pub fn http_client(on_this_machine: bool) -> Result<Client> {
    let builder =
        Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(Duration::from_mins(1)).no_proxy();
    let builder = if on_this_machine {
        let address = IpAddr::V4(unused_loopback_address());
        // Certificates of this machine are self-signed.
        builder.local_address(address).tls_danger_accept_invalid_certs(true)
    } else {
        builder
    };
    Ok(builder.build()?)
}

fn unused_loopback_address() -> Ipv4Addr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Another run within the same minute must not use the same addresses, because limits are
    // counted per address and minute.
    let run = u32::try_from(moment::now().timestamp() / 7 % 200).unwrap_or(0);
    let [_, _, high, low] = (number + 2).to_be_bytes();
    Ipv4Addr::new(127, u8::try_from(run + 20).unwrap_or(20), high, low)
}

#[derive(Clone)]
pub struct Api {
    http: Client,
    base: String,
    token: Option<String>,
}

impl Api {
    pub fn new(http: Client, base: &str) -> Self {
        Self { http, base: base.trim_end_matches('/').to_owned(), token: None }
    }

    /// An empty text sends none.
    #[must_use]
    pub fn with_token(&self, token: Option<&str>) -> Self {
        Self { token: token.map(ToOwned::to_owned), ..self.clone() }
    }

    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap_or_default()
    }

    pub fn call(&self, method: Method, path: &str) -> Call<'_> {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        Call { api: self, method, url, headers: Vec::new(), body: None, patient: true }
    }

    pub async fn get(&self, path: &str) -> Result<HttpResponse> {
        self.call(Method::GET, path).send().await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<HttpResponse> {
        self.call(Method::POST, path).json(body).send().await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Result<HttpResponse> {
        self.call(Method::PATCH, path).json(body).send().await
    }

    pub async fn delete(&self, path: &str) -> Result<HttpResponse> {
        self.call(Method::DELETE, path).send().await
    }
}

pub struct Call<'a> {
    api: &'a Api,
    method: Method,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    patient: bool,
}

impl Call<'_> {
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.raw("application/json", body.to_string().as_bytes())
    }

    /// An empty type sends no `Content-Type`.
    #[must_use]
    pub fn raw(mut self, content_type: &str, body: &[u8]) -> Self {
        self.body = Some(body.to_owned());
        if content_type.is_empty() { self } else { self.header("content-type", content_type) }
    }

    /// Returns a 429 instead of waiting for the next window.
    #[must_use]
    pub fn without_waiting(mut self) -> Self {
        self.patient = false;
        self
    }

    /// Checks what holds for every response.
    pub async fn send(self) -> Result<HttpResponse> {
        loop {
            let response = self.once().await?;
            if response.status == 429 && self.patient {
                tokio::time::sleep(wait_until_reset(&response.headers)).await;
                continue;
            }
            shapes::check_response(&response)?;
            return Ok(response);
        }
    }

    async fn once(&self) -> Result<HttpResponse> {
        let mut request = self.api.http.request(self.method.clone(), &self.url);
        if let Some(token) = &self.api.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in &self.headers {
            // From bytes, because a check may send a value that no correct client would send.
            request = request.header(name, HeaderValue::from_bytes(value.as_bytes())?);
        }
        if let Some(body) = &self.body {
            // A large body may be refused before it was read completely. That ends the connection,
            // so the next request must not use it.
            if LARGE < body.len() {
                request = request.header("connection", "close");
            }
            request = request.body(body.clone());
        }
        let started = Instant::now();
        let response = request
            .send()
            .await
            .map_err(|error| TestError::new(format!("{} {}: {}", self.method, self.url, TestError::from(error))))?;
        Ok(HttpResponse {
            request: self.describe(),
            method: self.method.clone(),
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: String::from_utf8_lossy(&response.bytes().await?).into_owned(),
            took: started.elapsed(),
        })
    }

    fn describe(&self) -> String {
        let body = self.body.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let body = shortened(&body, 600);
        let token = if self.api.token.is_some() { "" } else { " (no token)" };
        format!("{} {}{token} {:?} {body}", self.method, self.url, self.headers)
    }
}

fn wait_until_reset(headers: &HeaderMap) -> Duration {
    let reset = headers.get("x-ratelimit-reset").and_then(|it| it.to_str().ok()?.parse::<i64>().ok());
    let seconds = reset.map_or(5, |it| (it - moment::now().timestamp()).clamp(0, 60) + 1);
    Duration::from_secs(seconds.unsigned_abs())
}
