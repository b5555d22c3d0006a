//! One delivery: its stored state and its history.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use domain::attempt::Attempt;
use domain::delivery::{Delivery, State as DeliveryState};

use super::chain::chain;
use super::history::Record;
use super::list_deliveries::{post_of, post_summary};
use super::story::{Entry, calls_for, story};
use super::verdict::{Color, PlatformView, Verdict};
use super::{Deliveries, Reference, step, time};
use crate::sandbox::pages;

#[derive(Template)]
#[template(path = "sandbox/delivery.html")]
struct DeliveryPage {
    reference: String,
    text: String,
    account: String,
    said: String,
    tone: Color,
    verdict: Verdict,
    /// The calls in one line, if the sandbox has recorded any.
    chain: Option<String>,
    standing: Vec<(&'static str, String)>,
    story: Vec<Entry>,
    /// The start and the result of each call on every platform, newest first.
    attempts: Vec<(String, String)>,
}

pub(super) async fn show_delivery(State(deliveries): State<Deliveries>, Path(reference): Path<String>) -> Response {
    let Some(reference) = Reference::parse(&reference) else { return pages::not_found() };
    let record = deliveries.history.record(reference);
    let name = reference.to_string();
    let calls = calls_for(&deliveries.network, &name, record.as_ref());
    if record.is_none() && calls.is_empty() {
        return pages::not_found();
    }
    let (text, account) = match &record {
        Some(record) => post_summary(post_of(&deliveries, record).await.as_ref(), record),
        None => (format!("Post {}", reference.post), String::new()),
    };
    let verdict = match &record {
        Some(record) => deliveries.verdict(record, &deliveries.fakes.public_posts()),
        None => Verdict {
            seen: PlatformView::Sandbox(deliveries.network.public_posts_of(&name)),
            delivery: None,
            is_void: false,
        },
    };
    let (result, tone) = verdict.text(deliveries.clock.now());
    pages::show(&DeliveryPage {
        text,
        account,
        chain: matches!(verdict.seen, PlatformView::Sandbox(_)).then(|| chain(&calls, verdict.posts().len())),
        standing: standing(&deliveries, record.as_ref()).await,
        attempts: attempts(&deliveries, record.as_ref()).await,
        story: story(record.as_ref(), &calls, verdict.posts()),
        verdict,
        reference: name,
        said: result,
        tone,
    })
}

/// The stored state.
async fn standing(deliveries: &Deliveries, record: Option<&Record>) -> Vec<(&'static str, String)> {
    let Some(record) = record else {
        return vec![("State", "unknown: the history has only the calls that the sandbox received".to_owned())];
    };
    let reference = record.reference;
    match deliveries.store.deliveries(record.user, reference.post).await {
        Ok(found) => match found.into_iter().find(|it| it.target_id == reference.target) {
            None => vec![("State", "removed".to_owned())],
            Some(delivery) if delivery.revision != reference.revision => {
                vec![("State", format!("replaced by revision {}", delivery.revision))]
            }
            Some(delivery) => facts(&delivery),
        },
        Err(error) => {
            tracing::error!(%error, "a delivery could not be read for its page");
            vec![("State", "unknown: the table could not be read; reload the page".to_owned())]
        }
    }
}

/// The records of the calls for this target, as the API lists them.
async fn attempts(deliveries: &Deliveries, record: Option<&Record>) -> Vec<(String, String)> {
    let Some(record) = record else { return Vec::new() };
    let Reference { post, target, .. } = record.reference;
    let found = deliveries.store.attempts(record.user, post, deliveries.clock.now()).await;
    let found = found.inspect_err(|error| tracing::error!(%error, "attempts could not be read for a page"));
    found.unwrap_or_default().iter().filter(|it| it.target_id == target).map(line).collect()
}

fn line(attempt: &Attempt) -> (String, String) {
    let status = attempt.http_status.map(|it| format!(", HTTP {it}")).unwrap_or_default();
    let kind = attempt.error_kind.map(|it| format!(", {}", it.as_str())).unwrap_or_default();
    let message = attempt.message.as_deref().map(|it| format!(": {it}")).unwrap_or_default();
    let (step, outcome) = (attempt.step.as_str(), attempt.outcome.as_str());
    let text = format!("{step} → {outcome}{status}{kind}, {} ms{message}", attempt.duration_ms);
    (time(attempt.at), text)
}

fn facts(delivery: &Delivery) -> Vec<(&'static str, String)> {
    let state = match &delivery.state {
        DeliveryState::Waiting => "waiting".to_owned(),
        DeliveryState::Published => format!("published: post {}", step::published_ids(delivery)),
        DeliveryState::Failed { class, .. } => format!("failed: {}", class.as_str()),
    };
    let mut facts = vec![("State", state)];
    let counted = if delivery.is_prepared() { "Attempts" } else { "Failed preparations" };
    facts.push((counted, delivery.attempts.to_string()));
    if let Some(intent) = &delivery.intent {
        facts.push(("Open intent", step::open(intent)));
        facts.push(("Look-ups", intent.look_ups.to_string()));
    }
    if let DeliveryState::Failed { reason, .. } = &delivery.state {
        facts.push(("Reason", reason.clone()));
    }
    if let Some(ends) = delivery.lease_expires_at {
        facts.push(("Lease expires", time(ends)));
    }
    if delivery.state == DeliveryState::Waiting {
        facts.extend(delivery.note.clone().map(|it| ("Last message", it.text)));
        facts.push(("Next step", time(delivery.next_step_at)));
    }
    facts
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::delivery::AttemptError;
    use domain::testing::{a_delivery, noon};

    use super::*;

    fn fact(delivery: &Delivery, name: &str) -> Option<String> {
        facts(delivery).into_iter().find(|(it, _)| *it == name).map(|(_, value)| value)
    }

    #[test]
    fn open_intent_is_shown_with_its_effect() {
        let begun = a_delivery().open_intent(noon());
        let lost = AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "cut off".to_owned() };
        let unknown = begun.clone().record_publish(Err(lost), noon(), 0);

        assert_eq!(fact(&begun, "Lease expires"), Some(time(noon() + TimeDelta::seconds(90))));
        let open = "attempt 1 at 12:00:00.000, outcome unknown; it may still take effect";
        assert_eq!(fact(&unknown, "Open intent").as_deref(), Some(open));
        assert_eq!(fact(&unknown, "Last message").as_deref(), Some("cut off"));
        assert_eq!(fact(&unknown, "Next step").as_deref(), Some("12:00:02.000"));
    }

    #[test]
    fn ended_delivery_has_no_next_step() {
        let refused = AttemptError::Refused { reason: "not wanted".to_owned() };
        let failed = a_delivery().open_intent(noon()).record_publish(Err(refused), noon(), 0);

        assert_eq!(fact(&failed, "State").as_deref(), Some("failed: refused"));
        assert_eq!(fact(&failed, "Reason").as_deref(), Some("not wanted"));
        assert_eq!((fact(&failed, "Next step"), fact(&failed, "Lease expires")), (None, None));
    }
}
