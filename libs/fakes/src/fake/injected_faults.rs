//! The faults that a test has ordered.

use std::collections::BTreeMap;

use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::Value;

use crate::conformance::fake_platform::{Call, InjectedFault};

/// Which calls fail next and how, and how many calls of each kind arrived.
#[derive(Debug, Default)]
pub struct InjectedFaults {
    pending: BTreeMap<Call, PendingFault>,
    calls: BTreeMap<Call, usize>,
    scripted: Vec<ScriptedResponse>,
    refusals: BTreeMap<String, (StatusCode, Value)>,
    is_translated: bool,
}

/// A fault of the next `count` calls after `passing` calls without it.
#[derive(Debug)]
struct PendingFault {
    fault: InjectedFault,
    passing: usize,
    count: usize,
}

/// A response that a test has written for calls of this method whose path contains `path`.
#[derive(Debug)]
struct ScriptedResponse {
    method: Method,
    path: String,
    status: u16,
    /// `None` for a page of an intermediary.
    body: Option<Value>,
    remaining: usize,
}

impl InjectedFaults {
    /// Makes the next calls of this kind fail. Replaces an earlier order for this kind.
    pub fn order(&mut self, call: Call, fault: InjectedFault, count: usize) {
        self.pending.insert(call, PendingFault { fault, passing: 0, count });
    }

    /// Like `order`, for the one call after the next `passing` calls of this kind.
    pub fn order_after(&mut self, call: Call, passing: usize, fault: InjectedFault) {
        self.pending.insert(call, PendingFault { fault, passing, count: 1 });
    }

    /// An intermediary responds to the next `count` calls of this method whose path contains `path`
    /// with a page of this status, also to calls without a kind in [`Call`]. These calls are not
    /// counted.
    pub fn block(&mut self, method: Method, path: &str, status: u16, count: usize) {
        self.script(method, path, status, None, count);
    }

    /// Like `block`, with a response of the platform. The body of a redirect is its target.
    pub fn respond_with(&mut self, method: Method, path: &str, status: u16, body: Value, count: usize) {
        self.script(method, path, status, Some(body), count);
    }

    fn script(&mut self, method: Method, path: &str, status: u16, body: Option<Value>, count: usize) {
        self.scripted.push(ScriptedResponse { method, path: path.to_owned(), status, body, remaining: count });
    }

    /// How many calls with scripted responses have not arrived yet.
    pub fn left(&self) -> usize {
        self.scripted.iter().map(|it| it.remaining).sum()
    }

    /// The status and the body of the scripted response to this call.
    pub fn scripted(&mut self, head: &Parts) -> Option<(u16, Option<Value>)> {
        let is_match = |it: &&mut ScriptedResponse| {
            0 < it.remaining && head.method == it.method && head.uri.path().contains(&it.path)
        };
        let response = self.scripted.iter_mut().find(is_match)?;
        response.remaining -= 1;
        Some((response.status, response.body.clone()))
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

    pub fn calls(&self, call: Call) -> usize {
        self.calls.get(&call).copied().unwrap_or_default()
    }

    /// Counts a call. Returns the fault that is ordered for it.
    pub fn meet(&mut self, call: Call) -> Option<InjectedFault> {
        *self.calls.entry(call).or_default() += 1;
        let pending = self.pending.get_mut(&call).filter(|it| it.count != 0)?;
        if let Some(passing) = pending.passing.checked_sub(1) {
            pending.passing = passing;
            return None;
        }
        pending.count -= 1;
        Some(pending.fault)
    }
}
