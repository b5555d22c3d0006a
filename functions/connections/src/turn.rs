//! What is sent to a connect flow is worked on one at a time.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::TimeDelta;
use futures::future::BoxFuture;
use storage::FlowLock;

use crate::App;
use crate::access_error::FlowAccessError;
use crate::participant::FlowVisit;
use crate::show_connect_flow::action;
use crate::timeouts::COMPLETED_WITHIN;

/// The longest that a request for a connect flow waits for others.
pub const LONGEST: std::time::Duration = COMPLETED_WITHIN;

/// How long a connect flow is held by a process that was stopped while it worked.
const LEASE: TimeDelta = TimeDelta::seconds(30);

impl App {
    /// Does what was sent to a connect flow, when it is its turn, with a permit for calls
    /// to the host that it names. What gets no permit takes no turn.
    pub(crate) async fn in_turn(
        &self,
        entered: &FlowVisit,
        host: Option<String>,
        work: BoxFuture<'_, Result<Response, FlowAccessError>>,
    ) -> Result<Response, FlowAccessError> {
        let user = entered.flow.flow.user_id;
        self.api.with_permit(user, host.as_deref(), Box::pin(self.take_turn(entered, work))).await?
    }

    async fn take_turn(
        &self,
        entered: &FlowVisit,
        work: BoxFuture<'_, Result<Response, FlowAccessError>>,
    ) -> Result<Response, FlowAccessError> {
        let (store, hash, stage) = (&self.api.store, &entered.flow.hash, entered.flow.flow.state);
        let ends = match store
            .lock_connect_flow(hash, stage, &entered.participant.flow_owner(), LEASE, self.api.clock.now())
            .await?
        {
            FlowLock::Ours(ends) => ends,
            FlowLock::Busy => {
                let text = "What you sent before is still being worked on. Wait a few seconds, then reload the page.";
                return entered.refuse(StatusCode::CONFLICT, "One thing at a time", text);
            }
            FlowLock::Theirs => return Err(FlowAccessError::AnotherBrowser),
            FlowLock::MovedOn => return Ok(Redirect::to(&action(&entered.flow)).into_response()),
            FlowLock::Spent => {
                let text = "This link was tried ten times. Go back to where you came from and start again.";
                return entered.refuse(StatusCode::TOO_MANY_REQUESTS, "That was tried too often", text);
            }
        };
        let done = work.await;
        if let Err(error) = store.unlock_connect_flow(hash, ends).await {
            tracing::warn!(%error, "a connect flow is held for half a minute");
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Harness;
    use crate::timeouts::ANSWERED_WITHIN;

    #[test]
    fn an_answer_leaves_time_to_store_what_came_of_it() {
        assert!(ANSWERED_WITHIN < COMPLETED_WITHIN);
        assert!(LONGEST.as_secs() < 27, "the function is stopped after 29");
        assert!(LONGEST.as_secs() < LEASE.num_seconds().unsigned_abs(), "a process that still works holds the flow");
    }

    #[tokio::test]
    async fn a_form_without_a_permit_calls_no_server_and_takes_no_turn() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;
        world.hold_permits().await;

        for _ in 0..11 {
            let refused = world.send(&begun, "server=good.example").await;
            assert_eq!((refused.status, refused.retry_after.as_deref()), (429, Some("5")));
            assert!(refused.html.contains("Wait 5 seconds"), "{}", refused.html);
        }
        assert_eq!(world.platform.asked(), 0);
        assert_eq!(world.send(&begun, "server=").await.status, 422, "it names no server");

        world.release_permits().await;
        assert_eq!(world.send(&begun, "server=good.example").await.status, 200);
    }

    #[tokio::test]
    async fn a_callback_without_a_permit_can_be_loaded_again() {
        let world = Harness::new().await;
        let begun = world.begin("asking").await;
        world.send(&begun, "server=good.example").await;
        world.hold_permits().await;

        let refused = world.callback(&begun, "7").await;
        assert_eq!((refused.status, refused.retry_after.as_deref()), (429, Some("5")));
        assert_eq!((world.platform.completed(), &world.poll(&begun).await.body["status"]), (0, &"pending".into()));

        world.release_permits().await;
        assert_eq!(world.callback(&begun, "7").await.status, 303);
        assert_eq!(world.poll(&begun).await.body["status"], "completed");
        let free = world.store().in_flight_calls(&world.requests()).await.unwrap();
        assert_eq!(free.others("", world.clock.now()), 0, "all permits are released");
    }

    #[tokio::test]
    async fn a_platform_whose_host_nobody_names_needs_no_permit() {
        let world = Harness::new().await;
        world.hold_permits().await;
        let id = world.connect("7").await;
        assert_eq!(world.get(&format!("/api/v1/connections/{id}/choices/board")).await.status, 200);
    }
}
