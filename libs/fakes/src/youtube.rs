//! YouTube: one account with one channel, and an app with the upload quota of a new project.
//!
//! Source: the discovery document of the Data API v3, Google's reference and its guide to resumable uploads,
//! independently of the adapter. Not simulated: most read-only parts, repeated parameters, content owners, scheduled
//! publishing, deletion, and the quota of calls other than uploads.

mod api;
mod fake_platform;
mod lists;
mod routes;
mod uploads;
mod videos;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use chrono::NaiveDate;
use domain::clock::Clock;
use serde_json::Value;

use self::uploads::Session;
pub use self::videos::Video;
use crate::fake::oauth::{Authorizes, Rules};
use crate::fake::server;
use crate::google::oauth;

/// The channel: its id, and its title, which is also the account on the consent page.
pub const CHANNEL: &str = "UCq7Rz2pXvN4cTg0bLhKdW1A";
pub const CHANNEL_TITLE: &str = "Harbor Films";

/// The playlist on the last page of the list.
pub const PLAYLIST: &str = "PLh4rB0rFxTz1K9sVqYw2nDe3Lm5Oc7UaQ";

const RULES: Rules = oauth::rules(&[api::YOUTUBE, api::FORCE_SSL, api::UPLOAD, api::READONLY]);

pub struct Youtube {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
struct Memory {
    videos: Vec<Video>,
    sessions: BTreeMap<String, Session>,
    /// Comment threads, oldest first.
    comments: Vec<Value>,
    /// A day in Pacific time, and the uploads that were begun on it.
    uploads: (NaiveDate, u32),
    is_unaudited: bool,
    stores_little: bool,
    last_number: u32,
}

impl Youtube {
    pub async fn start(clock: Clock) -> Self {
        let routes = oauth::routes::<Fake>().fallback(routes::call).layer(DefaultBodyLimit::disable());
        Self { fake: Fake::serve("youtube", clock, RULES, Memory::default(), routes).await }
    }

    /// The next call to a path with this prefix gets this response.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.fake.injected_faults().refuse(path, status, body);
    }

    /// The project has not passed the audit: from now on, videos stay private.
    pub fn lock_videos(&self) {
        self.fake.memory().is_unaudited = true;
    }

    /// From now on, only the first 256 KiB of each part that is sent are stored.
    pub fn store_little(&self) {
        self.fake.memory().stores_little = true;
    }

    /// A person changes a field of the part `status` of every video by hand.
    pub fn edit_status(&self, field: &str, value: &Value) {
        let mut memory = self.fake.memory();
        for Video { id, mut parts, .. } in memory.videos.clone() {
            parts["status"][field] = value.clone();
            memory.write(&id, parts);
        }
    }

    /// A person deletes every video by hand.
    pub fn delete_videos(&self) {
        self.fake.memory().videos.clear();
    }

    pub fn end_sessions(&self) {
        self.fake.memory().sessions.clear();
    }

    /// All videos, also private ones, oldest first.
    pub fn videos(&self) -> Vec<Video> {
        self.fake.memory().videos.clone()
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[CHANNEL_TITLE]
    }
}

impl Memory {
    fn next(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
    }
}
