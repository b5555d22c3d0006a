//! Approvals that the user gives in an app or on another device. No callback arrives, so the
//! platform is polled while a page or a client waits.

use std::time::Duration;

use api::PermitError;
use api::page::Page;
use askama::Template;
use axum::http::HeaderValue;
use axum::response::Response;
use chrono::TimeDelta;
use domain::web_address::is_web_address;
use platforms::{Approval, Connect, ConnectError};
use storage::{FlowState, WriteOutcome};

use crate::App;
use crate::connect_flow::LoadedFlow;
use crate::error::ConnectionsError;
use crate::flow_access_error::FlowAccessError;
use crate::participant::FlowVisit;
use crate::recipient::Recipient;
use crate::show_connect_flow::{action, with_refresh};
use crate::timeouts::within;

/// The shortest interval between two polls of one flow, however many pages and clients wait.
const POLL_INTERVAL: TimeDelta = TimeDelta::seconds(10);

/// Shorter than [`POLL_INTERVAL`], so that a flow has one poll in flight at a time.
const POLL_TIMEOUT: Duration = Duration::from_secs(8);

/// The page reloads after so many seconds.
const RELOAD: HeaderValue = HeaderValue::from_static("5");

#[derive(Template)]
#[template(path = "wait.html")]
struct WaitPage<'a> {
    action: String,
    csrf: String,
    title: &'a str,
    recipient: &'a Recipient,
    text: &'a str,
    url: Option<&'a str>,
    code: Option<&'a str>,
}

impl App {
    /// Polls the platform for the approval unless it was polled just now. Returns whether the
    /// connect flow has changed.
    pub(crate) async fn check_approval(&self, loaded: &LoadedFlow) -> Result<bool, ConnectionsError> {
        let (connect_flow, now) = (&loaded.flow, self.api.clock.now());
        if connect_flow.state != FlowState::AwaitingApproval || !connect_flow.is_open(now) {
            return Ok(false);
        }
        let Some(platform) = self.platforms.get(&connect_flow.provider) else { return Ok(false) };
        let store = &self.api.store;
        if store.lock_approval_check(&loaded.hash, now + POLL_INTERVAL, now).await? == WriteOutcome::Conflict {
            return Ok(false);
        }
        let mut pending = self.pending_authorization(loaded).await?;
        let host = pending.host.take();
        let pending_approval = self.pending_approval(platform, pending);
        let call = within(POLL_TIMEOUT, platform.poll(&pending_approval, now));
        let approval = match self.api.with_permit(connect_flow.user_id, host.as_deref(), call).await {
            Ok(approval) => approval,
            Err(PermitError::Busy) => return Ok(false),
            Err(PermitError::Storage(error)) => return Err(error.into()),
        };
        let accounts = match approval {
            Ok(Approval::Approved(accounts)) => accounts,
            // Temporary errors are retried until the connect flow expires.
            Ok(Approval::Pending) | Err(ConnectError::Unreachable) => return Ok(false),
            Err(error) => {
                self.end_without_account(loaded, &error.to_string()).await?;
                return Ok(true);
            }
        };
        let now = self.api.clock.now();
        let is_first = store
            .advance_connect_flow(&loaded.hash, &[FlowState::AwaitingApproval], FlowState::Completing, None, now)
            .await?;
        if is_first && let Err(error) = self.complete_flow(loaded, platform, accounts).await {
            tracing::error!(%error, platform = platform.name(), "an approved account could not be stored");
            // An approval may be valid only once, so the connect flow cannot continue.
            self.end_without_account(loaded, "something went wrong on our side").await?;
        }
        Ok(true)
    }

