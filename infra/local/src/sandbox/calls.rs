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

/// Maximum number of calls kept.
const KEPT: usize = 20_000;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Call {
    /// Counted from 1.
    pub(crate) number: u64,
    #[serde(rename = "what")]
    pub(crate) operation: Operation,
    pub(crate) at: DateTime<Utc>,
    /// The account of the call, once it is known.
    pub(crate) account: Option<Account>,
    /// The client's reference of the post, for publish calls and look-ups.
    pub(crate) reference: Option<String>,
    /// The fault that was injected into the call.
    pub(crate) fault: Option<FaultKind>,
    /// The id of the post that the call published.
    pub(crate) made: Option<String>,
    /// The end of the call; `None` while the call is in progress.
    pub(crate) end: Option<End>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct End {
    /// The end of the call. If the process died during the call, the time at which the next process
    /// noticed that.
    pub(crate) at: DateTime<Utc>,
    pub(crate) how: CallEnd,
}

/// How a call ended for the client.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallEnd {
    /// The client received a response.
    Answered { status: u16, text: String },
    /// A fault cut the connection.
    Cut,
    /// The client closed the connection before the response.
    HungUp,
    /// The process ended before the response.
    Died,
}

impl Call {
    pub(crate) fn how(&self) -> Option<&CallEnd> {
        self.end.as_ref().map(|it| &it.how)
    }
}

/// The latest calls, and the file that stores them.
pub(super) struct Calls {
    journal: Option<Journal>,
    kept: VecDeque<Call>,
}

impl Calls {
    /// Calls that are not stored in a file.
    pub(super) fn in_memory() -> Self {
        Self { journal: None, kept: VecDeque::new() }
    }

    /// Reads the calls from the file at `path`. Calls without an end died with the process that
    /// received them.
    pub(super) fn open(path: &Path, now: DateTime<Utc>) -> Result<Self, SandboxError> {
        let mut calls = Self::in_memory();
        calls.journal = Some(Journal::open(path, |line: Value| {
            // A line that another version wrote is skipped: nothing depends on old calls.
            if let Ok(call) = serde_json::from_value(line) {
                calls.remember(call);
            }
        })?);
        for call in &mut calls.kept {
            call.end.get_or_insert(End { at: now, how: CallEnd::Died });
        }
        Ok(calls)
    }

    /// Records the start of a call.
    pub(super) fn begin(&mut self, operation: Operation, at: DateTime<Utc>) -> u64 {
        let number = self.kept.back().map_or(1, |it| it.number + 1);
        let call = Call { number, operation, at, account: None, reference: None, fault: None, made: None, end: None };
        self.remember(call);
        number
    }

    /// Changes a call that is still kept.
    pub(super) fn change(&mut self, number: u64, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.find(number) {
            change(call);
        }
    }

    /// Writes the current details of a call to the file.
    pub(super) fn write(&mut self, number: u64) {
        let Some(call) = self.find(number).cloned() else { return };
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.append(&call)
        {
            tracing::warn!(%error, "a call of the sandbox could not be recorded");
        }
    }

    /// The calls that are kept, oldest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Call> {
        self.kept.iter()
    }

    /// Numbers grow, but have gaps after a restart: a call is written to the file only once its
    /// subject is known.
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
        calls.change(1, |_| panic!("the oldest call was removed"));

        assert_eq!(calls.all().next().map(|it| it.number), Some(4));
    }
}
