use chrono::TimeDelta;

use crate::trace::Trace;

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub seed: u64,
    pub faults: u64,
    /// Calls of the code under test.
    pub port_calls: u64,
    /// Whether the run was planned without faults.
    pub calm: bool,
    pub published: u64,
    /// Targets whose outcome contradicts their platform.
    pub lost: u64,
    /// Targets that became public more than once.
    pub doubled: u64,
    /// Due deliveries that no worker processed in time.
    pub stuck: u64,
    /// Publish calls before their post was due.
    pub early: u64,
    /// Each with the history of its post.
    pub broken: Vec<String>,
    /// The first publish calls of scheduled posts.
    pub lateness: Vec<TimeDelta>,
    /// Virtual time.
    pub took: TimeDelta,
    pub trace: Trace,
}
