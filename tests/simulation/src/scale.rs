//! The largest loads, as arithmetic: measured costs of the code, published quotas of AWS, and
//! assumptions. `docs/scale.md` has the results.
//!
//! [`Profile`] is measured on the code, [`limits`] are quotas, `copied` are values of the code and
//! the template. The assumptions are constants where they are used, and a table of the document
//! lists them. Processor time, edits by users and lost messages are left out.

mod calls;
mod copied;
pub mod limits;
mod load;
mod profile;
mod sizes;

pub use load::{Demand, Figures, Load, NoisyUser, Parameters};
pub use profile::{Deliver, Operation, PartitionBy, Profile};
pub use sizes::{POSTS_A_DAY, REQUESTS_A_DAY, SIZES, Size, table, with_separators};

#[cfg(test)]
mod tests;
