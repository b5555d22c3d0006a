//! The buttons of `/account/webhooks`: test, disable, enable and delete an endpoint.

use api::page::{Filled, PageError, PageResult};
use api::{ClientIp, SignedIn};
use axum::extract::State;
use axum::response::Redirect;
use cloud::audit;
use domain::id::{UserId, WebhookId};
use domain::webhook::{EndpointStatus, EventKind};
use http::StatusCode;
use serde::Deserialize;
use storage::StorageError;

use crate::App;
use crate::change_webhook::Changes;

#[derive(Deserialize)]
pub(crate) struct WebhookForm {
    csrf: String,
    webhook: String,
    action: Action,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Test,
    Disable,
    Enable,
    Delete,
}

/// Does what the pressed button says.
pub(crate) async fn act_on_webhook(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Filled(form): Filled<WebhookForm>,
) -> PageResult<Redirect> {
    session.check(&form.csrf)?;
    let webhook = WebhookId::parse(&form.webhook).ok_or_else(not_there)?;
    let (event, disabled, mut done) = match form.action {
        Action::Test => return test(&app, session.user, webhook).await,
        Action::Disable => (audit::Event::WebhookChanged, Some(true), "disabled"),
        Action::Enable => (audit::Event::WebhookChanged, Some(false), "enabled"),
        Action::Delete => (audit::Event::WebhookRemoved, None, "deleted"),
    };
    let is_done = if disabled.is_some() {
        let changes = Changes { disabled, ..Changes::default() };
        let record = app.change(session.user, webhook, &changes).await.map_err(failed)?;
        if record.as_ref().is_some_and(|it| it.endpoint.status() == EndpointStatus::Unverified) {
            done = "unverified";
        }
        record.is_some()
    } else {
        app.api.store.remove_webhook(session.user, webhook).await?
    };
    if !is_done {
        return Err(not_there());
    }
    audit::Entry::new(event).user(session.user).address(address.0).write();
    Ok(Redirect::to(&format!("/account/webhooks?done={done}")))
}

async fn test(app: &App, user: UserId, webhook: WebhookId) -> PageResult<Redirect> {
    let record = app.api.store.webhook(user, webhook).await?.ok_or_else(not_there)?;
    if !record.endpoint.accepts(EventKind::WebhookTest) {
        let text = "Nothing was sent. Enable the webhook first.";
        return Err(PageError::new(StatusCode::CONFLICT, "The webhook is disabled", text)
            .with_link("/account/webhooks", "Go to your webhooks"));
    }
    app.test(user, webhook).await?;
    Ok(Redirect::to("/account/webhooks?done=tested"))
}

fn not_there() -> PageError {
    let text = "It was deleted, or it never was yours.";
    PageError::new(StatusCode::NOT_FOUND, "There is no such webhook", text)
        .with_link("/account/webhooks", "Go to your webhooks")
}

fn failed(error: StorageError) -> PageError {
    match error {
        StorageError::Contended => {
            let text = "Nothing was changed. Try again.";
            PageError::new(StatusCode::CONFLICT, "The webhook is being changed", text)
                .with_link("/account/webhooks", "Go to your webhooks")
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Harness;

    #[tokio::test]
    async fn an_owner_sends_a_test_that_enables_the_endpoint() {
        let world = Harness::new().await;
        let webhook = world.unverified().await["id"].to_string();
        let page = world.page("/account/webhooks").await;
        for shown in ["Unverified", "Send test", "Created by a client that gave no name"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }

        assert_eq!(world.submit(&webhook, "test").await, (303, "/account/webhooks?done=tested".to_owned()));
        world.work().await;
        assert_eq!(world.got().len(), 1);
        assert!(world.page("/account/webhooks?done=tested").await.contains("Enabled"));

        world.submit(&webhook, "disable").await;
        assert_eq!(world.submit(&webhook, "test").await.0, 409);
        assert_eq!(world.submit("7", "test").await.0, 404);
    }

    #[tokio::test]
    async fn a_person_disables_enables_and_deletes_an_endpoint() {
        let world = Harness::new().await;
        let webhook = world.webhook().await["id"].to_string();
        let disabled = async || world.call("GET", &format!("/webhooks/{webhook}"), None).await.1["disabled"] == true;

        assert_eq!(world.submit(&webhook, "disable").await, (303, "/account/webhooks?done=disabled".to_owned()));
        assert!(disabled().await);
        world.app.fan_out(&world.event(1)).await.unwrap();
        world.work().await;
        assert!(world.got().is_empty());
        assert!(world.page("/account/webhooks?done=disabled").await.contains("Disabled by you or"));

        assert_eq!(world.submit(&webhook, "enable").await.0, 303);
        assert!(!disabled().await);

        assert_eq!(world.submit(&webhook, "delete").await.0, 303);
        assert_eq!(world.call("GET", &format!("/webhooks/{webhook}"), None).await.0, 404);
        assert_eq!(world.submit(&webhook, "delete").await.0, 404);
        assert_eq!(world.submit("x", "disable").await.0, 404);
    }
}
