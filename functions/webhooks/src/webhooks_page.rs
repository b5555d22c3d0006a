//! `/account/webhooks`: endpoints, whether they listen, and their last attempts.

use api::SignedIn;
use api::page::{Asked, Page, PageResult, Part, date, date_and_time, distance};
use askama::Template;
use axum::extract::State;
use chrono::{DateTime, Utc};
use domain::webhook::{
    Attempt, DisabledReason, EndpointStatus, EventKind, WebhookDelivery, WebhookDeliveryStatus, WebhookEndpoint,
};
use futures::future::try_join_all;
use serde::Deserialize;

use crate::App;

/// How many of what was sent to an endpoint are shown.
const SHOWN: u32 = 10;

#[derive(Deserialize)]
pub(crate) struct WebhooksQuery {
    done: Option<Done>,
}

/// What a button of the page has just done.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Tested,
    Unverified,
    Disabled,
    Enabled,
    Deleted,
}

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage<'a> {
    csrf: &'a str,
    done: Option<Done>,
    webhooks: Vec<Row>,
}

/// An endpoint.
struct Row {
    id: String,
    url: String,
    /// What it is told of; empty is everything.
    events: Vec<&'static str>,
    created_on: String,
    creator: Option<Creator>,
    is_unverified: bool,
    /// Why it is told nothing.
    disabled: Option<&'static str>,
    disabled_on: Option<String>,
    failing_since: Option<String>,
    sent: Vec<Sent>,
}

/// The client that created an endpoint.
struct Creator {
    /// What it calls itself.
    name: Option<String>,
    /// The server that describes it.
    described_by: Option<String>,
}

/// An event that was sent.
struct Sent {
    event: &'static str,
    at: String,
    distance: String,
    state: &'static str,
    is_good: bool,
    is_bad: bool,
    tries: usize,
    /// What the last attempt ended with.
    last: Option<String>,
    next: Option<String>,
}

/// Shows the webhooks, oldest first, each with what was last sent to it.
pub(crate) async fn show_webhooks(
    State(app): State<App>,
    session: SignedIn,
    Asked(query): Asked<WebhooksQuery>,
) -> PageResult<Page> {
    let (store, now) = (&app.api.store, app.api.clock.now());
    let records = store.webhooks(session.user).await?;
    let rows = records.iter().map(async |it| {
        let endpoint = &it.endpoint;
        let (notices, _) = store.webhook_deliveries(endpoint.user_id, endpoint.webhook_id, None, SHOWN).await?;
        Ok::<_, storage::StorageError>(Row::of(endpoint, &notices, now))
    });
    let page = WebhooksPage { csrf: session.csrf(), done: query.done, webhooks: try_join_all(rows).await? };
    Ok(Page::of("Your webhooks", &page)?.signed_in(&session).of_account(Part::Webhooks))
}

impl Row {
    fn of(endpoint: &WebhookEndpoint, notices: &[WebhookDelivery], now: DateTime<Utc>) -> Self {
        let disabled = endpoint.disabled_reason.map(|it| match it {
            DisabledReason::Owner => "Disabled by you or a program of yours.",
            DisabledReason::Gone => "Disabled: it answered that it is gone (410).",
            DisabledReason::Failing => "Disabled: it failed for five days.",
        });
        Self {
            id: endpoint.webhook_id.to_string(),
            url: endpoint.url.to_string(),
            created_on: date(endpoint.created_at),
            creator: endpoint.created_by.as_ref().map(|it| Creator {
                name: it.client_name.as_ref().map(|name| name.as_str().to_owned()),
                described_by: it.client_id.as_ref().map(|id| id.host().to_owned()),
            }),
            is_unverified: endpoint.status() == EndpointStatus::Unverified,
            events: endpoint.events.iter().copied().map(EventKind::as_str).collect(),
            disabled: endpoint.is_disabled().then(|| disabled.unwrap_or("Disabled.")),
            disabled_on: endpoint.disabled_at.map(date),
            failing_since: endpoint.failing_since.filter(|_| !endpoint.is_disabled()).map(date_and_time),
            sent: notices.iter().filter(|it| it.is_kept(now)).map(|it| Sent::of(it, now)).collect(),
        }
    }
}

impl Sent {
    fn of(notice: &WebhookDelivery, now: DateTime<Utc>) -> Self {
        Self {
            event: notice.message.kind.as_str(),
            at: date_and_time(notice.created_at),
            distance: distance(notice.created_at, now),
            state: match notice.state {
                WebhookDeliveryStatus::Waiting => "On its way",
                WebhookDeliveryStatus::Delivered => "Delivered",
                WebhookDeliveryStatus::Failed => "Failed",
            },
            is_good: notice.state == WebhookDeliveryStatus::Delivered,
            is_bad: notice.state == WebhookDeliveryStatus::Failed,
            tries: notice.attempts.len(),
            last: notice.attempts.last().map(answered),
            next: (notice.state == WebhookDeliveryStatus::Waiting && now < notice.next_step_at)
                .then(|| distance(notice.next_step_at, now)),
        }
    }
}

/// How an attempt ended: "It answered 500 after 120 ms".
fn answered(attempt: &Attempt) -> String {
    let took = attempt.took_ms;
    match (attempt.status, attempt.error.as_deref()) {
        (Some(status), _) => format!("It answered {status} after {took} ms"),
        (None, Some(error)) => format!("It was not delivered: {error}"),
        (None, None) => format!("It was not delivered, after {took} ms"),
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http::StatusCode;

    use crate::testing::Harness;

    #[tokio::test]
    async fn a_person_sees_what_their_endpoint_answered() {
        let world = Harness::new().await;
        world.webhook().await;
        world.answer(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
        world.app.fan_out(&world.event(1)).await.unwrap();
        world.work().await;

        let page = world.page("/account/webhooks").await;

        for shown in [&world.url, "post.published", "answered 500", "On its way", "in less than a minute"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
    }

    #[tokio::test]
    async fn somebody_without_webhooks_is_told_what_they_are() {
        let page = Harness::new().await.page("/account/webhooks").await;
        assert!(page.contains("No webhook"), "{page}");
    }
}
