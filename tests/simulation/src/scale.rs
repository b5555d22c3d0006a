//! A million posts within one minute, against the published limits of the
//! services: how long it takes, what it costs and what gets hottest.
//!
//! A model, not the code itself: one thread, virtual time, a seed. The ticks,
//! the queue, the batches, the store's partitions and the steps of a delivery
//! are in it as small as they can be ([`Setting`] says with which numbers);
//! what a step costs in the store is handed in as a [`Profile`].
//!
//! Not in it: how much processor time a call takes, edits by users, messages
//! lost or doubled by the queue, platforms that refuse, that tables grow while
//! they are used, and that a slow call shows in its post while it is made.

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
mod setting;
mod store;
mod time;
mod world;

pub use figures::{Hottest, Scale};
pub use profile::{Deliver, Operation, PartitionBy, Profile};
pub use report::Report;
pub use setting::{EventSource, Partitions, Setting, Tables};

/// Milliseconds. Instants count from the start of the full minute, so what is
/// planned ahead of it is negative.
pub type Ms = i32;

/// Runs one setting to its end: every post public and told how it ended.
pub fn run(setting: &Setting) -> Scale {
    world::World::new(setting).run()
}

#[cfg(test)]
mod tests;
