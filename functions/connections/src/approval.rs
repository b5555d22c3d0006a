//! Approvals that are given elsewhere: in an app, or on another device. Nobody is
//! sent back to us, so the platform is asked, while a page or a program waits.

use std::time::Duration;

use api::NoPermit;
use api::page::Page;
use askama::Template;
use axum::http::HeaderValue;
use axum::response::Response;
use chrono::TimeDelta;
use domain::web_address::is_web_address;
use platforms::{Approval, Connect, ConnectError};
use storage::{FlowState, WriteOutcome};

use crate::App;
use crate::access_error::FlowAccessError;
use crate::connect_flow::LoadedFlow;
use crate::error::ConnectionsError;
use crate::participant::FlowVisit;
use crate::recipient::Recipient;
use crate::show_connect_flow::{action, leading_on};
use crate::timeouts::within;

/// How often the platform is asked at most, however many wait.
const LOOK_EVERY: TimeDelta = TimeDelta::seconds(10);

/// How long it may take to answer: less than [`LOOK_EVERY`], so that it is asked
/// one thing at a time.
const LOOKED_WITHIN: Duration = Duration::from_secs(8);

/// The page loads itself anew after so many seconds.
const RELOAD: HeaderValue = HeaderValue::from_static("5");

/// The page that says what to do elsewhere.
#[derive(Template)]
#[template(path = "wait.html")]
struct WaitPage<'a> {
    action: String,
    csrf: String,
    title: &'a str,
    receiver: &'a Recipient,
    text: &'a str,
    url: Option<&'a str>,
    code: Option<&'a str>,
}

impl App {
    /// Asks the platform whether an approval that is waited for was given, if it
    /// was not asked just now. True when the connect flow has changed by it.
    pub(crate) async fn look_for_approval(&self, visit: &LoadedFlow) -> Result<bool, ConnectionsError> {
        let (connect_flow, now) = (&visit.flow, self.api.clock.now());
        if connect_flow.state != FlowState::AwaitingApproval || !connect_flow.is_open(now) {
            return Ok(false);
        }
        let Some(platform) = self.platforms.get(&connect_flow.provider) else { return Ok(false) };
        let store = &self.api.store;
        if store.lock_approval_check(&visit.hash, now + LOOK_EVERY, now).await? == WriteOutcome::Conflict {
            return Ok(false);
        }
        let mut away = self.away(visit).await?;
        let host = away.host.take();
        let awaited = self.awaited(platform, away);
        let asked = within(LOOKED_WITHIN, platform.poll(&awaited, now));
        let polled = match self.api.with_permit(connect_flow.user_id, host.as_deref(), asked).await {
            Ok(polled) => polled,
            Err(NoPermit::Busy) => return Ok(false),
            Err(NoPermit::Storage(error)) => return Err(error.into()),
        };
        let accounts = match polled {
            Ok(Approval::Approved(accounts)) => accounts,
            // What may pass is asked again, until the connect flow expires.
            Ok(Approval::Pending) | Err(ConnectError::Unreachable) => return Ok(false),
            Err(refusal) => {
                self.end_without_account(visit, &refusal.to_string()).await?;
                return Ok(true);
            }
        };
        let now = self.api.clock.now();
        let is_first = store
            .advance_connect_flow(&visit.hash, &[FlowState::AwaitingApproval], FlowState::Completing, None, now)
            .await?;
        if is_first && let Err(failure) = self.complete_flow(visit, platform, accounts).await {
            tracing::error!(%failure, platform = platform.name(), "an approved account could not be kept");
            // The approval may be good only once, so the connect flow cannot go on.
            self.end_without_account(visit, "something failed on our side").await?;
        }
        Ok(true)
    }

