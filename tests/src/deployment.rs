//! The deployment under test and its users.

mod user;

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use reqwest::Client;
use serde_json::{Value, json};

pub use self::user::{User, complete_consent, targets};
use crate::{
    aws::{PASSWORD, UserPool},
    browser::{Browser, Page},
    client::{Api, http_client},
    ensure,
    error::{Result, TestError},
    harness::Ready,
    http_response::{integer, list, text},
    moment,
};

pub const SCOPES: [&str; 8] = [
    "user:read",
    "connections:read",
    "connections:write",
    "posts:read",
    "posts:write",
    "posts:draft",
    "media:write",
    "webhooks:write",
];

pub struct Deployment {
    ready: Ready,
    on_this_machine: bool,
    signs_anyone_in: bool,
    is_behind_a_gateway: bool,
    http: Client,
    sandbox: String,
    user_pool: Option<UserPool>,
    files: Option<SocketAddr>,
}

#[derive(Debug, Clone)]
pub struct Device {
    pub device_code: String,
    pub user_code: String,
    /// The approval page with the code filled in.
    pub complete: String,
}

impl Deployment {
    pub async fn new(ready: Ready) -> Result<Self> {
        let host = url::Url::parse(&ready.origin)?.host_str().unwrap_or_default().to_owned();
        let on_this_machine = host == "localhost" || host.starts_with("127.");
        let http = http_client(on_this_machine)?;
        let page = Browser::new(http.clone()).open(&format!("{}/device", ready.origin)).await?;
        let signs_anyone_in = page.form_with_button("Sign in").is_some() && page.form_with_field("password").is_none();
        let sandbox = ready.origin.clone();
        let response = http.get(format!("{}/user", ready.base_url)).send().await?;
        let is_behind_a_gateway = response.headers().contains_key("apigw-requestid");
        let (user_pool, files) = (None, None);
        Ok(Self { ready, on_this_machine, signs_anyone_in, is_behind_a_gateway, http, sandbox, user_pool, files })
    }

    /// If it is not the service's own.
    #[must_use]
    pub fn with_sandbox(self, origin: String) -> Self {
        Self { sandbox: origin, ..self }
    }

    /// Users are created in the pool, so that anyone can sign in.
    #[must_use]
    pub fn with_user_pool(self, user_pool: UserPool) -> Self {
        Self { user_pool: Some(user_pool), signs_anyone_in: true, ..self }
    }

    pub fn sandbox(&self) -> &str {
        &self.sandbox
    }

    #[must_use]
    pub fn with_files(self, files: SocketAddr) -> Self {
        Self { files: Some(files), ..self }
    }

    pub fn files(&self) -> Option<SocketAddr> {
        self.files
    }

    pub fn origin(&self) -> &str {
        &self.ready.origin
    }

    pub fn base(&self) -> &str {
        &self.ready.base_url
    }

    /// As on AWS.
    pub fn is_behind_a_gateway(&self) -> bool {
        self.is_behind_a_gateway
    }

    /// Given for the deployment.
    pub fn token(&self) -> &str {
        &self.ready.token
    }

    pub fn http(&self) -> &Client {
        &self.http
    }

    /// Has no token, and an unused address.
    pub fn stranger(&self) -> Result<Api> {
        Ok(Api::new(http_client(self.on_this_machine)?, &self.ready.base_url))
    }

    /// Has no cookies, and an unused address.
    pub fn browser(&self) -> Result<Browser> {
        Ok(Browser::new(http_client(self.on_this_machine)?))
    }

