//! A typed client of the API: one function for each operation.
//!
//! It reads no files and keeps nothing between calls except connections. It repeats calls that are
//! safe to repeat when there is no response, waits when a limit is exceeded (429), and its errors
//! state whether something may have happened: see [`Error`].
//!
//! ```text
//! let client = Client::new(http, Base::parse("https://social.example")?, Some(token));
//! let posts = client.list_posts(&ListPosts::default()).await?;
//! println!("{} posts", posts.meta.total);
//! ```

mod base_url;
mod call;
mod download;
mod error;
mod key;
mod operations;
mod response;
mod retry_policy;
mod upload;

use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use secrecy::SecretString;

/// The types of requests and responses. Fields that a later version of the service adds are in
/// [`ApiResponse::json`].
pub use contract::*;

pub use self::base_url::{BaseUrl, InvalidBaseUrl};
pub use self::download::Download;
pub use self::error::{Error, ErrorResponse};
pub use self::key::{IdempotencyKey, InvalidIdempotencyKey};
pub use self::operations::{ListAttempts, ListConnections, ListDeliveries};
pub use self::response::ApiResponse;
pub use self::retry_policy::RetryPolicy;

use self::call::Call;

#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: BaseUrl,
    token: Option<SecretString>,
    headers: HeaderMap,
    retry_policy: RetryPolicy,
    on_limit: Option<fn(Duration)>,
}

impl Client {
    /// `http` should follow no redirects, because the token is for this deployment only.
    pub fn new(http: reqwest::Client, base_url: BaseUrl, token: Option<SecretString>) -> Self {
        let (headers, retry_policy) = (HeaderMap::new(), RetryPolicy::default());
        Self { http, base: base_url, token, headers, retry_policy, on_limit: None }
    }

    #[must_use]
    pub fn with_token(self, token: SecretString) -> Self {
        Self { token: Some(token), ..self }
    }

    #[must_use]
    pub fn with_headers(self, headers: HeaderMap) -> Self {
        Self { headers, ..self }
    }

    #[must_use]
    pub fn with_retry_policy(self, retry_policy: RetryPolicy) -> Self {
        Self { retry_policy, ..self }
    }

    /// Calls `on_limit` before each wait for a limit (429), with the length of the wait.
    #[must_use]
    pub fn with_limit_notice(self, on_limit: fn(Duration)) -> Self {
        Self { on_limit: Some(on_limit), ..self }
    }

    pub fn base(&self) -> &BaseUrl {
        &self.base
    }

    fn get(&self, path: &[&str]) -> Call<'_> {
        Call::new(self, Method::GET, path)
    }

    fn post(&self, path: &[&str]) -> Call<'_> {
        Call::new(self, Method::POST, path)
    }

    fn patch(&self, path: &[&str]) -> Call<'_> {
        Call::new(self, Method::PATCH, path)
    }

    fn delete(&self, path: &[&str]) -> Call<'_> {
        Call::new(self, Method::DELETE, path)
    }
}
