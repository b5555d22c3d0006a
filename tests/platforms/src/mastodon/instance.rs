//! The server as a whole: what it remembers, and how it describes itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use axum::Json;
use axum::extract::State;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use domain::clock::Clock;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::account;
use super::apps::App;
use super::flavour::{Differences, InstanceApi};
use super::front::{Limits, Troubles};
use super::media::{self, Medium};
use super::oauth::{Code, Grant};
use super::refusal::Refusal;
use super::statuses::Status;

/// A server.
pub(crate) struct Instance {
    /// What it does in its own way.
    pub(crate) differences: &'static Differences,
    /// Its clock.
    pub(crate) clock: Clock,
    base_url: OnceLock<String>,
    memory: Mutex<Memory>,
}

/// How a handler gets it.
pub(crate) type Here = State<Arc<Instance>>;

/// All that a server remembers.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) apps: Vec<App>,
    pub(crate) codes: Vec<Code>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) media: Vec<Medium>,
    /// Oldest first.
    pub(crate) statuses: Vec<Status>,
    /// By `Idempotency-Key`: which status, and since when.
    pub(crate) keys: BTreeMap<String, (u64, DateTime<Utc>)>,
    pub(crate) limits: Limits,
    pub(crate) troubles: Troubles,
    /// How often a large file is asked for before it is ready.
    pub(crate) polls_until_ready: usize,
    last_id: u64,
    secrets: u64,
}

impl Memory {
    /// An id that is greater than all before. Its upper bits are the time, as in Mastodon.
    pub(crate) fn next_id(&mut self, now: DateTime<Utc>) -> u64 {
        let earliest = u64::try_from(now.timestamp_millis()).unwrap_or_default() << 16;
        self.last_id = earliest.max(self.last_id + 1);
        self.last_id
    }
}

impl Instance {
    /// An empty one.
    pub(crate) fn new(differences: &'static Differences, clock: Clock) -> Self {
        let memory = Memory { polls_until_ready: 2, ..Memory::default() };
        Self { differences, clock, base_url: OnceLock::new(), memory: Mutex::new(memory) }
    }

    /// Says where it is met, once.
    pub(crate) fn is_at(&self, base_url: String) {
        self.base_url.set(base_url).expect("a server is started once");
    }

    /// Where it is met, without a slash at the end.
    pub(crate) fn base_url(&self) -> &str {
        self.base_url.get().expect("nobody asks before it is started")
    }

    /// What it remembers.
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no handler panicked")
    }

    /// A string that no other server gives out.
    pub(crate) fn secret(&self, memory: &mut Memory) -> String {
        memory.secrets += 1;
        URL_SAFE_NO_PAD.encode(Sha256::digest(format!("{} {}", self.base_url(), memory.secrets)))
    }
}

/// `GET /api/v2/instance`
pub(crate) async fn second(State(here): Here) -> Result<Json<Value>, Refusal> {
    let differences = here.differences;
    if differences.instance != InstanceApi::Both {
        return Err(Refusal::not_found());
    }
    let mut instance = Map::from_iter([
        ("domain".to_owned(), json!(account::HOST)),
        ("title".to_owned(), json!("Harbour")),
        ("version".to_owned(), json!(differences.version)),
        ("description".to_owned(), json!("Ships and lights.")),
        ("languages".to_owned(), json!(["en"])),
        ("configuration".to_owned(), configuration(differences)),
        ("registrations".to_owned(), json!({"enabled": false, "approval_required": false, "message": null})),
        ("rules".to_owned(), json!([])),
    ]);
    if let Some(source_url) = differences.source_url {
        instance.insert("source_url".to_owned(), json!(source_url));
    }
    if let Some(version) = differences.api_version {
        instance.insert("api_versions".to_owned(), json!({"mastodon": version}));
    }
    Ok(Json(instance.into()))
}

/// `GET /api/v1/instance`
pub(crate) async fn first(State(here): Here) -> Json<Value> {
    let differences = here.differences;
    let mut instance = json!({
        "uri": account::HOST,
        "title": "Harbour",
        "short_description": "Ships and lights.",
        "version": differences.version,
        "languages": ["en"],
        "registrations": false,
        "rules": [],
    });
    if differences.instance == InstanceApi::FirstWithLimits {
        instance["max_toot_chars"] = json!(differences.max_characters);
        instance["upload_limit"] = json!(differences.video_limit);
    } else {
        instance["configuration"] = configuration(differences);
    }
    Json(instance)
}

fn configuration(differences: &Differences) -> Value {
    json!({
        "statuses": {
            "max_characters": differences.max_characters,
            "max_media_attachments": differences.max_media,
            "characters_reserved_per_url": differences.told_url_characters,
        },
        "media_attachments": {
            "supported_mime_types": media::TYPES,
            "description_limit": media::DESCRIPTION_LIMIT,
            "image_size_limit": differences.image_limit,
            "image_matrix_limit": 33_177_600,
            "video_size_limit": differences.video_limit,
            "video_frame_rate_limit": 120,
            "video_matrix_limit": 8_294_400,
        },
        "polls": {"max_options": 4, "max_characters_per_option": 50, "min_expiration": 300, "max_expiration": 2_629_746},
    })
}
