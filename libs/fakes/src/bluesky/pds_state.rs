//! State of the servers between requests.

pub(super) mod blobs;
pub(super) mod client;
pub(super) mod grants;
pub(super) mod others;
pub(super) mod parts;
pub(super) mod passwords;
pub(super) mod repo;
pub(super) mod requests;
pub(super) mod videos;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use domain::clock::Clock;
use serde_json::Value;

use self::blobs::Blobs;
use self::grants::Grants;
use self::others::OtherRecords;
use self::passwords::Passwords;
use self::repo::Repo;
use self::requests::Requests;
use self::videos::Videos;
use super::account::Account;
use super::jose::{self, Key};
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::limits::Limits;

pub(super) type Shared = Arc<PdsState>;

/// State that all servers share.
pub(super) struct PdsState {
    pub(super) clock: Clock,
    /// Signs the tokens that the servers issue, and service tokens of the account.
    pub(super) key: Key,
    /// The secret that nonces are derived from.
    pub(super) secret: String,
    origins: OnceLock<Origins>,
    state: Mutex<State>,
    pub(super) troubles: Mutex<InjectedFaults>,
}

/// Origins of the servers, known once they listen.
struct Origins {
    pds: String,
    issuer: String,
}

/// The mutable state.
#[derive(Default)]
pub(super) struct State {
    pub(super) account: Account,
    /// Whether the server is one from before granular scopes.
    pub(super) knows_no_narrow_scopes: bool,
    /// Whether the server is one from before galleries and `blobUploadLimit`.
    pub(super) knows_no_galleries: bool,
    /// Client documents, by URL.
    pub(super) clients: BTreeMap<String, Value>,
    /// Used single-use values: `jti`s of proofs and assertions, PKCE challenges.
    pub(super) said: HashSet<String>,
    pub(super) requests: Requests,
    pub(super) grants: Grants,
    pub(super) passwords: Passwords,
    pub(super) repo: Repo,
    pub(super) others: OtherRecords,
    pub(super) blobs: Blobs,
    pub(super) videos: Videos,
    pub(super) limits: Limits,
}

impl State {
    /// Records a use; returns whether it was the first.
    pub(super) fn is_first_use(&mut self, kind: &str, what: &str) -> bool {
        self.said.insert(format!("{kind} {what}"))
    }
}

impl PdsState {
    pub(super) fn new(clock: Clock) -> Self {
        let (origins, state, faults) = (OnceLock::new(), Mutex::default(), Mutex::default());
        Self { clock, key: Key::new(), secret: jose::random(""), origins, state, troubles: faults }
    }

    /// Sets the origins of the servers.
    pub(super) fn settle(&self, pds: &str, issuer: &str) {
        let origins = Origins { pds: pds.to_owned(), issuer: issuer.to_owned() };
        assert!(self.origins.set(origins).is_ok(), "the servers start once");
    }

    pub(super) fn pds(&self) -> &str {
        &self.origins().pds
    }

    pub(super) fn issuer(&self) -> &str {
        &self.origins().issuer
    }

    /// The data server's DID: its host, without the port.
    pub(super) fn pds_did(&self) -> String {
        let url = url::Url::parse(self.pds()).expect("an origin is a URL");
        format!("did:web:{}", url.host_str().expect("an origin has a host"))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A request that panicked has failed its test; other requests continue.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn injected_faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds since 1970.
    pub(super) fn seconds(&self) -> i64 {
        self.clock.now().timestamp()
    }

    fn origins(&self) -> &Origins {
        self.origins.get().expect("the servers have started")
    }
}
