//! State of the server: its differences, its clock, and its memory.

pub(crate) mod media;
pub(crate) mod statuses;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use axum::extract::State;
use chrono::{DateTime, Utc};
use domain::clock::Clock;

use self::media::Medium;
use self::statuses::Status;
use super::flavor::Differences;
use crate::conformance::fake_platform::Detour;
use crate::fake::echo::Echo;
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::limits::Limits;
use crate::fake::oauth::OAuth;
use crate::fake::request_log::RequestLog;

pub(crate) struct Instance {
    pub(crate) differences: &'static Differences,
    pub(crate) clock: Clock,
    /// Whether its errors repeat the request.
    pub(crate) echo: Echo,
    pub(crate) request_log: RequestLog,
    base_url: OnceLock<String>,
    memory: Mutex<Memory>,
    troubles: Mutex<InjectedFaults>,
}

/// The axum state of handlers.
pub(crate) type InstanceState = State<Arc<Instance>>;

pub(crate) struct Memory {
    pub(crate) oauth: OAuth,
    pub(crate) media: Vec<Medium>,
    /// Oldest first.
    pub(crate) statuses: Vec<Status>,
    /// Id of the status and time of the first use, by `Idempotency-Key`.
    pub(crate) keys: BTreeMap<String, (u64, DateTime<Utc>)>,
    pub(crate) limits: Limits,
    /// Number of polls before a large file is ready.
    pub(crate) polls_until_ready: usize,
    /// The announced issuer (RFC 9207); `None` if the server sends none.
    pub(crate) issuer: Option<String>,
    /// The server to which a hostile server sends its users, and how.
    pub(crate) leads_to: Option<(Detour, String)>,
    /// Domain of the accounts; `None` if it is the server's own host.
    pub(crate) domain: Option<String>,
    pub(crate) visibility: Option<&'static str>,
    /// Whether responses omit the account's default visibility.
    pub(crate) hides_visibility: bool,
    last_id: u64,
}

impl Memory {
    /// An id that is greater than all earlier ids. As in Mastodon, its upper bits are the time.
    pub(crate) fn next_id(&mut self, now: DateTime<Utc>) -> u64 {
        let earliest = u64::try_from(now.timestamp_millis()).unwrap_or_default() << 16;
        self.last_id = earliest.max(self.last_id + 1);
        self.last_id
    }
}

impl Instance {
    pub(crate) fn new(differences: &'static Differences, clock: Clock) -> Self {
        let memory = Memory {
            domain: None,
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

    /// Sets the server's address, once.
    pub(crate) fn is_at(&self, base_url: String) {
        self.base_url.set(base_url).expect("a server is started once");
    }

    /// Without a trailing slash.
    pub(crate) fn base_url(&self) -> &str {
        self.base_url.get().expect("nobody asks before it is started")
    }

    pub(crate) fn domain(&self) -> String {
        let named = self.memory().domain.clone();
        named.unwrap_or_else(|| self.base_url().trim_start_matches("http://").to_owned())
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no handler panicked")
    }

    pub(crate) fn injected_faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.troubles.lock().expect("no handler panicked")
    }
}

impl AsRef<Mutex<InjectedFaults>> for Instance {
    fn as_ref(&self) -> &Mutex<InjectedFaults> {
        &self.troubles
    }
}
