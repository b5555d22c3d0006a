//! What Facebook, Instagram and Threads have in common: the Graph API of Meta.
//!
//! Facts (fact sheets of the three platforms; Meta's pages on error handling, rate
//! limits and versions):
//!
//! - An error has a `code`, and often an `error_subcode` that says more. Its HTTP status
//!   says little.
//! - What may be called how often is told as a percentage with every answer.
//! - A version of the API lives for about two years; calls with one that has ended are
//!   answered by the oldest that lives.
//! - Instagram and Threads publish in two steps: a container is made, which shows nothing
//!   to anybody, fetches the files by itself, and is good for a day; then one call
//!   publishes it, once.
//!
//! `graph.rs` knows how calls are made, `errors.rs` what errors mean, `id.rs` which ids may
//! become part of a path, `usage.rs` what the headers say, `version.rs` when versions end,
//! `containers.rs` how a post becomes a container, `fetch.rs` how Meta gets at a file,
//! `upload.rs` how bytes are sent, `reach.rs` whether Meta reaches us, `pages.rs` for which
//! Pages a person may act, `permissions.rs` what they have granted, `list.rs` how lists are
//! read, `signed_request.rs` what Meta reports, and `grants.rs` what errors mean where
//! tokens are asked for.

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
pub(crate) use self::graph::{Answered, Graph};
pub(crate) use self::id::{GraphId, listed};
pub(crate) use self::list::List;
pub(crate) use self::permissions::Permissions;
pub(crate) use self::version::Version;
