//! The buttons of `/account/webhooks`: test, disable, enable and delete an endpoint, and deliver an
//! event again.

use api::page::{PageError, PageForm, PageResult};
use api::{ClientIp, SignedIn};
use axum::extract::State;
use axum::response::Redirect;
use cloud::audit;
use domain::id::{UserId, WebhookId};
use domain::webhook::{EndpointStatus, EventKind, MessageId, WebhookDeliveryId};
use http::StatusCode;
use serde::Deserialize;
use storage::StorageError;

use crate::App;
use crate::change_webhook::Changes;
use crate::redeliver::Redelivered;

#[derive(Deserialize)]
pub(crate) struct WebhookForm {
    csrf: String,
    webhook: String,
    action: Action,
    #[serde(default)]
    delivery: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Test,
    Disable,
    Enable,
    Delete,
    Redeliver,
}

pub(crate) async fn act_on_webhook(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    PageForm(form): PageForm<WebhookForm>,
) -> PageResult<Redirect> {
    session.check(&form.csrf)?;
    let webhook = WebhookId::parse(&form.webhook).ok_or_else(not_found_page)?;
    let (event, disabled, mut done) = match form.action {
        Action::Test => return test(&app, session.user, webhook).await,
        Action::Redeliver => return redeliver(&app, session.user, webhook, &form.delivery).await,
        Action::Disable => (audit::Event::WebhookChanged, Some(true), "disabled"),
        Action::Enable => (audit::Event::WebhookChanged, Some(false), "enabled"),
        Action::Delete => (audit::Event::WebhookRemoved, None, "deleted"),
    };
    let is_found = if disabled.is_some() {
        let changes = Changes { disabled, ..Changes::default() };
        let record = app.change(session.user, webhook, &changes).await.map_err(change_error_page)?;
        if record.as_ref().is_some_and(|it| it.endpoint.status() == EndpointStatus::Unverified) {
            done = "unverified";
        }
        record.is_some()
    } else {
        app.api.store.remove_webhook(session.user, webhook).await?
    };
    if !is_found {
        return Err(not_found_page());
    }
    audit::Entry::new(event).user(session.user).address(address.0).write();
    Ok(Redirect::to(&format!("/account/webhooks?done={done}")))
}

async fn test(app: &App, user: UserId, webhook: WebhookId) -> PageResult<Redirect> {
    let record = app.api.store.webhook(user, webhook).await?.ok_or_else(not_found_page)?;
    if !record.endpoint.accepts(EventKind::WebhookTest) {
        return Err(not_accepted_page("No test was sent. Enable the webhook first."));
    }
    app.webhooks.send_test(user, webhook).await?;
    Ok(Redirect::to("/account/webhooks?done=tested"))
}

async fn redeliver(app: &App, user: UserId, webhook: WebhookId, delivery: &str) -> PageResult<Redirect> {
    let message_id = MessageId::parse(delivery).ok_or_else(not_found_page)?;
    let name = WebhookDeliveryId { user_id: user, webhook_id: webhook, message_id };
    match app.redeliver(user, &name, || Ok::<_, PageError>(())).await? {
        Redelivered::Queued(_) => Ok(Redirect::to("/account/webhooks?done=redelivered")),
        Redelivered::NotFound => Err(not_found_page()),
        Redelivered::NotAccepted(_) => {
            Err(not_accepted_page("The event was not sent. Enable the webhook first, and send a test."))
        }
    }
}

fn not_accepted_page(text: &str) -> PageError {
    PageError::new(StatusCode::CONFLICT, "The webhook is not enabled", text)
        .with_link("/account/webhooks", "Go to your webhooks")
}

fn not_found_page() -> PageError {
    let text = "The webhook or its delivery was deleted, or belongs to another user.";
    PageError::new(StatusCode::NOT_FOUND, "Webhook not found", text)
        .with_link("/account/webhooks", "Go to your webhooks")
}

fn change_error_page(error: StorageError) -> PageError {
    match error {
        StorageError::Contended => {
            let text = "Another request changed the webhook at the same time, so your change was not saved. Try again.";
            PageError::new(StatusCode::CONFLICT, "The webhook was not changed", text)
                .with_link("/account/webhooks", "Go to your webhooks")
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use crate::testing::Harness;

    #[tokio::test]
    async fn failed_event_is_delivered_again() {
        let harness = Harness::new().await;
        let webhook = harness.webhook().await;
        let id = webhook["id"].to_string();
        harness.respond_with(|| http::StatusCode::INTERNAL_SERVER_ERROR.into_response());
        harness.service.fan_out(&harness.event(1)).await.unwrap();
        harness.work().await;
        harness.respond_with(|| http::StatusCode::OK.into_response());
        let delivery = harness.list_deliveries(&webhook).await[0]["id"].as_str().unwrap().to_owned();
        assert!(harness.page().await.contains("Deliver again"));
        let again = async |delivery: &str| {
            let fields = [("webhook", id.as_str()), ("action", "redeliver"), ("delivery", delivery)];
            harness.send_form(&fields).await
        };

        assert_eq!(again(&delivery).await, 303);
        harness.work().await;

        assert_eq!(harness.list_deliveries(&webhook).await[0]["status"], "delivered");
        assert_eq!(again("msg_unknown").await, 404);
        assert_eq!(harness.submit(&id, "disable").await, 303);
        assert_eq!(again(&delivery).await, 409);
    }

    #[tokio::test]
    async fn disabled_webhook_is_not_tested_and_a_missing_one_is_not_found() {
        let harness = Harness::new().await;
        let webhook = harness.webhook().await["id"].to_string();
        for (webhook, action, status) in [
            (webhook.as_str(), "disable", 303),
            (&webhook, "test", 409),
            (&webhook, "delete", 303),
            (&webhook, "delete", 404),
            ("7", "test", 404),
            ("x", "disable", 404),
        ] {
            assert_eq!(harness.submit(webhook, action).await, status, "{action} {webhook}");
        }
    }
}