    /// A new one where the deployment signs anyone in.
    pub async fn user(&self) -> Result<User<'_>> {
        if self.signs_anyone_in {
            return self.new_user().await;
        }
        let api = self.stranger()?.with_token(Some(&self.ready.token));
        User::from_token(self, api, self.browser()?).await
    }

    pub async fn new_user(&self) -> Result<User<'_>> {
        self.new_user_with(&[]).await
    }

    pub async fn new_user_with(&self, scopes: &[&str]) -> Result<User<'_>> {
        let mut browser = self.browser()?;
        let email = unique_email();
        let api = self.grant(&mut browser, &email, scopes).await?;
        let mut user = User::from_token(self, api, browser).await?;
        user.email = email;
        Ok(user)
    }

    /// Completes the device flow.
    pub async fn grant(&self, browser: &mut Browser, email: &str, scopes: &[&str]) -> Result<Api> {
        self.grant_after(browser, email, scopes, &[]).await
    }

    /// The user limits the token to a profile.
    pub async fn limited_grant(&self, browser: &mut Browser, email: &str, profile: i64) -> Result<Api> {
        self.grant_after(browser, email, &[], &[("profile", &profile.to_string())]).await
    }

    /// Completes the device flow with these entries on the approval page.
    async fn grant_after(
        &self,
        browser: &mut Browser,
        email: &str,
        scopes: &[&str],
        fill: &[(&str, &str)],
    ) -> Result<Api> {
        let api = self.stranger()?;
        let device = self.device(&api, scopes).await?;
        let page = self.approval(browser, &device, email).await?;
        browser.press(&page, "Approve", fill).await?;
        let body = json!({ "device_code": device.device_code });
        let granted = api.post("/auth/device/token", &body).await?.ok(200)?;
        Ok(api.with_token(Some(text(&granted, "access_token")?)))
    }

    /// Opens the link of a device as this user and enters its code. The page shows what the device
    /// asks for.
    pub async fn approval(&self, browser: &mut Browser, device: &Device, email: &str) -> Result<Page> {
        let page = self.sign_in(browser, &device.complete, email).await?;
        browser.press(&page, "Continue", &[]).await
    }

    pub async fn device(&self, api: &Api, scopes: &[&str]) -> Result<Device> {
        let body = if scopes.is_empty() { json!({}) } else { json!({ "scopes": scopes }) };
        let response = api.post("/auth/device/code", &body).await?.ok(201)?;
        Ok(Device {
            device_code: text(&response, "device_code")?.to_owned(),
            user_code: text(&response, "user_code")?.to_owned(),
            complete: text(&response, "verification_uri_complete")?.to_owned(),
        })
    }

    /// Signs in only if necessary.
    pub async fn sign_in(&self, browser: &mut Browser, address: &str, email: &str) -> Result<Page> {
        let page = browser.open(address).await?;
        self.sign_in_if_asked(browser, page, email).await
    }

    pub async fn sign_in_if_asked(&self, browser: &mut Browser, page: Page, email: &str) -> Result<Page> {
        let mut page = page;
        for _ in 0..4 {
            if page.form_with_button("Sign in").is_none() {
                return Ok(page);
            }
            let fields: &[_] = match &self.user_pool {
                Some(pool) => {
                    pool.join(email).await?;
                    &[("username", email), ("password", PASSWORD)]
                }
                None => &[("email", email)],
            };
            page = browser.press(&page, "Sign in", fields).await?;
        }
        Err(page.test_error("signing in never ends"))
    }

    /// With exactly this text.
    pub async fn timeline(&self, content: &str) -> Result<Vec<Value>> {
        let all = self.all_posts().await?;
        Ok(all.into_iter().filter(|it| it["text"] == content).collect())
    }

    pub async fn all_posts(&self) -> Result<Vec<Value>> {
        let response = self.http.get(format!("{}/sandbox/posts.json", self.sandbox)).send().await?;
        let all: Value = serde_json::from_str(&response.text().await?)?;
        Ok(list(&json!({ "posts": all }), "posts")?.to_vec())
    }

    /// With exactly this text.
    pub async fn comments(&self, content: &str) -> Result<Vec<Value>> {
        let response = self.http.get(format!("{}/sandbox/comments.json", self.sandbox)).send().await?;
        let all: Vec<Value> = serde_json::from_str(&response.text().await?)?;
        Ok(all.into_iter().filter(|it| it["text"] == content).collect())
    }

    pub async fn appears(&self, content: &str, seconds: u64) -> Result<Value> {
        let what = format!("“{content}” on the sandbox timeline");
        moment::eventually(Duration::from_secs(seconds), &what, || async {
            Ok(self.timeline(content).await?.into_iter().next())
        })
        .await
    }

    /// Such as `{"account": "meadow", "kind": "slow", "delay_ms": 500}`.
    pub async fn arm(&self, fault: &Value) -> Result {
        let response = self
            .http
            .post(format!("{}/sandbox/faults", self.sandbox))
            .header("content-type", "application/json")
            .body(fault.to_string())
            .send()
            .await?;
        let status = response.status();
        ensure!(status.is_success(), "POST /sandbox/faults {fault}: {status} {}", response.text().await?);
        Ok(())
    }

    pub async fn disarm(&self, account: &str) -> Result {
        let url = format!("{}/sandbox/faults?account={account}", self.sandbox);
        let response = self.http.delete(url).send().await?;
        ensure!(response.status().is_success(), "DELETE /sandbox/faults: {}", response.status());
        Ok(())
    }

    pub async fn requests_per_minute(&self) -> Result<i64> {
        let response = self.stranger()?.post("/auth/device/code", &json!({})).await?;
        integer(&json!({ "limit": response.header("x-ratelimit-limit").parse::<i64>().ok() }), "limit")
    }
}

pub fn unique_email() -> String {
    format!("{}@example.com", fresh("check"))
}

/// A text that occurs nowhere else.
pub fn fresh(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let run = moment::now().timestamp_micros();
    format!("{prefix} {run} {}", NEXT.fetch_add(1, Ordering::Relaxed)).replace(' ', "-")
}

pub fn missing(what: &str) -> TestError {
    TestError::new(format!("{what} is missing"))
}
