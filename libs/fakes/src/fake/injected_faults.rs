//! The faults that a test has ordered.

use std::collections::BTreeMap;

use http::request::Parts;
use http::{Method, StatusCode};
use platforms::conformance::fake_platform::{Call, InjectedFault};
use serde_json::Value;

/// Which calls fail next and how, and how many calls of each kind arrived.
#[derive(Debug, Default)]
pub struct InjectedFaults {
    pending: BTreeMap<Call, (InjectedFault, usize)>,
    calls: BTreeMap<Call, usize>,
    blocked: Option<BlockedCalls>,
    refusals: BTreeMap<String, (StatusCode, Value)>,
    is_translated: bool,
}

/// Calls to which an intermediary responds in place of the platform.
#[derive(Debug)]
struct BlockedCalls {
    method: Method,
    path: String,
    status: u16,
    remaining: usize,
}

impl InjectedFaults {
    /// Makes the next calls of this kind fail. Replaces an earlier order for this kind.
    pub fn order(&mut self, call: Call, fault: InjectedFault, count: usize) {
        self.pending.insert(call, (fault, count));
    }

    /// An intermediary responds to the next `count` calls of this method whose path contains `path`
    /// with a page of this status, also to calls without a kind in [`Call`]. These calls are not
    /// counted.
    pub fn block(&mut self, method: Method, path: &str, status: u16, count: usize) {
        self.blocked = Some(BlockedCalls { method, path: path.to_owned(), status, remaining: count });
    }

    /// How many calls that are to be blocked have not arrived yet.
    pub fn left(&self) -> usize {
        self.blocked.as_ref().map_or(0, |it| it.remaining)
    }

    /// The status of the intermediary's response to this call; `None` if the call is not blocked.
    pub fn blocks(&mut self, head: &Parts) -> Option<u16> {
        let blocked = self.blocked.as_mut().filter(|it| 0 < it.remaining)?;
        let is_match = head.method == blocked.method && head.uri.path().contains(&blocked.path);
        blocked.remaining -= usize::from(is_match);
        is_match.then_some(blocked.status)
    }

    /// The platform itself refuses the next call whose path starts with `path`, with this status
    /// and body. A handler reads the order with `refusal` after it has accepted the token.
    pub fn refuse(&mut self, path: &str, status: u16, body: Value) {
        let status = StatusCode::from_u16(status).expect("a test orders statuses that exist");
        self.refusals.insert(path.to_owned(), (status, body));
    }

    /// The ordered refusal of a call to this path. Removes the order.
    pub fn refusal(&mut self, path: &str) -> Option<(StatusCode, Value)> {
        let ordered = self.refusals.keys().find(|it| path.starts_with(it.as_str())).cloned()?;
        self.refusals.remove(&ordered)
    }

    /// From now on the messages of error responses are in another language.
    pub fn translate(&mut self) {
        self.is_translated = true;
    }

    /// `pointers` if messages are translated, else none.
    pub fn translated(&self, pointers: &'static [&'static str]) -> &'static [&'static str] {
        if self.is_translated { pointers } else { &[] }
    }

    /// How many calls of this kind arrived.
    pub fn calls(&self, call: Call) -> usize {
        self.calls.get(&call).copied().unwrap_or_default()
    }

    /// Counts a call. Returns the fault that is ordered for it.
    pub fn meet(&mut self, call: Call) -> Option<InjectedFault> {
        *self.calls.entry(call).or_default() += 1;
        let (fault, count) = self.pending.get_mut(&call).filter(|(_, count)| *count != 0)?;
        *count -= 1;
        Some(*fault)
    }
}
