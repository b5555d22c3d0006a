//! What Facebook, Instagram and Threads have in common, for their fakes: the Graph
//! API of Meta. Made from its documentation ("Handle Errors", "Rate Limits", "Secure
//! Graph API Calls", "Long-Lived Tokens", "Paginated Results").
//!
//! - [`error`]: what a call answers that is not carried out; [`trouble`] where a test
//!   has ordered it
//! - [`usage`]: how much was called, in every answer
//! - [`fields`]: the parameters of a call, each of which has to be known; [`select`]: the
//!   fields of an answer; [`lists`]: the pages of a list
//! - [`access`]: the token of a call; [`long_lived`]: tokens that last
//! - [`containers`]: posts that are made and then published
//! - [`fetched`]: files that are fetched by their addresses
//!
//! Nothing here knows the service. What only one of the three does stays in its module.

pub mod access;
pub mod containers;
pub mod error;
pub mod fetched;
pub mod fields;
pub mod lists;
pub mod long_lived;
pub mod select;
#[cfg(test)]
mod tests;
pub mod trouble;
pub mod usage;

use chrono::{DateTime, Utc};

/// A time as Meta writes it: `2026-11-23T12:00:00+0000`.
pub fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S+0000").to_string()
}

/// Ids, each given once: numbers of 17 digits, written as text.
#[derive(Debug, Default)]
pub struct Ids(u64);

impl Ids {
    /// One that nothing else has.
    pub fn fresh(&mut self) -> String {
        self.0 += 1;
        (17_900_000_000_000_000 + self.0).to_string()
    }
}
