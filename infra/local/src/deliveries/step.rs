//! A step of a delivery as text: the change between two writes.

use chrono::{DateTime, Utc};
use domain::delivery::{Delivery, FailureClass, Intent, State};

use super::time;

/// The step that replaced `before` by `after` at this time; `None` without a visible change.
pub(super) fn describe_write(before: Option<&Delivery>, after: &Delivery, at: DateTime<Utc>) -> Option<String> {
    let Some(before) = before else { return Some(first(after)) };
    match &after.state {
        State::Published if before.state == State::Waiting => Some(recorded(after)),
        State::Failed { reason, class } if before.state == State::Waiting => {
            Some(format!("Recorded as failed ({}): {}", class_name(*class), sentence(reason)))
        }
        State::Published => describe_follow_up(before, after),
        State::Failed { .. } => None,
        State::Waiting if before.published.len() < after.published.len() => Some(recorded(after)),
        State::Waiting => Some(describe_waiting(before, after, at)),
    }
}

fn first(delivery: &Delivery) -> String {
    let due = time(delivery.publish_at);
    match (&delivery.intent, delivery.is_prepared()) {
        // An earlier process took the steps before this one, which are unknown here.
        (Some(intent), _) => format!("First recorded with {}.", open(intent)),
        (None, true) => format!("Planned for {due}."),
        (None, false) => format!("Planned for {due}; its files are uploaded from {} on.", time(delivery.next_step_at)),
    }
}

fn describe_waiting(before: &Delivery, after: &Delivery, at: DateTime<Utc>) -> String {
    let then = if after.next_step_at <= at { "at once".to_owned() } else { format!("at {}", time(after.next_step_at)) };
    let is_taken = after.lease_expires_at.is_some() && before.lease_expires_at != after.lease_expires_at;
    match (&before.intent, &after.intent) {
        (None, Some(intent)) => {
            format!(
                "Attempt {} begins. This is written before the call, so that no worker calls twice.",
                intent.attempt
            )
        }
        (Some(intent), Some(_)) if is_taken => format!("Looks up the outcome of attempt {}.", intent.attempt),
        (Some(_), Some(intent)) => {
            format!("The outcome of attempt {} is unknown: {} Looks it up {then}.", intent.attempt, note(after))
        }
        (Some(intent), None) => {
            let attempt = intent.attempt;
            format!("Attempt {attempt} published nothing: {} Continues {then}.", note(after))
        }
        (None, None) if is_taken => "Preparing: uploads a file, or checks whether an upload is ready.".to_owned(),
        (None, None) if after.is_prepared() && !before.is_prepared() => {
            "Prepared. Only the publish call is left.".to_owned()
        }
        (None, None) if after.preparations != before.preparations => {
            format!("One preparation step is done. Continues {then}.")
        }
        (None, None) => format!("Waiting: {} Continues {then}.", note(after)),
    }
}

/// Progress of the first comment or other follow-up.
fn describe_follow_up(before: &Delivery, after: &Delivery) -> Option<String> {
    let first = before.follow_ups.as_ref()?;
    let name = first.first_name();
    match &after.follow_ups {
        Some(it) if it.names.len() == first.names.len() => match (first.call_begun_at, it.call_begun_at) {
            (None, Some(_)) => Some(format!(
                "Follow-up {name} begins. This is written before the call, so that no worker calls twice."
            )),
            (Some(_), None) => Some(format!("Follow-up {name} continues at {}.", time(after.next_step_at))),
            _ => None,
        },
        _ => Some(format!("Follow-up {name} has ended: published or given up.")),
    }
}

fn recorded(delivery: &Delivery) -> String {
    format!("Recorded as published: post {}.", published_ids(delivery))
}

/// The ids of the public segments on the platform.
pub(super) fn published_ids(delivery: &Delivery) -> String {
    delivery.published.iter().map(|it| it.platform_post_id.as_str()).collect::<Vec<_>>().join(", ")
}

pub(super) fn open(intent: &Intent) -> String {
    let running = if intent.may_still_run { "; it may still take effect" } else { "" };
    format!("attempt {} at {}, outcome unknown{running}", intent.attempt, time(intent.at))
}

/// Why the delivery is not published yet.
fn note(delivery: &Delivery) -> String {
    sentence(delivery.note.as_ref().map_or("no reason is recorded", |it| &it.text))
}

/// Adds a full stop unless the text ends with one.
fn sentence(text: &str) -> String {
    format!("{}.", text.trim_end_matches('.'))
}

