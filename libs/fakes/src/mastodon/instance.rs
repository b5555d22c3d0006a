//! The server as a whole: its differences, its clock, and what it remembers.

pub(crate) mod media;
pub(crate) mod statuses;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use axum::extract::State;
use chrono::{DateTime, Utc};
use domain::clock::Clock;
use platforms::conformance::fake_platform::Detour;

use self::media::Medium;
use self::statuses::Status;
use super::flavor::Differences;
use crate::fake::echo::Echo;
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::limits::Limits;
use crate::fake::oauth::OAuth;
use crate::fake::request_log::RequestLog;

/// A server.
pub(crate) struct Instance {
    /// What it does in its own way.
    pub(crate) differences: &'static Differences,
    pub(crate) clock: Clock,
    /// Whether its refusals repeat the request.
    pub(crate) echo: Echo,
    /// What it was asked.
    pub(crate) request_log: RequestLog,
    base_url: OnceLock<String>,
    memory: Mutex<Memory>,
    troubles: Mutex<InjectedFaults>,
}

/// The server, as a handler receives it.
pub(crate) type InstanceState = State<Arc<Instance>>;

/// All that a server remembers.
pub(crate) struct Memory {
    pub(crate) oauth: OAuth,
    pub(crate) media: Vec<Medium>,
    /// Oldest first.
    pub(crate) statuses: Vec<Status>,
    /// By `Idempotency-Key`: which status, and since when.
    pub(crate) keys: BTreeMap<String, (u64, DateTime<Utc>)>,
    pub(crate) limits: Limits,
    /// How many times a large file is asked for in vain before it is ready.
    pub(crate) polls_until_ready: usize,
    /// The name that it promises to give in its answers; `None` where it
    /// promises none.
    pub(crate) issuer: Option<String>,
    /// How it leads users to which other server, where it is hostile.
    pub(crate) leads_to: Option<(Detour, String)>,
    /// The least characters of the description of a file.
    pub(crate) least_description: usize,
    /// The domain of its accounts; `None` where that is its address.
    pub(crate) domain: Option<String>,
    /// What the account has set for statuses that say nothing else.
    pub(crate) visibility: Option<&'static str>,
    /// Whether it does not say what the account has set.
    pub(crate) hides_visibility: bool,
    last_id: u64,
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
        let memory = Memory {
            domain: None,
            least_description: 0,
            oauth: OAuth::new(differences.oauth()),
            media: Vec::new(),
            statuses: Vec::new(),
            keys: BTreeMap::new(),
            limits: Limits::default(),
            polls_until_ready: 2,
            issuer: None,
            leads_to: None,
            visibility: None,
            hides_visibility: false,
            last_id: 0,
        };
        let (echo, request_log) = (Echo::default(), RequestLog::default());
        let (base_url, memory, faults) = (OnceLock::new(), Mutex::new(memory), Mutex::default());
        Self { differences, clock, echo, request_log, base_url, memory, troubles: faults }
    }

    /// Tells it, once, at which address it is reached.
    pub(crate) fn is_at(&self, base_url: String) {
        self.base_url.set(base_url).expect("a server is started once");
    }

    /// The address at which it is reached, without a slash at the end.
    pub(crate) fn base_url(&self) -> &str {
        self.base_url.get().expect("nobody asks before it is started")
    }

    /// The domain by which its accounts are named.
    pub(crate) fn domain(&self) -> String {
        let named = self.memory().domain.clone();
        named.unwrap_or_else(|| self.base_url().trim_start_matches("http://").to_owned())
    }

    /// What it remembers.
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no handler panicked")
    }

    /// What a test has ordered.
    pub(crate) fn injected_faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.troubles.lock().expect("no handler panicked")
    }
}

impl AsRef<Mutex<InjectedFaults>> for Instance {
    fn as_ref(&self) -> &Mutex<InjectedFaults> {
        &self.troubles
    }
}
