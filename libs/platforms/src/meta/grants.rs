//! What errors mean where tokens are asked for: for the [`Dialect`](crate::oauth2::Dialect)
//! of each of Meta's platforms.
//!
//! Codes of the Graph API, from its page on errors. A wrong secret of the app has the code
//! of errors that pass, so it is taken for one: nobody loses an account by it.

/// The token is of no use any more. Nothing else ends a grant.
pub(crate) const GONE: &[&str] = &["190", "102"];

/// The id of the app is wrong.
pub(crate) const OURS: &[&str] = &["101"];

/// What may pass: errors inside, and too many calls.
pub(crate) const PASSING: &[&str] = &["-2", "-1", "1", "2", "4", "17", "32", "341", "613"];