fn class_name(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Refused => "refused",
        FailureClass::GivenUp => "given up",
        FailureClass::MayBePublic => "it may be public",
        FailureClass::PartlyPublic => "partly public",
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::delivery::{AttemptError, Preparation, PreparationStep, Published, Resolution};
    use domain::testing::{a_delivery, noon};

    use super::*;

    fn describe(before: &Delivery, after: &Delivery) -> String {
        describe_write(Some(before), after, noon()).unwrap()
    }

    #[test]
    fn lost_response_is_described_step_by_step() {
        let planned = a_delivery();
        let begun = planned.clone().open_intent(noon());
        let lost =
            AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "the answer was cut off".to_owned() };
        let unknown = begun.clone().record_publish(Err(lost), noon(), 0);
        let asking = unknown.clone().lease(noon() + TimeDelta::seconds(2));
        let published = Published::new("7".to_owned(), noon());
        let found = Resolution::Found(published);
        let public = asking.clone().record_look_up(found, TimeDelta::seconds(80), noon() + TimeDelta::seconds(2), 0);

        assert_eq!(describe_write(None, &planned, noon()).unwrap(), "Planned for 12:00:00.000.");
        assert!(describe(&planned, &begun).starts_with("Attempt 1 begins."));
        let expected = "The outcome of attempt 1 is unknown: the answer was cut off. Looks it up at 12:00:02.000.";
        assert_eq!(describe(&begun, &unknown), expected);
        assert_eq!(describe(&unknown, &asking), "Looks up the outcome of attempt 1.");
        assert_eq!(describe(&asking, &public), "Recorded as published: post 7.");
        assert_eq!(describe_write(Some(&public), &public.clone().finish_roll_up(), noon()), None);
    }

    #[test]
    fn failed_attempt_shows_time_of_the_next() {
        let begun = a_delivery().open_intent(noon());
        let busy = AttemptError::RetryLater { retry_at: None, reason: "slow down".to_owned() };
        let again = begun.clone().record_publish(Err(busy), noon(), 0);

        assert_eq!(describe(&begun, &again), "Attempt 1 published nothing: slow down. Continues at 12:00:05.000.");
    }

    #[test]
    fn a_failure_shows_its_class() {
        let begun = a_delivery().open_intent(noon());
        let failed =
            begun.clone().record_publish(Err(AttemptError::Refused { reason: "not wanted".to_owned() }), noon(), 0);

        assert_eq!(describe(&begun, &failed), "Recorded as failed (refused): not wanted.");
    }

    #[test]
    fn a_follow_up_is_shown_from_begin_to_end() {
        let published = a_delivery().open_intent(noon()).record_publish(Ok(Published::new("7", noon())), noon(), 0);
        let published = published.with_follow_ups(vec!["first_comment".to_owned()], noon());
        let begun = published.clone().begin_follow_up(noon());
        let busy = AttemptError::RetryLater { retry_at: None, reason: "slow down".to_owned() };
        let again = begun.clone().record_follow_up(Err(&busy), noon(), 0);
        let done = begun.clone().record_follow_up(Ok(()), noon(), 0);

        assert!(describe(&published, &begun).starts_with("Follow-up first_comment begins."));
        assert_eq!(describe(&begun, &again), "Follow-up first_comment continues at 12:00:30.000.");
        assert!(describe(&begun, &done).starts_with("Follow-up first_comment has ended"));
        assert_eq!(describe_write(Some(&done), &done.clone().finish_roll_up(), noon()), None);
    }

    #[test]
    fn preparation_is_shown_step_by_step() {
        let planned = Delivery { preparations: vec![Preparation::open(noon())], ..a_delivery() };
        let taken = planned.clone().lease(noon());
        let one = taken.clone().record_preparation(0, PreparationStep::Again { progress: "1".to_owned(), at: noon() });
        let taken_again = one.clone().lease(noon());
        let all = taken_again.clone().record_preparation(0, PreparationStep::Ready { progress: None });
        let busy = AttemptError::RetryLater { retry_at: None, reason: "it answered 500".to_owned() };
        let failed = taken.clone().fail_preparation(0, busy, noon(), 0);

        assert!(describe_write(None, &planned, noon()).unwrap().contains("files are uploaded from 12:00:00.000 on"));
        assert!(describe(&planned, &taken).starts_with("Preparing"));
        assert_eq!(describe(&taken, &one), "One preparation step is done. Continues at once.");
        assert_eq!(describe(&taken_again, &all), "Prepared. Only the publish call is left.");
        assert_eq!(describe(&taken, &failed), "Waiting: it answered 500. Continues at 12:00:05.000.");
    }
}
