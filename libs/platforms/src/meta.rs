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
//! `graph.rs` knows how calls are made, `failure.rs` what errors mean, `usage.rs` what the
//! headers say, `version.rs` when versions end, `containers.rs` how a post becomes a
//! container, `fetch.rs` how Meta gets at a file, `reach.rs` whether it can from here,
//! `pages.rs` for which Pages a person may act, `permissions.rs` what they have granted,
//! `list.rs` how lists are read, `signed_request.rs`
//! what Meta tells us by itself, and `grants.rs` what errors mean where tokens are asked
//! for.

mod containers;
pub(crate) mod facebook_login;
mod failure;
mod fetch;
mod grants;
mod graph;
mod list;
pub(crate) mod pages;
mod permissions;
mod reach;
pub(crate) mod signed_request;
pub(crate) mod time;
mod usage;
mod version;

pub(crate) use self::containers::{Calls, Containers, Form, prepare, publish, resolve};
pub(crate) use self::failure::{Blame, Failure};
pub(crate) use self::grants::{GONE, OURS, PASSING};
pub(crate) use self::graph::{Answered, Graph};
pub(crate) use self::list::List;
pub(crate) use self::permissions::Permissions;
pub(crate) use self::version::Version;
