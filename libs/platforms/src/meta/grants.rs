//! The meaning of errors of token calls, for the [`Dialect`](crate::oauth2::Dialect) of each of
//! Meta's platforms.
//!
//! Codes of the Graph API, from its page on errors. A wrong app secret has a code of temporary
//! errors and counts as one, so that no user loses an account.

/// The token is no longer valid. No other code ends a grant.
pub(crate) const GONE: &[&str] = &["190", "102"];

pub(crate) const OURS: &[&str] = &["101"];

/// Temporary errors: internal errors, and too many calls.
pub(crate) const PASSING: &[&str] = &["-2", "-1", "1", "2", "4", "17", "32", "341", "613"];
