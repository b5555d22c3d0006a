//! The events of a run, line by line. Two runs of one seed give the same lines.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::process::Process;

#[derive(Clone, Default)]
pub struct Trace(Vec<Line>);

#[derive(Clone)]
struct Line {
    at: DateTime<Utc>,
    process: Option<Arc<Process>>,
    /// 0 for a line without a call.
    call: u64,
    what: String,
    fault: &'static str,
}

impl Trace {
    pub(crate) fn note(&mut self, at: DateTime<Utc>, what: String) {
        self.0.push(Line { at, process: crate::process::current(), call: 0, what, fault: "" });
    }

    pub(crate) fn call(
        &mut self,
        at: DateTime<Utc>,
        process: Arc<Process>,
        call: u64,
        what: String,
        fault: &'static str,
    ) {
        self.0.push(Line { at, process: Some(process), call, what, fault });
    }

    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(ToString::to_string)
    }

    /// `id` may be the id of a post.
    pub fn entries_for(&self, id: u64) -> impl Iterator<Item = String> {
        let id = id.to_string();
        self.0.iter().filter(move |it| it.what.contains(&id)).map(ToString::to_string)
    }
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        self.lines().eq(other.lines())
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lines()).finish()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.format("%d %H:%M:%S%.3f");
        let process = self.process.as_ref().map_or("", |it| &it.name);
        if self.call == 0 {
            return write!(f, "{at}       {process:<14} {}", self.what);
        }
        write!(
            f,
            "{at} {:>5} {process:<14} {}{}{}",
            self.call,
            self.what,
            if self.fault.is_empty() { "" } else { " -> " },
            self.fault
        )
    }
}
