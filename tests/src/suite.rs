//! The checks, one file per area.

mod accounts;
mod action;
mod alt_texts;
mod auth;
mod command_line;
mod connect_links;
mod connections;
pub mod crash;
mod documents;
mod everywhere;
mod faults;
mod fetching;
mod grants;
mod idempotency;
mod limits;
mod mcp;
mod media;
mod options;
mod own_media;
mod own_pages;
mod pages;
mod pictures;
mod posts_change;
mod posts_create;
mod posts_list;
mod profiles;
mod publishing;
mod scopes;
mod tenants;
mod threads;
mod webhook_calls;
mod webhooks;

use crate::runner::Check;

/// Checks that run against any deployment, preferably without rate limits.
pub fn checks() -> Vec<Check> {
    [
        faults::checks(),
        publishing::checks(),
        pictures::checks(),
        auth::checks(),
        accounts::checks(),
        scopes::checks(),
        connections::checks(),
        profiles::checks(),
        connect_links::checks(),
        grants::checks(),
        media::checks(),
        documents::checks(),
        posts_create::checks(),
        posts_change::checks(),
        alt_texts::checks(),
        options::checks(),
        own_media::checks(),
        threads::checks(),
        posts_list::checks(),
        idempotency::checks(),
        everywhere::checks(),
        tenants::checks(),
        pages::checks(),
        own_pages::checks(),
        webhooks::checks(),
        command_line::checks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Checks that only the local stack can pass: it fetches files and client documents from a server
/// of the tests and calls webhooks there.
pub fn local_checks() -> Vec<Check> {
    let all = [
        fetching::checks(),
        faults::sandbox_checks(),
        pages::sandbox_checks(),
        webhook_calls::checks(),
        command_line::local_checks(),
        action::checks(),
        mcp::checks(),
    ];
    all.into_iter().flatten().collect()
}

/// Checks that need the rate limits of the specification.
pub fn limit_checks() -> Vec<Check> {
    limits::checks()
}
