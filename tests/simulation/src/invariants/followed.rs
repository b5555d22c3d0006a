use std::collections::BTreeSet;

use domain::delivery::State;
use domain::id::ConnectionId;

use super::{Broken, History, Kind};
use crate::simulated_platforms::{Reference, Spec};

pub(super) fn follow_ups_are_not_repeated(history: &History<'_>) -> Vec<Broken> {
    let mut seen = BTreeSet::new();
    let again = history.timeline.followers.iter().filter(|it| !seen.insert((it.reference, &it.name)));
    again
        .map(|it| {
            let what = format!("{} follows post {} again at {}", it.name, it.reference.post, it.at);
            Broken::new(Kind::Duplicated, it.reference.post, what)
        })
        .collect()
}

/// Every follow-up of a published post was attempted at least once, unless its account was lost; in
/// a run without faults it exists.
pub(super) fn follow_ups_are_completed(history: &History<'_>) -> Vec<Broken> {
    let lost: BTreeSet<ConnectionId> = history.journal.lost_grants().map(|it| it.connection_id).collect();
    let is_calm = history.people.deployment.world.faults() == 0;
    let mut broken = Vec::new();
    for delivery in history.journal.deliveries() {
        let is_public = delivery.state == State::Published;
        let is_kept = history.journal.connection(delivery.connection_id).is_some();
        if !is_public || !is_kept || lost.contains(&delivery.connection_id) {
            continue;
        }
        let (post, reference) = (delivery.post_id, Reference { segment: 0, ..Reference::from_delivery(delivery) });
        let tried = history.journal.followed(reference);
        for &name in Spec::named(&delivery.provider).follow_ups() {
            let is_there = history.timeline.followers.iter().any(|it| it.reference == reference && it.name == name);
            if !is_there && (is_calm || !tried.contains(name)) {
                broken.push(Broken::new(Kind::Lost, post, format!("{name} never followed post {post}")));
            }
        }
    }
    broken
}
