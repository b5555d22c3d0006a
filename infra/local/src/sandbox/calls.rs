//! The calls of the API with their responses, for the pages that show what happened. Nothing else
//! depends on them.

use std::collections::VecDeque;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SandboxError;
use super::accounts::Account;
use super::fault_kind::FaultKind;
use super::journal::Journal;
use super::operation::Operation;

/// The latest calls that are remembered.
const KEPT: usize = 20_000;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Call {
    /// Counted from 1.
    pub(crate) number: u64,
    #[serde(rename = "what")]
    pub(crate) operation: Operation,
    /// When it came in.
    pub(crate) at: DateTime<Utc>,
    /// On whose behalf, once that is known.
    pub(crate) account: Option<Account>,
    /// The reference that the client gave its post, and looks for it by.
    pub(crate) reference: Option<String>,
    /// The fault that struck it.
    pub(crate) fault: Option<FaultKind>,
    /// The id of the post that it made public.
    pub(crate) made: Option<String>,
    /// How it ended; `None` while it has not.
    pub(crate) end: Option<End>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct End {
    /// When it ended. If it ended with its process, when that was noticed.
    pub(crate) at: DateTime<Utc>,
    pub(crate) how: CallEnd,
}

/// What the client learned.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallEnd {
    /// An answer.
    Answered { status: u16, text: String },
    /// The connection was cut by a fault.
    Cut,
    /// The client hung up before the answer.
    HungUp,
    /// The process ended before the answer.
    Died,
}

impl Call {
    pub(crate) fn how(&self) -> Option<&CallEnd> {
        self.end.as_ref().map(|it| &it.how)
    }
}

/// The latest calls, and the file that remembers them.
pub(super) struct Calls {
    journal: Option<Journal>,
    kept: VecDeque<Call>,
}

impl Calls {
    /// Calls that are forgotten at the end.
    pub(super) fn in_memory() -> Self {
        Self { journal: None, kept: VecDeque::new() }
    }

    /// The calls that the file at `path` tells of. Those without an end died
    /// with the process that they were made to.
    pub(super) fn open(path: &Path, now: DateTime<Utc>) -> Result<Self, SandboxError> {
        let mut calls = Self::in_memory();
        calls.journal = Some(Journal::open(path, |line: Value| {
            // A line that another version wrote is passed over: nothing depends
            // on old calls.
            if let Ok(call) = serde_json::from_value(line) {
                calls.remember(call);
            }
        })?);
        for call in &mut calls.kept {
            call.end.get_or_insert(End { at: now, how: CallEnd::Died });
        }
        Ok(calls)
    }

    /// A call that comes in now.
    pub(super) fn begin(&mut self, operation: Operation, at: DateTime<Utc>) -> u64 {
        let number = self.kept.back().map_or(1, |it| it.number + 1);
        let call = Call { number, operation, at, account: None, reference: None, fault: None, made: None, end: None };
        self.remember(call);
        number
    }

    /// Changes a call that is still remembered.
    pub(super) fn change(&mut self, number: u64, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.find(number) {
            change(call);
        }
    }

    /// Writes down what is known of a call by now.
    pub(super) fn write(&mut self, number: u64) {
        let Some(call) = self.find(number).cloned() else { return };
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.append(&call)
        {
            tracing::warn!(%error, "a call of the sandbox could not be recorded");
        }
    }

    /// The calls that are remembered, in the order in which they came.
    pub(super) fn all(&self) -> impl Iterator<Item = &Call> {
        self.kept.iter()
    }

    /// Numbers grow, but some are missing after a restart: a call is written down
    /// only once it is known what it is about.
    fn find(&mut self, number: u64) -> Option<&mut Call> {
        let at = self.kept.binary_search_by_key(&number, |it| it.number).ok()?;
        self.kept.get_mut(at)
    }

    fn remember(&mut self, call: Call) {
        match self.kept.binary_search_by_key(&call.number, |it| it.number) {
            Ok(at) => self.kept[at] = call,
            Err(at) => self.kept.insert(at, call),
        }
        if KEPT < self.kept.len() {
            self.kept.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn answered(call: &mut Call) {
        let how = CallEnd::Answered { status: 201, text: "post 1".to_owned() };
        call.end = Some(End { at: call.at, how });
    }

    #[test]
    fn a_call_cut_off_by_the_end_of_the_process_is_marked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        let at = DateTime::UNIX_EPOCH;
        let mut calls = Calls::open(&path, at).unwrap();
        for ends in [true, false] {
            let number = calls.begin(Operation::Publish, at);
            calls.change(number, |it| it.reference = Some("r".to_owned()));
            calls.write(number);
            if ends {
                calls.change(number, answered);
                calls.write(number);
            }
        }
        drop(calls);

        let later = at + TimeDelta::seconds(9);
        let mut calls = Calls::open(&path, later).unwrap();

        let ends: Vec<_> = calls.all().map(|it| it.how().cloned().unwrap()).collect();
        assert!(matches!(ends[..], [CallEnd::Answered { .. }, CallEnd::Died]), "{ends:?}");
        assert_eq!(calls.begin(Operation::LookUp, later), 3);
    }

    #[test]
    fn unreadable_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        std::fs::write(&path, "{\"number\":1,\"what\":\"dance\"}\n").unwrap();

        assert_eq!(Calls::open(&path, DateTime::UNIX_EPOCH).unwrap().all().count(), 0);
    }

    #[test]
    fn only_the_latest_calls_are_kept() {
        let mut calls = Calls::in_memory();
        for _ in 0..KEPT + 3 {
            calls.begin(Operation::LookUp, DateTime::UNIX_EPOCH);
        }
        calls.change(1, |_| panic!("it is forgotten"));

        assert_eq!(calls.all().next().map(|it| it.number), Some(4));
    }
}
