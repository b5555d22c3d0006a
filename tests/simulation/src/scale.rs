//! A million posts within one minute, against the published limits of the services: duration, cost,
//! and the partitions with the highest load.
//!
//! This is a model, not the code itself: one thread, virtual time, a seed. The model has the ticks,
//! the queue, the batches, the store's partitions and the steps of a delivery, each as simple as
//! possible. [`Setting`] has its parameters; the cost of each step in the store is a [`Profile`].
//!
//! The model omits the processor time of a call, edits by users, lost or duplicated messages,
//! refusals by platforms, and the growth of tables under load. A slow call affects its post only
//! when the call ends.

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

/// Milliseconds. Instants count from the start of the full minute, in which the posts are due;
/// planning before that minute has negative instants.
pub type Ms = i32;

/// Runs one setting until every post is public and rolled up.
pub fn run(setting: &Setting) -> ScaleFigures {
    scale_run::ScaleRun::new(setting).run()
}

#[cfg(test)]
mod tests;
