//! What came of a run.

use chrono::TimeDelta;

use crate::trace::Trace;

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The seed, which gives the same run again.
    pub seed: u64,
    /// How many faults happened.
    pub faults: u64,
    /// How many port calls the code under test made.
    pub port_calls: u64,
    /// Whether the run was meant to have no faults.
    pub calm: bool,
    /// Posts that became public.
    pub published: u64,
    /// Targets whose end contradicts what their platform shows.
    pub lost: u64,
    /// Targets that became public more than once.
    pub doubled: u64,
    /// Deliveries that were due and that no worker looked at in time.
    pub stuck: u64,
    /// Public calls before their post was due.
    pub early: u64,
    /// Each invariant that did not hold, with the history of the post it
    /// concerns.
    pub broken: Vec<String>,
    /// How late the first public calls of scheduled posts were.
    pub lateness: Vec<TimeDelta>,
    /// How long the run took in virtual time.
    pub took: TimeDelta,
    /// Everything that happened.
    pub trace: Trace,
}
