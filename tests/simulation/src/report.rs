//! The results of a run.

use chrono::TimeDelta;

use crate::trace::Trace;

#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The seed, which reproduces the run.
    pub seed: u64,
    /// The number of injected faults.
    pub faults: u64,
    /// The number of port calls of the code under test.
    pub port_calls: u64,
    /// Whether the run was planned without faults.
    pub calm: bool,
    /// Posts that became public.
    pub published: u64,
    /// Targets whose outcome contradicts their platform.
    pub lost: u64,
    /// Targets that became public more than once.
    pub doubled: u64,
    /// Due deliveries that no worker processed in time.
    pub stuck: u64,
    /// Publish calls before their post was due.
    pub early: u64,
    /// Each broken invariant, with the history of its post.
    pub broken: Vec<String>,
    /// The lateness of the first publish calls of scheduled posts.
    pub lateness: Vec<TimeDelta>,
    /// The duration of the run in virtual time.
    pub took: TimeDelta,
    /// Everything that happened.
    pub trace: Trace,
}
