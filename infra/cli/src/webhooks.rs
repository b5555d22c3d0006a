//! `social webhooks …`.

use client::{ListDeliveries, NewWebhook, Webhook, WebhookChanges, WebhookDelivery, WebhookStatus, WebhookWithSecret};
use secrecy::ExposeSecret;

use crate::arguments::WebhooksCommand;
use crate::error::CliError;
use crate::output::{self, plain};
use crate::posting::local;
use crate::session::Session;

pub(crate) async fn run(session: &Session, command: WebhooksCommand) -> Result<(), CliError> {
    let client = &session.client;
    let print = |json: &str, words: String| output::print_done(if session.json { json } else { &words });
    match command {
        WebhooksCommand::List => list(session).await,
        WebhooksCommand::Create { endpoint, events } => {
            let webhook = NewWebhook { url: endpoint, events: (!events.is_empty()).then_some(events) };
            let made = client.create_webhook(&webhook).await?;
            print(&made.json, with_secret(&made))?;
            explain(&made.webhook);
            Ok(())
        }
        WebhooksCommand::Show { id } => {
            let webhook = client.show_webhook(id).await.map_err(CliError::about("webhook", id))?;
            print(&webhook.json, describe(&webhook))?;
            explain(&webhook);
            Ok(())
        }
        WebhooksCommand::Edit { id, endpoint, events, disable, enable } => {
            let disabled = (disable || enable).then_some(disable);
            let changes = WebhookChanges { url: endpoint, events: (!events.is_empty()).then_some(events), disabled };
            if changes == WebhookChanges::default() {
                return Err(CliError::Usage(
                    "nothing to change; add an option, see `social webhooks edit --help`".to_owned(),
                ));
            }
            let webhook = client.change_webhook(id, &changes).await.map_err(CliError::about("webhook", id))?;
            print(&webhook.json, describe(&webhook))?;
            explain(&webhook);
            Ok(())
        }
        WebhooksCommand::Delete { id } => {
            client.delete_webhook(id).await.map_err(CliError::about("webhook", id))?;
            output::print_done(&format!("Webhook {id} is deleted"))
        }
        WebhooksCommand::Test { id } => {
            let delivery = client.test_webhook(id).await.map_err(CliError::about("webhook", id))?;
            let see = format!("Test event sent; see the response with `social webhooks deliveries {id}`");
            print(&delivery.json, see)
        }
        WebhooksCommand::Rotate { id } => {
            let rotated = client.rotate_secret(id).await.map_err(CliError::about("webhook", id))?;
            print(&rotated.json, with_secret(&rotated))
        }
        WebhooksCommand::Deliveries { id, per_page, before } => deliveries(session, id, per_page, before).await,
        WebhooksCommand::Redeliver { id, delivery } => {
            let again = client.redeliver(id, &delivery).await?;
            print(
                &again.json,
                format!(
                    "Delivery {} is sent again; see the response with `social webhooks deliveries {id}`",
                    plain(&again.id)
                ),
            )
        }
        WebhooksCommand::Key => {
            let key = client.show_webhook_key().await?;
            print(&key.json, plain(&key.public_key))
        }
    }
}

async fn list(session: &Session) -> Result<(), CliError> {
    let webhooks = session.client.list_webhooks().await?;
    if session.json {
        return output::line(&webhooks.json);
    }
    let row = |it: &Webhook| vec![it.id.to_string(), it.url.clone(), events(it), status_text(it)];
    output::table(&["ID", "ENDPOINT", "EVENTS", "STATE"], &webhooks.data.iter().map(row).collect::<Vec<_>>())
}

async fn deliveries(session: &Session, id: u64, per_page: u64, before: Option<String>) -> Result<(), CliError> {
    let query = ListDeliveries { per_page: Some(per_page), before };
    let deliveries = session.client.list_deliveries(id, &query).await.map_err(CliError::about("webhook", id))?;
    if session.json {
        return output::line(&deliveries.json);
    }
    let row = |it: &WebhookDelivery| {
        let last = it.attempts.last().map(|it| match (it.status, &it.error) {
            (Some(status), _) => status.to_string(),
            (None, error) => error.clone().unwrap_or_default(),
        });
        let (at, status) = (local(it.created_at.0), it.status.as_str().to_owned());
        vec![it.id.clone(), it.event.clone(), at, status, last.unwrap_or_default()]
    };
    output::table(&["ID", "EVENT", "AT", "STATE", "RESPONSE"], &deliveries.data.iter().map(row).collect::<Vec<_>>())?;
    if let Some(next) = &deliveries.meta.next {
        output::notice(&format!("next page: social webhooks deliveries {id} --before {}", plain(next)));
    }
    Ok(())
}

fn events(webhook: &Webhook) -> String {
    if webhook.events.is_empty() { "all".to_owned() } else { webhook.events.join(", ") }
}

fn status_text(webhook: &Webhook) -> String {
    let status = webhook.status.as_str();
    match (&webhook.disabled_reason, webhook.failing_since) {
        (Some(reason), _) => format!("{status} ({reason})"),
        (None, Some(since)) => format!("{status}, failing since {}", local(since.0)),
        (None, None) => status.to_owned(),
    }
}

pub(crate) fn explain(webhook: &Webhook) {
    let id = webhook.id;
    match webhook.status {
        WebhookStatus::Unverified => output::notice(&format!(
            "Webhook {id} receives events after it responds to a test with 2xx: social webhooks test {id}"
        )),
        WebhookStatus::Disabled => {
            output::notice(&format!(
                "Webhook {id} is disabled and receives no events: social webhooks edit {id} --enable"
            ));
        }
        WebhookStatus::Enabled | WebhookStatus::Other(_) => {}
    }
}

fn describe(webhook: &Webhook) -> String {
    plain(&format!("Webhook {}: {}, events: {}, {}", webhook.id, webhook.url, events(webhook), status_text(webhook)))
}

fn with_secret(made: &WebhookWithSecret) -> String {
    format!("{}\nSecret, shown only once: {}", describe(&made.webhook), plain(made.secret.expose_secret()))
}
