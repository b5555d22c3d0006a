//! Pages that show what happened to a delivery: what the service stored, and which calls the sandbox
//! received, in order of time.
//!
//! The service's side is each write to its table of deliveries ([`History`]) and the stored state.
//! The sandbox's side is its record of calls. Neither side depends on these pages.

mod chain;
mod history;
mod list_deliveries;
#[cfg(test)]
mod pages_tests;
mod show_delivery;
mod step;
mod story;
mod verdict;
mod watch;

use std::fmt;

use axum::Router;
use axum::routing::get;
use chrono::{DateTime, Utc};
use domain::clock::Clock;
use domain::delivery::Delivery;
use domain::id::{PostId, TargetId};
use storage::Store;

pub(crate) use self::history::History;
use crate::fakes::Fakes;
use crate::sandbox::Sandbox;

/// The data sources of the pages.
#[derive(Clone)]
pub(crate) struct Deliveries {
    /// The recorded writes.
    pub(crate) history: History,
    /// The current state.
    pub(crate) store: Store,
    /// The calls that the sandbox received, and its responses.
    pub(crate) network: Sandbox,
    /// Fakes of other platforms, which list their posts.
    pub(crate) fakes: Fakes,
    pub(crate) clock: Clock,
}

pub(crate) fn router(deliveries: Deliveries) -> Router {
    Router::new()
        .route("/sandbox/deliveries", get(list_deliveries::list_deliveries))
        .route("/sandbox/deliveries/{reference}", get(show_delivery::show_delivery))
        .with_state(deliveries)
}

/// One delivery of one revision: the key by which a platform can recognize the delivery,
/// `{post}-{target}-{revision}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reference {
    post: PostId,
    target: TargetId,
    revision: u64,
}

impl Reference {
    fn from_delivery(delivery: &Delivery) -> Self {
        Self { post: delivery.post_id, target: delivery.target_id, revision: delivery.revision }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (post, target, revision) = (parts.next()?, parts.next()?, parts.next()?);
        let found =
            Self { post: PostId::parse(post)?, target: TargetId::parse(target)?, revision: revision.parse().ok()? };
        // Only the canonical form, with nothing after it.
        (found.to_string() == text).then_some(found)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.post, self.target, self.revision)
    }
}

/// The time of day; all times of these pages are UTC.
fn time(at: DateTime<Utc>) -> String {
    at.format("%H:%M:%S%.3f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_references_parse() {
        let written = "123-456-7";
        assert_eq!(Reference::parse(written).map(|it| it.to_string()).as_deref(), Some(written));
        for wrong in ["", "123-456", "123-456-7-8", "0123-456-7", "123-456-+7", "a-b-c", "123-456-"] {
            assert_eq!(Reference::parse(wrong), None, "{wrong}");
        }
    }
}
