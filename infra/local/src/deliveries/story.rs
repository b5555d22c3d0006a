//! Both sides of a delivery in order of time.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::State;

use super::history::Record;
use super::{step, time};
use crate::sandbox::Sandbox;
use crate::sandbox::calls::{Call, CallEnd};
use crate::sandbox::fault_kind::FaultKind;
use crate::sandbox::operation::Operation;

/// How long before its due second preparation of a delivery may begin.
const PREPARES_BEFORE: TimeDelta = TimeDelta::minutes(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    Service,
    Platform,
}

/// A write or a call.
pub(super) struct Entry {
    pub(super) at: DateTime<Utc>,
    pub(super) actor: Actor,
    pub(super) text: String,
    /// The fault that was injected into the call.
    pub(super) fault: Option<FaultKind>,
    /// The post that the call published.
    pub(super) public: Option<usize>,
    /// The order of entries of the same millisecond, lowest first.
    rank: u8,
}

impl Entry {
    fn new(at: DateTime<Utc>, actor: Actor, rank: u8, text: String) -> Self {
        Self { at, actor, text, fault: None, public: None, rank }
    }

    pub(super) fn time(&self) -> String {
        time(self.at)
    }

    pub(super) fn side_name(&self) -> &'static str {
        match self.actor {
            Actor::Service => "Service",
            Actor::Platform => "Sandbox",
        }
    }

    pub(super) fn side_class(&self) -> &'static str {
        match self.actor {
            Actor::Service => "service",
            Actor::Platform => "network",
        }
    }
}

/// The history of a delivery, oldest entry first.
pub(super) fn story(record: Option<&Record>, calls: &[Call], public: &[(usize, DateTime<Utc>)]) -> Vec<Entry> {
    let mut entries = Vec::new();
    if let Some(record) = record {
        add_writes(record, &mut entries);
    }
    let mut number = 0;
    for call in calls {
        number += usize::from(call.operation == Operation::Publish);
        add_call(call, number, &mut entries);
    }
    for (id, at) in public {
        let text = format!("Post {id} became public.");
        entries.push(Entry { public: Some(*id), ..Entry::new(*at, Actor::Platform, 2, text) });
    }
    entries.sort_by_key(|it| (it.at, it.rank));
    entries
}

fn add_writes(record: &Record, entries: &mut Vec<Entry>) {
    let mut before = None;
    for written in &record.written {
        let after = &written.delivery;
        // Within a millisecond, a claim was written before its call, and any other write after a
        // call.
        let is_claim = after.lease_expires_at.is_some() || before.is_none();
        if let Some(text) = step::describe_write(before, after, written.at) {
            entries.push(Entry::new(written.at, Actor::Service, if is_claim { 0 } else { 4 }, text));
        }
        before = Some(after);
    }
    if let Some(at) = record.removed_at {
        let text = "Removed: the post was changed or deleted.".to_owned();
        entries.push(Entry::new(at, Actor::Service, 4, text));
    }
}

fn add_call(call: &Call, number: usize, entries: &mut Vec<Entry>) {
    let request_text = match call.operation {
        Operation::Publish => format!("Call {number}: {}.", call.operation.noun()),
        // A call without a reference does not say which post it is for.
        _ if call.reference.is_none() => format!("Received: {}, for the account.", call.operation.noun()),
        _ => format!("Received: {}.", call.operation.noun()),
    };
    entries.push(Entry { fault: call.fault, ..Entry::new(call.at, Actor::Platform, 1, request_text) });
    let Some(end) = &call.end else { return };
    let took_ms = (end.at - call.at).num_milliseconds();
    let outcome_text = match &end.how {
        CallEnd::Answered { status, text } if text.is_empty() => format!("Response {status} after {took_ms} ms."),
        CallEnd::Answered { status, text } => format!("Response {status} after {took_ms} ms: {text}."),
        CallEnd::Cut => "The connection was cut: no response.".to_owned(),
        CallEnd::HungUp => format!("The service closed the connection after {took_ms} ms: no response."),
        CallEnd::Died => "The process ended before the response.".to_owned(),
    };
    entries.push(Entry::new(end.at, Actor::Platform, 3, outcome_text));
}

