use std::collections::{BTreeMap, BTreeSet};

use domain::webhook::MessageId;

use super::{Broken, History, Kind};
use crate::users::{MINE, THEIRS};

/// Every event that was put on the bus reached the endpoint of its user, signed, and equal each
/// time.
pub(super) fn every_event_reaches_its_endpoint(history: &History<'_>) -> Vec<Broken> {
    if history.people.secret(MINE).is_none() {
        return Vec::new();
    }
    let events: BTreeMap<_, _> =
        history.published_events.iter().map(|it| (MessageId::from_event_id(it.id()), it.id())).collect();
    let mut bodies: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for received in history.notified.iter().filter(|it| it.request.url.to_string() == MINE) {
        bodies.entry(&received.request.id).or_default().insert(&received.request.body);
    }
    let missing = events.iter().filter(|it| !bodies.contains_key(it.0));
    let mut broken: Vec<_> =
        missing.map(|(_, it)| Broken::new(Kind::Lost, None, format!("no endpoint received: {it}"))).collect();
    let unexpected = bodies.keys().filter(|it| !events.contains_key(**it));
    broken.extend(
        unexpected.map(|it| Broken::new(Kind::Other, None, format!("an endpoint received an unknown event: {it}"))),
    );
    let differing = bodies.iter().filter(|it| 1 < it.1.len());
    broken.extend(differing.map(|it| Broken::new(Kind::Other, None, format!("told in two ways: {it:?}"))));
    broken
}

/// An endpoint of a user without events receives nothing, and all signatures are valid.
pub(super) fn endpoints_receive_only_events_of_their_user(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for received in &history.notified {
        let (url, request) = (received.request.url.to_string(), &received.request);
        if url == THEIRS {
            broken.push(Broken::new(Kind::Other, None, format!("another user received {}", request.body)));
        }
        let content = format!("{}.{}.{}", request.id, request.at.timestamp(), request.body);
        let signed = history.people.secret(&url).map(|it| it.sign(&content));
        if !signed.is_some_and(|it| request.signatures.split(' ').any(|other| other == it)) {
            broken.push(Broken::new(Kind::Other, None, format!("not signed at {}: {url} {}", received.at, request.id)));
        }
    }
    broken
}
