//! `/account/webhooks`: the user's endpoints, their status, and their recent deliveries.

use api::SignedIn;
use api::page::{AccountPage, Page, PageQuery, PageResult, date, date_and_time, distance};
use askama::Template;
use axum::extract::State;
use chrono::{DateTime, Utc};
use domain::profile::ProfileRef;
use domain::time_zone::TimeZone;
use domain::webhook::{
    Attempt, DisabledReason, EndpointStatus, EventKind, WebhookDelivery, WebhookDeliveryStatus, WebhookEndpoint,
};
use futures::future::try_join_all;
use serde::Deserialize;

use crate::App;

const SHOWN: u32 = 10;

#[derive(Deserialize)]
pub(crate) struct WebhooksQuery {
    done: Option<Done>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Tested,
    Unverified,
    Disabled,
    Enabled,
    Deleted,
    Redelivered,
}

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage<'a> {
    csrf: &'a str,
    done: Option<Done>,
    webhooks: Vec<WebhookRow>,
}

struct WebhookRow {
    id: String,
    url: String,
    /// Empty means all events.
    events: Vec<&'static str>,
    /// The customer whose events it receives: the external id of the profile, or the id. `None` for all customers.
    customer: Option<String>,
    created_on: String,
    creator: Option<CreatorView>,
    is_unverified: bool,
    /// `None` if the endpoint is not disabled.
    disabled: Option<&'static str>,
    disabled_on: Option<String>,
    failing_since: Option<String>,
    sent: Vec<DeliveryRow>,
}

struct CreatorView {
    /// The name that the client chose, so it proves nothing.
    name: Option<String>,
    /// The host of the client's id (its metadata document).
    described_by: Option<String>,
}

struct DeliveryRow {
    id: String,
    event: &'static str,
    at: String,
    distance: String,
    state: &'static str,
    is_good: bool,
    is_bad: bool,
    /// Whether the event can be delivered again: its first attempt was made.
    can_repeat: bool,
    tries: usize,
    last: Option<String>,
    next: Option<String>,
}

pub(crate) async fn show_webhooks(
    State(app): State<App>,
    session: SignedIn,
    PageQuery(query): PageQuery<WebhooksQuery>,
) -> PageResult<Page> {
    let (store, now, zone) = (&app.api.store, app.api.clock.now(), session.zone());
    let records = store.webhooks(session.user).await?;
    let rows = records.iter().map(async |it| {
        let endpoint = &it.endpoint;
        let (deliveries, _) = store.webhook_deliveries(endpoint.user_id, endpoint.webhook_id, None, SHOWN).await?;
        Ok::<_, storage::StorageError>(WebhookRow::new(endpoint, &deliveries, &zone, now))
    });
    let page = WebhooksPage { csrf: session.csrf(), done: query.done, webhooks: try_join_all(rows).await? };
    Ok(Page::render("Your webhooks", &page)?.signed_in(&session).with_account_navigation(AccountPage::Webhooks))
}

impl WebhookRow {
    fn new(endpoint: &WebhookEndpoint, deliveries: &[WebhookDelivery], zone: &TimeZone, now: DateTime<Utc>) -> Self {
        let disabled = endpoint.disabled_reason.map(|it| match it {
            DisabledReason::Owner => "Disabled by you or one of your apps.",
            DisabledReason::Gone => "Disabled: the webhook responded with 410 Gone.",
            DisabledReason::Failing => "Disabled: every attempt failed for five days.",
        });
        Self {
            id: endpoint.webhook_id.to_string(),
            url: endpoint.url.to_string(),
            customer: endpoint.of_profile.as_ref().map(ProfileRef::shown_name),
            created_on: date(endpoint.created_at, zone),
            creator: endpoint.created_by.as_ref().map(|it| CreatorView {
                name: it.client_name.as_ref().map(|name| name.as_str().to_owned()),
                described_by: it.client_id.as_ref().map(|id| id.host().to_owned()),
            }),
            is_unverified: endpoint.status() == EndpointStatus::Unverified,
            events: endpoint.events.iter().copied().map(EventKind::as_str).collect(),
            disabled: endpoint.is_disabled().then(|| disabled.unwrap_or("Disabled.")),
            disabled_on: endpoint.disabled_at.map(|it| date(it, zone)),
            failing_since: endpoint.failing_since.filter(|_| !endpoint.is_disabled()).map(|it| date_and_time(it, zone)),
            sent: deliveries.iter().filter(|it| it.is_kept(now)).map(|it| DeliveryRow::new(it, zone, now)).collect(),
        }
    }
}

impl WebhookRow {
    fn is_enabled(&self) -> bool {
        self.disabled.is_none() && !self.is_unverified
    }
}

impl DeliveryRow {
    fn new(delivery: &WebhookDelivery, zone: &TimeZone, now: DateTime<Utc>) -> Self {
        Self {
            id: delivery.message.id.to_string(),
            event: delivery.message.kind.as_str(),
            at: date_and_time(delivery.created_at, zone),
            distance: distance(delivery.created_at, now),
            state: match delivery.state {
                WebhookDeliveryStatus::Waiting if delivery.attempts.is_empty() => "Sending",
                WebhookDeliveryStatus::Waiting => "Retrying",
                WebhookDeliveryStatus::Delivered => "Delivered",
                WebhookDeliveryStatus::Failed => "Failed",
            },
            is_good: delivery.state == WebhookDeliveryStatus::Delivered,
            is_bad: delivery.state == WebhookDeliveryStatus::Failed,
            can_repeat: !delivery.attempts.is_empty(),
            tries: delivery.attempts.len(),
            last: delivery.attempts.last().map(describe_attempt),
            next: (delivery.state == WebhookDeliveryStatus::Waiting && now < delivery.next_step_at)
                .then(|| distance(delivery.next_step_at, now)),
        }
    }
}

/// "HTTP 500 after 120 ms".
fn describe_attempt(attempt: &Attempt) -> String {
    let elapsed = attempt.took_ms;
    match (attempt.status, attempt.error.as_deref()) {
        (Some(status), _) => format!("HTTP {status} after {elapsed} ms"),
        (None, Some(error)) => format!("Not delivered: {error}"),
        (None, None) => format!("No response after {elapsed} ms"),
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http::StatusCode;

    use crate::testing::Harness;

    #[tokio::test]
    async fn page_shows_response_of_the_last_attempt() {
        let harness = Harness::new().await;
        harness.webhook().await;
        harness.respond_with(|| StatusCode::INTERNAL_SERVER_ERROR.into_response());
        harness.service.fan_out(&harness.event(1)).await.unwrap();
        harness.work().await;

        let page = harness.page().await;

        for shown in [&harness.url, "post.published", "HTTP 500", "Retrying", "in less than a minute"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
    }
}
