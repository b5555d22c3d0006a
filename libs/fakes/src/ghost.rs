//! Ghost: one site, and one integration with an Admin API key.
//!
//! A small fake. The full test run uses a real Ghost 6, which proves what this one leaves out: the conversion of HTML,
//! sizes of pictures, tags and newsletters, the fields of responses that no adapter reads. Unlike a real site, the fake
//! refuses unknown fields, and content that is not in paragraphs and cards.

mod api_error;
mod fake_platform;
mod posts;
mod routes;
pub mod shown_post;
mod token;
mod uploads;

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use axum::Router;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::clock::Clock;

pub use self::fake_platform::{classify, respond};
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::oauth::Rules;
use crate::fake::server;

/// The Admin API key of the integration: its id, and the secret in hexadecimal.
pub const KEY: (&str, &str) =
    ("64f1c0ffee64f1c0ffee64f1", "8f3b2a51c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071");

/// The slug of the only newsletter.
pub const NEWSLETTER: &str = "tide-tables";

pub struct Ghost {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
struct Memory {
    posts: Vec<Post>,
    /// The bytes of each file, by its path.
    files: BTreeMap<String, Bytes>,
    /// Whether the integration was deleted.
    is_deleted: bool,
    last_id: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Post {
    pub id: String,
    pub title: String,
    pub html: String,
    pub slug: String,
    pub status: String,
    pub visibility: String,
    pub tags: Vec<String>,
    pub custom_excerpt: String,
    pub canonical_url: String,
    pub feature_image: String,
    pub feature_image_alt: String,
    pub newsletter: Option<String>,
    published_at: Option<DateTime<Utc>>,
    updated_at: DateTime<Utc>,
}

impl Ghost {
    pub async fn start(clock: Clock) -> Self {
        let routes = Router::new().fallback(routes::respond);
        Self { fake: Fake::serve("ghost", clock, Rules::STANDARD, Memory::default(), routes).await }
    }

    /// Faults and responses that a test orders.
    pub fn faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// Posts of any status, oldest first.
    pub fn posts(&self) -> Vec<Post> {
        self.fake.memory().posts.clone()
    }

    /// The owner changes the title of all drafts.
    pub fn rename_drafts(&self) {
        let now = self.fake.clock.now();
        for post in self.fake.memory().posts.iter_mut().filter(|it| it.status == "draft") {
            post.title.push('!');
            post.updated_at = now + chrono::TimeDelta::seconds(1);
        }
    }

    pub fn delete_drafts(&self) {
        self.fake.memory().posts.retain(|it| it.status != "draft");
    }
}

impl Memory {
    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}
