//! The simulator: the real publishing code on one thread with a virtual clock, and injected faults
//! at every call that it makes.
//!
//! A seed determines everything, so a run can be repeated. Virtual time passes only when every task
//! waits. The code under test is `publishing`, `storage` and `domain` as they are deployed; their
//! dependencies are simulated at their ports: the SDK's requests to DynamoDB (`store`), the queue,
//! the event bus, the platforms (`platforms`). Each invocation of a function is a `process`, which
//! may die at any call. Meanwhile users (`users`) write, change and disconnect, mostly at the least
//! convenient moments. After a while the faults end, the run comes to rest, and the `invariants`
//! are checked.
//!
//! ```text
//! run ── World: time, dice, faults, trace
//!     ├─ Deployment: Publishing on ports, and its functions
//!     ├─ People: what was wanted, what was answered
//!     └─ invariants over the store's journal, the platforms' timeline, the events
//! ```

#![expect(clippy::expect_used, reason = "a simulator that cannot go on has to stop loudly")]

mod bus;
mod costs;
mod crash_matrix;
mod deployment;
mod fairness;
mod faults;
mod invariants;
mod lateness;
mod logs;
pub mod mutations;
mod plot;
mod port;
mod process;
mod queue;
mod report;
mod run;
pub mod scale;
mod scenario;
mod services;
mod simulated_platforms;
mod store;
mod trace;
mod users;
mod webhooks;
mod world;

pub use costs::IdleRun;
pub use crash_matrix::{CrashMatrix, Crashes, crash_matrix, side_by_side};
pub use fairness::{Fairness, fairness};
pub use faults::{FaultPlan, Kill, KillTime};
pub use lateness::lateness;
pub use report::Report;
pub use run::run;
pub use scenario::{Scenario, UserPlan};
pub use simulated_platforms::platforms;
pub use trace::Trace;