    /// The page for whoever has to approve it elsewhere.
    pub(crate) async fn wait_page(
        &self,
        platform: &dyn Connect,
        entered: &FlowVisit,
    ) -> Result<Response, FlowAccessError> {
        let instructions = self.instructions(&entered.flow).await?;
        let title = platform.rules().title;
        let page = WaitPage {
            action: action(&entered.flow),
            csrf: entered.participant.csrf(),
            title: &title,
            receiver: &entered.recipient,
            text: &instructions.text,
            url: instructions.url.as_deref().filter(|it| is_web_address(it)),
            code: instructions.code.as_deref(),
        };
        let page = entered.framed(Page::of(format!("Approve it at {title}"), &page)?);
        Ok(leading_on(page, RELOAD))
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
    async fn an_approval_elsewhere_connects_the_account_while_the_page_waits() {
        let world = Harness::new().await;
        let begun = world.begin("elsewhere").await;

        let page = world.page(&begun).await;
        assert_eq!((page.status, world.platform.looked()), (200, 1));
        for shown in ["Send the code to our robot.", "WXYZ", "https://elsewhere.example/robot", "I have done it"] {
            assert!(page.html.contains(shown), "{shown}: {}", page.html);
        }
        assert!(page.html.contains(&world.receiver().replace('\'', "&#39;")), "{}", page.html);
        assert_eq!(world.poll(&begun).await.body["status"], "pending");

        world.platform.approve(Ok("7"));
        world.clock.advance(seconds(10));
        let page = world.page(&begun).await;
        assert_eq!((page.status, page.location), (303, Some(format!("/connect/{}", begun.token))));
        assert!(world.page(&begun).await.html.contains("is connected"));
        let completed = world.poll(&begun).await;
        assert_eq!(completed.body["connection"]["username"], "user7");
        assert_eq!(world.events.names(), ["connection.created"]);
        assert_eq!(world.platform.looked(), 2, "nobody asks any more");
    }

    #[tokio::test]
    async fn a_program_that_polls_is_enough_and_one_of_several_accounts_is_chosen() {
        let world = Harness::new().await;
        let begun = world.begin("elsewhere").await;
        world.platform.approve(Ok("7,8"));

        assert_eq!(world.poll(&begun).await.body["status"], "pending", "the person has to choose");
        assert!(world.page(&begun).await.html.contains("name=\"account.8\""));
        assert_eq!(world.send(&begun, "account.8=on").await.status, 303);

        assert_eq!(world.poll(&begun).await.body["connection"]["username"], "user8");
    }

    #[tokio::test]
    async fn the_platform_is_asked_now_and_then_whoever_waits() {
        let world = Harness::new().await;
        let begun = world.begin("elsewhere").await;

        for _ in 0..30 {
            futures::future::join_all((0..4).map(|_| world.page(&begun))).await;
            world.poll(&begun).await;
            world.clock.advance(seconds(1));
        }

        assert_eq!(world.platform.looked(), 3);
        assert_eq!(
            world.get_as_another(&format!("/api/v1/connections/connect/elsewhere/status/{}", begun.token)).await.status,
            404
        );
    }

    #[tokio::test]
    async fn a_platform_that_is_down_is_asked_again_and_a_no_ends_it() {
        let world = Harness::new().await;
        let begun = world.begin("elsewhere").await;
        world.platform.set_mood(PlatformBehavior::Broken);
        assert_eq!(world.page(&begun).await.status, 200);
        world.platform.set_mood(PlatformBehavior::Willing);
        world.platform.approve(Err(ConnectError::Denied));
        world.clock.advance(seconds(10));

        assert_eq!(world.poll(&begun).await.body, json!({"status": "failed"}));
        assert!(world.page(&begun).await.html.contains("Access was denied"));
        assert_eq!(world.platform.looked(), 2);
    }

    #[tokio::test]
    async fn an_approval_that_comes_too_late_or_after_a_cancellation_connects_nothing() {
        let world = Harness::new().await;
        let late = world.begin("elsewhere").await;
        world.platform.approve(Ok("7"));
        world.clock.advance(seconds(600));
        assert_eq!((world.page(&late).await.status, world.poll(&late).await.status), (410, 410));

        let cancelled = world.begin("elsewhere").await;
        assert_eq!(world.send(&cancelled, "account.7=on").await.status, 303, "there is nothing to send");
        assert_eq!(world.send(&cancelled, "cancel=1").await.status, 303);
        assert_eq!(world.poll(&cancelled).await.body, json!({"status": "failed"}));

        assert_eq!(world.platform.looked(), 0);
        assert!(world.events.names().is_empty());
    }

    #[tokio::test]
    async fn a_guest_presses_first_and_goes_on_in_that_browser_alone() {
        let world = Harness::with_guests().await;
        let begun = world.begin("elsewhere").await;
        let page = world.page(&begun).await;
        assert!(!page.html.contains("WXYZ"), "{}", page.html);

        assert_eq!(world.send(&begun, "").await.status, 303);
        assert!(world.page(&begun).await.html.contains("WXYZ"));
        let stranger = crate::testing::Browser::default();
        let refused = world.visit_in(&stranger, &format!("/connect/{}", begun.token)).await;
        assert!(!refused.html.contains("WXYZ"), "{}", refused.html);
    }
}
