//! A million posts within one minute, against the published limits of the
//! services: how long it takes, what it costs and what gets hottest.
//!
//! This is a model, not the code itself: one thread, virtual time, a seed. It
//! has the ticks, the queue, the batches, the store's partitions and the steps
//! of a delivery, each as simple as possible. [`Setting`] has the numbers it
//! uses; the cost of each step in the store is passed in as a [`Profile`].
//!
//! The model leaves out the processor time of a call, edits by users, messages
//! that the queue loses or doubles, platforms that refuse, and that tables grow
//! while they are used. A slow call shows in its post only when it ends.

mod agenda;
mod chance;
mod due_index;
mod event_source;
mod figures;
pub mod limits;
mod meter;
mod posts;
mod profile;
mod queue;
mod report;
mod scale_run;
mod setting;
mod store;
mod time;
mod user_permits;

pub use figures::{PeakPartition, ScaleFigures};
pub use profile::{Deliver, Operation, PartitionBy, Profile};
pub use report::Report;
pub use setting::{EventSource, Noisy, Partitions, Setting, Tables};

/// Milliseconds. Instants count from the start of the full minute, the one in
/// which the posts are due; planning ahead of it happens at negative instants.
pub type Ms = i32;

/// Runs one setting to its end: every post is public, and its end is written to
/// the post.
pub fn run(setting: &Setting) -> ScaleFigures {
    scale_run::ScaleRun::new(setting).run()
}

#[cfg(test)]
mod tests;
