//! A typed client of the API: one function for each operation.
//!
//! It reads no files and keeps nothing between calls but connections. Calls
//! that may be made twice are made again when no answer came, a 429 is waited
//! out, and an error says whether something may have happened: see [`Error`].
//!
//! ```text
//! let client = Client::new(http, Base::parse("https://social.example")?, Some(token));
//! let posts = client.list_posts(&ListPosts::default()).await?;
//! println!("{} posts", posts.meta.total);
//! ```

mod base;
mod call;
mod contract;
mod error;
mod key;
mod operations;
mod patience;
mod response;
mod timestamp;
mod upload;

use reqwest::Method;
use reqwest::header::HeaderMap;
use secrecy::SecretString;

pub use self::base::{Base, InvalidBase};
pub use self::contract::*;
pub use self::error::{Error, Refusal};
pub use self::key::{IdempotencyKey, InvalidIdempotencyKey};
pub use self::operations::{ListConnections, ListDeliveries, ListPosts};
pub use self::patience::Patience;
pub use self::response::ApiResponse;
pub use self::timestamp::{PostTime, Timestamp};

use self::call::Call;

/// The API of one deployment, as the owner of one token sees it.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Base,
    token: Option<SecretString>,
    headers: HeaderMap,
    patience: Patience,
}

impl Client {
    /// A client of the deployment at `base`. `http` should follow no redirects: the
    /// token is for this deployment alone.
    pub fn new(http: reqwest::Client, base: Base, token: Option<SecretString>) -> Self {
        Self { http, base, token, headers: HeaderMap::new(), patience: Patience::default() }
    }

    /// The same with another token.
    #[must_use]
    pub fn with_token(self, token: SecretString) -> Self {
        Self { token: Some(token), ..self }
    }

    /// A client that sends these headers with every call.
    #[must_use]
    pub fn with_headers(self, headers: HeaderMap) -> Self {
        Self { headers, ..self }
    }

    /// The same with another patience.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// Where the API is.
    pub fn base(&self) -> &Base {
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