    pub(crate) async fn wait_page(
        &self,
        platform: &dyn Connect,
        visit: &FlowVisit,
    ) -> Result<Response, FlowAccessError> {
        let instructions = self.instructions(&visit.loaded).await?;
        let title = platform.rules().title;
        let page = WaitPage {
            action: action(&visit.loaded),
            csrf: visit.participant.csrf(),
            title: &title,
            recipient: &visit.recipient,
            text: &instructions.text,
            url: instructions.url.as_deref().filter(|it| is_web_address(it)),
            code: instructions.code.as_deref(),
        };
        let page = visit.framed(Page::render(format!("Approve access on {title}"), &page)?);
        Ok(with_refresh(page, RELOAD))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use platforms::ConnectError;
    use serde_json::json;

    use crate::testing::{Harness, PlatformBehavior};

    fn seconds(count: i64) -> TimeDelta {
        TimeDelta::seconds(count)
    }

    #[tokio::test]
    async fn approval_in_an_app_connects_the_account_while_the_page_waits() {
        let harness = Harness::new().await;
        let begun = harness.begin("elsewhere").await;

        let page = harness.page(&begun).await;
        assert_eq!((page.status, harness.platform.polls()), (200, 1));
        for shown in ["Send the code to our robot.", "WXYZ", "https://elsewhere.example/robot", "I have approved it"] {
            assert!(page.html.contains(shown), "{shown}: {}", page.html);
        }
        assert!(page.html.contains(&harness.recipient().replace('\'', "&#39;")), "{}", page.html);
        assert_eq!(harness.poll(&begun).await.body["status"], "pending");

        harness.platform.approve(Ok("7"));
        harness.clock.advance(seconds(10));
        let page = harness.page(&begun).await;
        assert_eq!((page.status, page.location), (303, Some(format!("/connect/{}", begun.token))));
        assert!(harness.page(&begun).await.html.contains("is connected"));
        let completed = harness.poll(&begun).await;
        assert_eq!(completed.body["connection"]["username"], "user7");
        assert_eq!(harness.events.names(), ["connection.created"]);
        assert_eq!(harness.platform.polls(), 2, "nobody asks any more");
    }

    #[tokio::test]
    async fn polling_client_advances_the_flow_to_the_choice_of_accounts() {
        let harness = Harness::new().await;
        let begun = harness.begin("elsewhere").await;
        harness.platform.approve(Ok("7,8"));

        assert_eq!(harness.poll(&begun).await.body["status"], "pending", "the person has to choose");
        assert!(harness.page(&begun).await.html.contains("name=\"account.8\""));
        assert_eq!(harness.send(&begun, "account.8=on").await.status, 303);

        assert_eq!(harness.poll(&begun).await.body["connection"]["username"], "user8");
    }

    #[tokio::test]
    async fn platform_is_polled_at_most_every_ten_seconds() {
        let harness = Harness::new().await;
        let begun = harness.begin("elsewhere").await;

        for _ in 0..30 {
            futures::future::join_all((0..4).map(|_| harness.page(&begun))).await;
            harness.poll(&begun).await;
            harness.clock.advance(seconds(1));
        }

        assert_eq!(harness.platform.polls(), 3);
        assert_eq!(
            harness
                .get_as_another(&format!("/api/v1/connections/connect/elsewhere/status/{}", begun.token))
                .await
                .status,
            404
        );
    }

    #[tokio::test]
    async fn unreachable_platform_is_polled_again_and_a_denial_ends_the_flow() {
        let harness = Harness::new().await;
        let begun = harness.begin("elsewhere").await;
        harness.platform.set_behavior(PlatformBehavior::Broken);
        assert_eq!(harness.page(&begun).await.status, 200);
        harness.platform.set_behavior(PlatformBehavior::Willing);
        harness.platform.approve(Err(ConnectError::Denied));
        harness.clock.advance(seconds(10));

        assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
        assert!(harness.page(&begun).await.html.contains("Access was denied"));
        assert_eq!(harness.platform.polls(), 2);
    }

    #[tokio::test]
    async fn approval_after_expiry_or_cancellation_connects_nothing() {
        let harness = Harness::new().await;
        let late = harness.begin("elsewhere").await;
        harness.platform.approve(Ok("7"));
        harness.clock.advance(seconds(600));
        assert_eq!((harness.page(&late).await.status, harness.poll(&late).await.status), (410, 410));

        let cancelled = harness.begin("elsewhere").await;
        assert_eq!(harness.send(&cancelled, "account.7=on").await.status, 303, "there is nothing to send");
        assert_eq!(harness.send(&cancelled, "cancel=1").await.status, 303);
        assert_eq!(harness.poll(&cancelled).await.body, json!({"status": "failed"}));

        assert_eq!(harness.platform.polls(), 0);
        assert!(harness.events.names().is_empty());
    }

    #[tokio::test]
    async fn guest_confirms_first_and_continues_only_in_that_browser() {
        let harness = Harness::with_guests().await;
        let begun = harness.begin("elsewhere").await;
        let page = harness.page(&begun).await;
        assert!(!page.html.contains("WXYZ"), "{}", page.html);

        assert_eq!(harness.send(&begun, "").await.status, 303);
        assert!(harness.page(&begun).await.html.contains("WXYZ"));
        let stranger = crate::testing::Browser::default();
        let refused = harness.visit_in(&stranger, &format!("/connect/{}", begun.token)).await;
        assert!(!refused.html.contains("WXYZ"), "{}", refused.html);
    }
}
