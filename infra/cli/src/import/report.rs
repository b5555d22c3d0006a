//! The result of each line. Each entry is on disk before the program continues.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use chrono::{DateTime, Utc};
use client::{IdempotencyKey, NewPost, PostStatus, Timestamp};
use serde::{Deserialize, Serialize};

use super::line::Line;
use crate::error::CliError;

#[derive(Serialize, Deserialize)]
struct Entry {
    at: Timestamp,
    /// The deployment and the user, because one file may be imported for several.
    account: String,
    line: u64,
    key: String,
    #[serde(flatten)]
    what: LineOutcome,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum LineOutcome {
    Sending { body: Box<NewPost> },
    Posted { post: u64, status: PostStatus, scheduled_at: Option<Timestamp> },
    Refused { field: String, message: String },
    Unknown { message: String },
}

#[derive(Clone, Debug)]
pub(crate) enum Before {
    /// The line was never sent, or was refused.
    Nothing,
    /// The line was sent with this body, first at this time; the outcome is unknown.
    InFlight {
        body: Box<NewPost>,
        since: DateTime<Utc>,
    },
    Posted,
}

pub(crate) struct Report {
    file: File,
    account: String,
    known: HashMap<String, Before>,
}

impl Report {
    /// Locks the report against a second import.
    pub(crate) fn open(path: &Path, account: &str) -> Result<Self, CliError> {
        let with_path = |error: &dyn std::fmt::Display| CliError::Failed(format!("{}: {error}", path.display()));
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(path).map_err(|it| with_path(&it))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(with_path(&"another import of this file is running; wait until it has ended"));
            }
            Err(TryLockError::Error(error)) => return Err(with_path(&error)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|it| with_path(&it))?;
        if text.last().is_some_and(|it| *it != b'\n') {
            // The program died while it wrote. The line was not sent yet, or is sent again under its
            // key.
            file.write_all(b"\n").map_err(|it| with_path(&it))?;
        }
        let mut report = Self { file, account: account.to_owned(), known: HashMap::new() };
        for line in text.split(|it| *it == b'\n') {
            if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                report.note(entry);
            }
        }
        Ok(report)
    }

    pub(crate) fn before(&self, key: &IdempotencyKey) -> Before {
        self.known.get(key.as_str()).cloned().unwrap_or(Before::Nothing)
    }

    pub(crate) fn write(&mut self, line: &Line, state: LineOutcome) -> Result<String, CliError> {
        let (account, key) = (self.account.clone(), line.key().to_string());
        let entry = Entry { at: Timestamp(Utc::now()), account, line: line.number, key, what: state };
        let text = serde_json::to_string(&entry).map_err(|it| CliError::Failed(it.to_string()))?;
        self.file.write_all(format!("{text}\n").as_bytes())?;
        self.file.sync_data()?;
        self.note(entry);
        Ok(text)
    }

    fn note(&mut self, entry: Entry) {
        if entry.account != self.account {
            return;
        }
        let before = match (entry.what, self.known.get(&entry.key)) {
            // The oldest time counts, because that request may have taken effect.
            (LineOutcome::Sending { body }, Some(Before::InFlight { since, .. })) => {
                Before::InFlight { body, since: *since }
            }
            (LineOutcome::Sending { body }, _) => Before::InFlight { body, since: entry.at.0 },
            (LineOutcome::Posted { .. }, _) => Before::Posted,
            (LineOutcome::Refused { .. }, _) => Before::Nothing,
            (LineOutcome::Unknown { .. }, before) => before.cloned().unwrap_or(Before::Nothing),
        };
        self.known.insert(entry.key, before);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::super::line::lines;
    use super::*;
    use crate::arguments::Format;

    fn line() -> Line {
        lines(Format::Csv, b"content\none\n", "posts.csv", false).unwrap().remove(0).unwrap()
    }

    fn sending() -> LineOutcome {
        LineOutcome::Sending { body: Box::new(NewPost::new("one".to_owned())) }
    }

    #[test]
    fn request_in_flight_is_known_after_a_crash_with_its_body() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let mut report = Report::open(&path, "a").unwrap();
        report.write(&line(), sending()).unwrap();
        drop(report);
        // Half of an entry, as after a crash.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"at\":\"2026").unwrap();

        let mut report = Report::open(&path, "a").unwrap();
        assert!(
            matches!(report.before(line().key()), Before::InFlight { body, .. } if body.content.as_deref() == Some("one"))
        );

        report.write(&line(), LineOutcome::Posted { post: 7, status: PostStatus::Draft, scheduled_at: None }).unwrap();
        drop(report);
        assert!(matches!(Report::open(&path, "a").unwrap().before(line().key()), Before::Posted));
    }

    #[test]
    fn entries_are_per_account() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        Report::open(&path, "a").unwrap().write(&line(), sending()).unwrap();
        assert!(matches!(Report::open(&path, "b").unwrap().before(line().key()), Before::Nothing));
    }

    #[test]
    fn first_time_counts_for_a_repeated_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let mut report = Report::open(&path, "a").unwrap();
        report.write(&line(), sending()).unwrap();
        let since = |report: &Report| match report.before(line().key()) {
            Before::InFlight { since, .. } => since,
            other => panic!("{other:?}"),
        };
        let first = since(&report);
        report.write(&line(), LineOutcome::Unknown { message: "silence".to_owned() }).unwrap();
        report.write(&line(), sending()).unwrap();
        assert_eq!(since(&report), first);

        report.write(&line(), LineOutcome::Refused { field: String::new(), message: "no".to_owned() }).unwrap();
        assert!(matches!(report.before(line().key()), Before::Nothing));
    }

    #[test]
    fn second_import_of_a_file_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let _first = Report::open(&path, "a").unwrap();
        let second = Report::open(&path, "a").map(drop).unwrap_err();
        assert!(second.to_string().ends_with("another import of this file is running; wait until it has ended"));
    }
}
