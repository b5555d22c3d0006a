//! How much of a process works on hand-offs at the same time, and for how long.
//!
//! While a person waits, servers are called that this person named. Somebody
//! who names slow ones must not hold what everybody else needs.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::TimeDelta;
use futures::future::BoxFuture;
use storage::Turn;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::App;
use crate::party::Entered;
use crate::patience::COMPLETED_WITHIN;
use crate::show_hand_off::action;
use crate::turned_away::TurnedAway;

/// How many hand-offs one process works on at the same time.
const AT_ONCE: usize = 8;

/// How long a hand-off waits for its place.
const WAIT: Duration = Duration::from_secs(2);

/// The longest that a request for a hand-off waits for others.
pub const LONGEST: Duration = WAIT.saturating_add(COMPLETED_WITHIN);

/// How long a hand-off is held by a process that was stopped while it worked.
const LEASE: TimeDelta = TimeDelta::seconds(30);

/// The places for hand-offs that a process works on.
#[derive(Clone, Debug)]
pub struct Workload(Arc<Semaphore>);

impl Default for Workload {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Workload {
    /// A place, which is free again when it is dropped; `None` when none became
    /// free in time.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        timeout(WAIT, Arc::clone(&self.0).acquire_owned()).await.ok()?.ok()
    }
}

impl App {
    /// Does what was sent to a hand-off, when it is its turn.
    pub(crate) async fn in_turn(
        &self,
        entered: &Entered,
        work: BoxFuture<'_, Result<Response, TurnedAway>>,
    ) -> Result<Response, TurnedAway> {
        let (store, hash, stage) = (&self.api.store, &entered.visit.hash, entered.visit.hand_off.stage);
        let Some(_place) = self.workload.place().await else { return entered.too_much() };
        let ends = match store.take_turn(hash, stage, &entered.party.goes_on(), LEASE, self.api.clock.now()).await? {
            Turn::Ours(ends) => ends,
            Turn::Busy => {
                let text = "What you sent before is still being worked on. Wait a few seconds, then reload the page.";
                return entered.refuse(StatusCode::CONFLICT, "One thing at a time", text);
            }
            Turn::Theirs => return Err(TurnedAway::AnotherBrowser),
            Turn::MovedOn => return Ok(Redirect::to(&action(&entered.visit)).into_response()),
            Turn::Spent => {
                let text = "This link was tried ten times. Go back to where you came from and start again.";
                return entered.refuse(StatusCode::TOO_MANY_REQUESTS, "That was tried too often", text);
            }
        };
        let done = work.await;
        if let Err(error) = store.end_turn(hash, ends).await {
            tracing::warn!(%error, "a hand-off is held for half a minute");
        }
        done
    }
}

impl Entered {
    /// The page for somebody for whom there is no place.
    pub(crate) fn too_much(&self) -> Result<Response, TurnedAway> {
        let text = "Many accounts are being connected. Wait a few seconds, then reload this page.";
        self.refuse(StatusCode::SERVICE_UNAVAILABLE, "Too much at once", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patience::ANSWERED_WITHIN;

    #[test]
    fn an_answer_leaves_time_to_store_what_came_of_it() {
        assert!(ANSWERED_WITHIN < COMPLETED_WITHIN);
        assert!(LONGEST < Duration::from_secs(27), "the function is stopped after 29");
        assert!(LONGEST.as_secs() < LEASE.num_seconds().unsigned_abs(), "whoever still works has the turn");
    }
}
