//! What Facebook, Instagram and Threads have in common: Meta's Graph API.
//!
//! Facts (fact sheets of the three platforms; Meta's pages on error handling, rate limits and
//! versions):
//!
//! - An error has a `code`, and often a more precise `error_subcode`. Its HTTP status means little.
//! - Every response has the usage of rate limits, in percent.
//! - A version of the API is supported for about two years; calls of an ended version get the
//!   oldest supported one.
//! - Instagram and Threads publish in two steps: a container is created, which is not public,
//!   fetches the files, and expires after a day; then one call publishes it, once.

pub(crate) mod comments;
mod containers;
pub(crate) mod errors;
pub(crate) mod facebook_login;
mod fetch;
mod grants;
mod graph;
mod id;
mod list;
pub(crate) mod pages;
mod permissions;
mod reach;
pub(crate) mod signed_request;
pub(crate) mod time;
mod upload;
mod usage;
mod version;

pub(crate) use self::containers::{Calls, Containers, Form, prepare, publish, resolve};
pub(crate) use self::grants::{GONE, OURS, PASSING};
pub(crate) use self::graph::{Graph, WithUsage};
pub(crate) use self::id::{GraphId, listed};
pub(crate) use self::list::List;
pub(crate) use self::permissions::Permissions;
pub(crate) use self::version::Version;
