//! What came of a run.

use chrono::TimeDelta;

use crate::trace::Trace;

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The seed, which gives the same run again.
    pub seed: u64,
    /// Things that went wrong on the way.
    pub faults: u64,
    /// Calls of a port by the code under test.
    pub port_calls: u64,
    /// Whether nothing was to go wrong.
    pub calm: bool,
    /// Posts that became public.
    pub published: u64,
    /// Targets that ended otherwise than their platform has it.
    pub lost: u64,
    /// Targets that became public more than once.
    pub doubled: u64,
    /// Deliveries that nobody looked at in time.
    pub stuck: u64,
    /// Public calls before their time.
    pub early: u64,
    /// Each invariant that did not hold, with the history of what it caught.
    pub broken: Vec<String>,
    /// By how much the first public calls of scheduled posts were late.
    pub lateness: Vec<TimeDelta>,
    /// How long the run took in its own time.
    pub took: TimeDelta,
    /// Everything that happened.
    pub trace: Trace,
}
