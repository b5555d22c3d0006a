use chrono::{DateTime, Utc};
use domain::delivery::{Delivery, FailureClass, State};
use domain::post::{Post, PostStatus, Target, TargetStatus};

use super::{Broken, History, Kind};
use crate::simulated_platforms::{PlatformBehavior, Public, Reference};

/// No target is pending. A published one was public on its platform or is in the hands of a person, a
/// failed one is not public, and the reason of its failure existed.
pub(super) fn post_status_matches_the_platform(history: &History<'_>) -> Vec<Broken> {
    let by_segment = history.public_by_segment();
    let mut broken = Vec::new();
    for (post, target) in history.targets() {
        let public =
            |segment| by_segment.get(&(post.post_id, target.target_id, segment)).map(Vec::as_slice).unwrap_or_default();
        if let Some(what) = contradiction(history, post, target, public) {
            let what = format!("target {} of post {} {what}", target.target_id, post.post_id);
            broken.push(Broken::new(Kind::Lost, post.post_id, what));
        }
    }
    broken
}

fn contradiction<'a>(
    history: &History<'_>,
    post: &Post,
    target: &Target,
    public: impl Fn(usize) -> &'a [&'a Public],
) -> Option<String> {
    for (segment, shown) in target.public.iter().enumerate() {
        let id = &shown.published.platform_post_id;
        let Some(there) = public(segment).iter().find(|it| it.id == *id) else {
            return Some(format!("shows segment {segment} as published as {id:?}, which is not there"));
        };
        if !there.was_shown(shown.published.handed_over) {
            return Some(format!("shows segment {segment} as {:?}, and the platform {there:?}", shown.published));
        }
        // A process may die before it stores what it has read.
        if there.removed_at.is_some() && history.people.deployment.world.faults() == 0 {
            return Some(format!("shows segment {segment} as published, and the platform has removed it"));
        }
    }
    // The first segment that is not shown as public.
    let segment = target.public.len();
    let reference = Reference { post: post.post_id, target: target.target_id, revision: post.revision, segment };
    let is_public = public(segment).iter().any(|it| it.reference == reference && it.removed_at.is_none());
    let delivery =
        history.journal.deliveries().find(|it| (it.post_id, it.target_id) == (post.post_id, target.target_id));
    if target.status == TargetStatus::Published && delivery.is_some_and(was_removed) {
        return Some("is published, and its delivery knows that it was removed".to_owned());
    }
    match (post.status, target.status) {
        (PostStatus::Scheduled | PostStatus::Publishing, status) => {
            Some(format!("is {} in a post that is {}", status.as_str(), post.status.as_str()))
        }
        (_, TargetStatus::Published) => {
            let segments = post.segments(target).len();
            (segment < segments).then(|| format!("is published with {segment} of {segments} segments"))
        }
        (_, TargetStatus::Failed) => failure_contradiction(history, target, reference, is_public),
        (PostStatus::Draft, _) if public(0).is_empty() || !is_public => None,
        (PostStatus::Draft, _) => Some("is public, and its post is a draft".to_owned()),
        // The target was added to a failed post, which was never scheduled again.
        (PostStatus::Failed, TargetStatus::Pending) if public(0).is_empty() => None,
        (_, status) => Some(format!("is {} in a post that is {}", status.as_str(), post.status.as_str())),
    }
}

fn was_removed(delivery: &Delivery) -> bool {
    matches!(delivery.state, State::Failed { .. }) && delivery.published.is_empty()
}

/// `None` if the failure has no contradiction.
fn failure_contradiction(
    history: &History<'_>,
    target: &Target,
    reference: Reference,
    is_public: bool,
) -> Option<String> {
    let account = history.people.accounts.iter().find(|it| it.spec.name == target.provider);
    let is_certain = account.is_some_and(|it| it.spec.is_certain());
    let is_rationed = account.is_some_and(|it| it.spec.behavior == PlatformBehavior::Counting);
    let proves_absence = account.is_some_and(|it| it.spec.proves_absence());
    let connection = history.journal.connection(target.connection_id);
    let is_usable = connection.is_some_and(|it| !it.needs_reconnection);
    // A failed post whose text is changed stays failed, for its old reason.
    let earlier = || (1..=reference.revision).map(|revision| Reference { revision, ..reference });
    let message = target.error_message.as_deref().unwrap_or_default();
    // A later segment may be refused while it is prepared ahead of its turn.
    let was_refused = history.timeline.refused.iter().any(|it| {
        (it.post, it.target) == (reference.post, reference.target)
            && it.revision <= reference.revision
            && reference.segment <= it.segment
    });
    match target.failure {
        // A refusal ends a delivery also while the outcome of an earlier call is unknown.
        Some(FailureClass::MayBePublic) if is_certain && is_usable && (proves_absence || !was_refused) => {
            Some(format!("could have been settled: {message}"))
        }
        Some(FailureClass::MayBePublic) => {
            let intended = earlier().any(|it| history.journal.has_intent(it));
            (!intended).then(|| format!("was never about to be sent: {message}"))
        }
        _ if is_public => Some(format!("is public, and failed: {message}")),
        Some(FailureClass::PartlyPublic) if target.public.is_empty() => {
            Some(format!("is not public at all: {message}"))
        }
        // The class says how much is public, and not why the rest is not.
        Some(FailureClass::PartlyPublic) => {
            (!was_refused && is_usable).then(|| format!("was neither refused nor is its connection lost: {message}"))
        }
        Some(FailureClass::Refused) => {
            let was_removed = history.was_removed(reference.post, reference.target, DateTime::<Utc>::MAX_UTC);
            (!was_refused && !was_removed).then(|| format!("was never refused: {message}"))
        }
        // The replies of threads may use up a quota for longer than a post waits.
        Some(FailureClass::GivenUp) if is_rationed => None,
        Some(FailureClass::GivenUp) => {
            is_usable.then(|| format!("was given up with a connection that works: {message}"))
        }
        None => Some(format!("failed without a class: {message}")),
    }
}

/// There were no two simultaneous calls for one target, no publish call before its preparation, and
/// no two simultaneous refreshes of the same credentials.
pub(super) fn platform_calls_are_valid(history: &History<'_>) -> Vec<Broken> {
    let post_violations = history.timeline.mistakes.iter().map(|(reference, mistake)| {
        let what = format!("r{} of post {}: {mistake}", reference.revision, reference.post);
        Broken::new(Kind::Other, reference.post, what)
    });
    let others = history.people.deployment.platforms.mistakes();
    post_violations.chain(others.into_iter().map(|it| Broken::new(Kind::Other, None, it))).collect()
}