/// The calls of a delivery: those with its reference, and those of its account without any
/// reference during the delivery.
pub(super) fn calls_for(sandbox: &Sandbox, reference: &str, record: Option<&Record>) -> Vec<Call> {
    // The reference in a call is that of the delivery and the index of the segment.
    let is_own = |call: &Call| {
        let segment = call.reference.as_deref().and_then(|it| it.strip_prefix(reference)?.strip_prefix('-'));
        segment.is_some()
    };
    let own = sandbox.find_calls(is_own);
    let account = own.iter().find_map(|it| it.account);
    let Some((from, until)) = record.and_then(active_period) else { return own };
    sandbox.find_calls(|it| {
        let may_be = it.reference.is_none()
            && matches!(it.operation, Operation::Upload | Operation::LookAtFile | Operation::Refresh)
            && account.is_some()
            && it.account == account
            && (from..=until).contains(&it.at);
        is_own(it) || may_be
    })
}

/// The start and the end of the work on a delivery.
fn active_period(record: &Record) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let (first, last) = (record.written.first()?, record.written.last()?);
    let from = (first.delivery.publish_at - PREPARES_BEFORE).max(first.at);
    let until = if last.delivery.state == State::Waiting { DateTime::<Utc>::MAX_UTC } else { last.at };
    Some((from, until))
}

#[cfg(test)]
mod tests {
    use domain::delivery::{AttemptError, Published};
    use domain::testing::{a_delivery, noon};

    use super::super::Reference;
    use super::super::history::DeliveryVersion;
    use super::*;
    use crate::sandbox::calls::End;

    fn ms(ms: i64) -> DateTime<Utc> {
        noon() + TimeDelta::milliseconds(ms)
    }

    fn published(at: DateTime<Utc>, ends_at: DateTime<Utc>) -> Call {
        let how = CallEnd::Answered { status: 201, text: "post 7".to_owned() };
        Call {
            number: 1,
            operation: Operation::Publish,
            at,
            account: None,
            reference: Some("r".to_owned()),
            fault: FaultKind::find("slow"),
            made: Some("7".to_owned()),
            end: Some(End { at: ends_at, how }),
        }
    }

    #[test]
    fn events_of_one_millisecond_are_ordered_by_cause() {
        let planned = a_delivery();
        let begun = planned.clone().open_intent(noon());
        let ended = begun.clone().record_publish(Ok(Published::new("7".to_owned(), noon())), noon(), 0);
        let written = [(ms(-9), &planned), (ms(0), &begun), (ms(0), &ended)];
        let written = written.map(|(at, it)| DeliveryVersion { at, delivery: it.clone() }).to_vec();
        let reference = Reference::from_delivery(&planned);
        let record = Record { reference, user: planned.user_id, written, removed_at: None };

        let story = story(Some(&record), &[published(ms(0), ms(0))], &[(7, ms(0))]);

        let text: Vec<_> = story.iter().map(|it| (it.side_name(), it.text.split([' ', ':']).next().unwrap())).collect();
        let expected = [
            ("Service", "Planned"),
            ("Service", "Attempt"),
            ("Sandbox", "Call"),
            ("Sandbox", "Post"),
            ("Sandbox", "Response"),
            ("Service", "Recorded"),
        ];
        assert_eq!(text, expected);
        assert_eq!(story[2].fault, FaultKind::find("slow"));
    }

    #[test]
    fn call_in_flight_is_listed() {
        let call = Call { end: None, ..published(ms(0), ms(0)) };

        let story = story(None, &[call], &[]);

        assert_eq!(story.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["Call 1: publish request."]);
    }

    #[test]
    fn account_calls_are_included_until_the_delivery_ends() {
        let planned = a_delivery();
        let refused = AttemptError::Refused { reason: "no".to_owned() };
        let ended = planned.clone().open_intent(noon()).record_publish(Err(refused), noon(), 0);
        let record = |written| Record {
            reference: Reference::from_delivery(&planned),
            user: planned.user_id,
            written,
            removed_at: None,
        };
        let first = DeliveryVersion { at: ms(-600_000), delivery: planned.clone() };

        let open = active_period(&record(vec![first.clone()])).unwrap();
        let closed = active_period(&record(vec![first, DeliveryVersion { at: ms(5), delivery: ended }])).unwrap();

        assert_eq!(open.0, ms(-120_000));
        assert_eq!(closed, (ms(-120_000), ms(5)));
    }
}
