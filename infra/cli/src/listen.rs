//! `social listen`: forwards a webhook's events to a program on this machine.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use client::{Error, ListDeliveries, Timestamp, WebhookDelivery};
use secrecy::{ExposeSecret, SecretString};
use standardwebhooks::Webhook;
use url::Url;

use crate::arguments::Listen;
use crate::error::CliError;
use crate::output::{self, notice, plain};
use crate::session::{self, Session};
use crate::webhooks::explain;

/// How much later than a newer delivery a delivery may appear in the list.
const MAY_BE_LATE: TimeDelta = TimeDelta::minutes(2);

/// Pages of 100 deliveries that are read at once.
const MAX_PAGES: usize = 20;

const ANSWER_WITHIN: Duration = Duration::from_secs(15);

const TRIES: u64 = 3;

/// Runs until the process ends.
pub(crate) async fn run(session: &Session, arguments: &Listen) -> Result<(), CliError> {
    let webhook = choose_webhook(session, arguments.webhook).await?;
    let receiver =
        arguments.forward.as_deref().map(|it| LocalReceiver::new(it, arguments.secret.as_deref())).transpose()?;
    let mut seen = SeenDeliveries::default();
    for delivery in seen.fresh(session, webhook).await? {
        seen.note(&delivery);
    }
    notice(&format!("Listening to webhook {webhook}. Press Ctrl-C to stop."));
    loop {
        tokio::time::sleep(Duration::from_secs(arguments.every)).await;
        let fresh = match seen.fresh(session, webhook).await {
            Ok(fresh) => fresh,
            Err(Error::Unreachable(why)) => {
                notice(&format!("the events could not be read ({why}); trying again"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for delivery in fresh {
            seen.note(&delivery);
            forward(receiver.as_ref(), &delivery).await?;
        }
    }
}

async fn choose_webhook(session: &Session, wanted_id: Option<u64>) -> Result<u64, CliError> {
    if let Some(id) = wanted_id {
        let webhook = session.client.show_webhook(id).await.map_err(CliError::about("webhook", id))?;
        explain(&webhook);
        return Ok(webhook.id);
    }
    let webhooks = session.client.list_webhooks().await?;
    match webhooks.data.as_slice() {
        [one] => {
            explain(one);
            Ok(one.id)
        }
        [] => {
            Err(CliError::Usage("you have no webhook; create one with `social webhooks create https://…`".to_owned()))
        }
        several => {
            let ids: Vec<_> = several.iter().map(|it| it.id.to_string()).collect();
            Err(CliError::Usage(format!("you have several webhooks; name one of {}", ids.join(", "))))
        }
    }
}

#[derive(Default)]
struct SeenDeliveries {
    ids: BTreeMap<String, Timestamp>,
}

impl SeenDeliveries {
    /// Oldest first. A delivery may appear in the list later than a newer one, so a window is read
    /// again.
    async fn fresh(&self, session: &Session, webhook: u64) -> Result<Vec<WebhookDelivery>, Error> {
        let newest = self.ids.values().max();
        let floor = newest.map(|it| it.0 - MAY_BE_LATE);
        let mut fresh = Vec::new();
        let mut query = ListDeliveries { per_page: Some(100), before: None };
        for _ in 0..MAX_PAGES {
            let page = session.client.list_deliveries(webhook, &query).await?.value;
            let is_late = |it: &WebhookDelivery| floor.is_some_and(|floor| it.created_at.0 < floor);
            let reached = page.data.iter().any(is_late);
            fresh.extend(page.data.into_iter().filter(|it| !is_late(it) && !self.ids.contains_key(&it.id)));
            query.before = page.meta.next;
            if reached || query.before.is_none() {
                break;
            }
        }
        fresh.reverse();
        Ok(fresh)
    }

    fn note(&mut self, delivery: &WebhookDelivery) {
        self.ids.insert(delivery.id.clone(), delivery.created_at);
        if let Some(newest) = self.ids.values().max().copied() {
            // Twice the window, so that no delivery at its edge is forwarded again.
            self.ids.retain(|_, at| newest.0 - MAY_BE_LATE * 2 < at.0);
        }
    }
}

async fn forward(receiver: Option<&LocalReceiver>, delivery: &WebhookDelivery) -> Result<(), CliError> {
    let payload = serde_json::to_string(&delivery.payload).map_err(|it| CliError::Failed(it.to_string()))?;
    let Some(receiver) = receiver else { return output::line(&payload) };
    let result = receiver.send(&delivery.id, payload).await;
    output::line(&format!("{}  {}  {result}", plain(&delivery.event), plain(&delivery.id)))
}

struct LocalReceiver {
    http: reqwest::Client,
    url: Url,
    signer: Webhook,
}

impl LocalReceiver {
    fn new(url: &str, secret: Option<&str>) -> Result<Self, CliError> {
        let wrong = || CliError::Usage(format!("{url:?} isn't a URL such as http://localhost:4000/hooks"));
        let url = Url::parse(url).ok().filter(|it| matches!(it.scheme(), "http" | "https")).ok_or_else(wrong)?;
        let secret = match secret {
            Some(secret) => SecretString::from(secret),
            None => random_secret()?,
        };
        let signer = Webhook::new(secret.expose_secret());
        let signer = signer.map_err(|_| {
            CliError::Usage("SOCIAL_WEBHOOK_SECRET is not a webhook secret; it starts with whsec_".to_owned())
        })?;
        Ok(Self { http: session::http(true)?, url, signer })
    }

    async fn send(&self, id: &str, payload: String) -> String {
        let mut result = String::new();
        for attempt in 1..=TRIES {
            match self.attempt(id, payload.clone(), Utc::now()).await {
                Ok(status) if status.is_success() => return status.as_u16().to_string(),
                Ok(status) => result = status.as_u16().to_string(),
                Err(why) => result = why,
            }
            if attempt < TRIES {
                tokio::time::sleep(Duration::from_secs(attempt)).await;
            }
        }
        result
    }

    async fn attempt(&self, id: &str, payload: String, at: DateTime<Utc>) -> Result<reqwest::StatusCode, String> {
        let signature = self.signer.sign(id, at.timestamp(), payload.as_bytes()).map_err(|it| it.to_string())?;
        let request = self.http.post(self.url.clone()).timeout(ANSWER_WITHIN);
        let request = request.header("content-type", "application/json").header("webhook-id", id);
        let request = request.header("webhook-timestamp", at.timestamp()).header("webhook-signature", signature);
        let sent = request.body(payload).send().await;
        sent.map(|it| it.status())
            .map_err(|it| if it.is_timeout() { "no response in time" } else { "no connection" }.to_owned())
    }
}

/// Prints the secret for the user.
fn random_secret() -> Result<SecretString, CliError> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|it| CliError::Failed(it.to_string()))?;
    let secret = format!("whsec_{}", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes));
    notice(&format!("Messages are signed with the temporary secret {secret}"));
    Ok(secret.into())
}
