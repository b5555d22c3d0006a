//! The Graph API of Meta, which the fakes of Facebook, Instagram and Threads share. Source: Meta's
//! documentation ("Handle Errors", "Rate Limits", "Secure Graph API Calls", "Long-Lived Tokens",
//! "Paginated Results").
//!
//! - [`error`]: error responses; [`trouble`]: those that a test has ordered
//! - [`usage`]: the usage that every response reports
//! - [`fields`]: the parameters of a call, unknown ones are refused; [`select`]: the fields of a
//!   response; [`lists`]: the pages of a list
//! - [`access`]: the token of a call; [`long_lived`]: long-lived tokens
//! - [`containers`]: posts that are created and then published
//! - [`fetched`]: files that Meta fetches from URLs
//!
//! These modules do not know the service. The peculiarities of a platform are in its own module.

pub mod access;
pub mod containers;
pub mod error;
pub mod fetched;
pub mod fields;
pub mod lists;
pub mod long_lived;
pub mod select;
pub mod trouble;
pub mod usage;

use chrono::{DateTime, Utc};

/// A time in Meta's format: `2026-11-23T12:00:00+0000`.
pub fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S+0000").to_string()
}

/// Issues unique ids: numbers of 17 digits, written as text.
#[derive(Debug, Default)]
pub struct Ids(u64);

impl Ids {
    pub fn fresh(&mut self) -> String {
        self.0 += 1;
        (17_900_000_000_000_000 + self.0).to_string()
    }
}
