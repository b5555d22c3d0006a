//! A lock per connect flow: one submission at a time, ten in all.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::TimeDelta;
use futures::future::BoxFuture;
use storage::FlowLock;

use crate::App;
use crate::flow_access_error::FlowAccessError;
use crate::participant::FlowVisit;
use crate::show_connect_flow::action;

/// Releases the lock of a process that was stopped while it worked.
const LEASE: TimeDelta = TimeDelta::seconds(30);

impl App {
    /// Runs `work` under the flow's lock, with a permit for calls to `host`. Without a permit, the
    /// lock is not acquired and the submission does not count.
    pub(crate) async fn with_flow_lock(
        &self,
        visit: &FlowVisit,
        host: Option<String>,
        step: BoxFuture<'_, Result<Response, FlowAccessError>>,
    ) -> Result<Response, FlowAccessError> {
        let user = visit.loaded.flow.user_id;
        self.api.with_permit(user, host.as_deref(), Box::pin(self.run_locked(visit, step))).await?
    }

    async fn run_locked(
        &self,
        visit: &FlowVisit,
        step: BoxFuture<'_, Result<Response, FlowAccessError>>,
    ) -> Result<Response, FlowAccessError> {
        let (store, hash, state) = (&self.api.store, &visit.loaded.hash, visit.loaded.flow.state);
        let lock_ends_at = match store
            .lock_connect_flow(hash, state, &visit.participant.flow_owner(), LEASE, self.api.clock.now())
            .await?
        {
            FlowLock::Ours(lock_ends_at) => lock_ends_at,
            FlowLock::Busy => {
                let text = "Your last submission is still being processed. Wait a few seconds, then reload the page.";
                return visit.refuse(StatusCode::CONFLICT, "Still processing", text, false);
            }
            FlowLock::Theirs => return Err(FlowAccessError::AnotherBrowser),
            FlowLock::MovedOn => return Ok(Redirect::to(&action(&visit.loaded)).into_response()),
            FlowLock::Spent => {
                let text = format!("This link accepts ten attempts. {}", visit.how_to_retry());
                return visit.refuse(StatusCode::TOO_MANY_REQUESTS, "Too many attempts", &text, true);
            }
        };
        let response = step.await;
        if let Err(error) = store.unlock_connect_flow(hash, lock_ends_at).await {
            tracing::warn!(%error, "a connect flow stays locked for 30 seconds");
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Harness;
    use crate::timeouts::{CALLBACK_TIMEOUT, SUBMIT_TIMEOUT};

    #[test]
    fn time_limits_leave_time_to_store_the_result() {
        assert!(SUBMIT_TIMEOUT < CALLBACK_TIMEOUT);
        assert!(CALLBACK_TIMEOUT.as_secs() < 27, "the function is stopped after 29");
        assert!(
            CALLBACK_TIMEOUT.as_secs() < LEASE.num_seconds().unsigned_abs(),
            "a process that still works holds the flow"
        );
    }

    #[tokio::test]
    async fn form_without_a_permit_calls_no_server_and_does_not_count() {
        let harness = Harness::new().await;
        let begun = harness.begin("asking").await;
        harness.hold_permits().await;

        for _ in 0..11 {
            let refused = harness.send(&begun, "server=good.example").await;
            assert_eq!((refused.status, refused.retry_after.as_deref()), (429, Some("5")));
            assert!(refused.html.contains("Wait 5 seconds"), "{}", refused.html);
        }
        assert_eq!(harness.platform.asked(), 0);
        assert_eq!(harness.send(&begun, "server=").await.status, 422, "it names no server");

        harness.release_permits().await;
        assert_eq!(harness.send(&begun, "server=good.example").await.status, 200);
    }

    #[tokio::test]
    async fn callback_without_a_permit_can_be_loaded_again() {
        let harness = Harness::new().await;
        let begun = harness.begin("asking").await;
        harness.send(&begun, "server=good.example").await;
        harness.hold_permits().await;

        let refused = harness.callback(&begun, "7").await;
        assert_eq!((refused.status, refused.retry_after.as_deref()), (429, Some("5")));
        assert_eq!((harness.platform.completed(), &harness.poll(&begun).await.body["status"]), (0, &"pending".into()));

        harness.release_permits().await;
        assert_eq!(harness.callback(&begun, "7").await.status, 303);
        assert_eq!(harness.poll(&begun).await.body["status"], "completed");
        let free = harness.store().in_flight_calls(&harness.requests()).await.unwrap();
        assert_eq!(free.others("", harness.clock.now()), 0, "all permits are released");
    }

    #[tokio::test]
    async fn platform_without_named_host_needs_no_permit() {
        let harness = Harness::new().await;
        harness.hold_permits().await;
        let id = harness.connect("7").await;
        assert_eq!(harness.get(&format!("/api/v1/connections/{id}/choices/board")).await.status, 200);
    }
}
