use std::collections::{BTreeMap, BTreeSet};

use domain::post::{PostStatus, TargetStatus};

use super::{Broken, History, Kind, PublishedEvent};
use crate::simulated_platforms::Public;

pub(super) fn every_outcome_has_an_event(history: &History<'_>) -> Vec<Broken> {
    let event_ids: BTreeSet<&str> = history.published_events.iter().map(super::PublishedEvent::id).collect();
    let mut ends = BTreeSet::new();
    let mut seen = BTreeMap::new();
    for version in history.journal.all_versions() {
        let post = version.post;
        let revision = post.revision;
        let before = seen.insert(post.post_id, post);
        for target in &post.targets {
            let before = before.as_ref().and_then(|it| it.target(target.target_id)).map(|it| it.status);
            let kind = match target.status {
                _ if before == Some(target.status) => continue,
                TargetStatus::Published => "target.published",
                TargetStatus::Failed => "target.failed",
                _ => continue,
            };
            ends.insert((post.post_id, format!("{kind}:{}:{}:{revision}", post.post_id, target.target_id)));
        }
        match post.status {
            _ if before.is_some_and(|it| it.status == post.status) => false,
            PostStatus::Published => ends.insert((post.post_id, format!("post.published:{}:{revision}", post.post_id))),
            PostStatus::Failed => ends.insert((post.post_id, format!("post.failed:{}:{revision}", post.post_id))),
            _ => false,
        };
    }
    let missing = ends.into_iter().filter(|(_, id)| !event_ids.contains(id.as_str()));
    missing.map(|(post, id)| Broken::new(Kind::Other, post, format!("no event: {id}"))).collect()
}

pub(super) fn every_lost_grant_has_an_event(history: &History<'_>) -> Vec<Broken> {
    let event_ids: BTreeSet<&str> = history.published_events.iter().map(super::PublishedEvent::id).collect();
    let lost = history
        .journal
        .lost_grants()
        .map(|it| format!("connection.needs_reconnection:{}:{}", it.connection_id, it.generation));
    let missing = lost.filter(|it| !event_ids.contains(it.as_str()));
    missing.map(|it| Broken::new(Kind::Other, None, format!("no event: {it}"))).collect()
}

/// Every scheduling of a post, first or repeated, has an event, and no other post has one.
pub(super) fn every_scheduling_has_exactly_one_event(history: &History<'_>) -> Vec<Broken> {
    let event_ids: BTreeSet<&str> = history.published_events.iter().map(super::PublishedEvent::id).collect();
    let mut scheduled = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for version in history.journal.all_versions() {
        let post = version.post;
        let before = seen.insert(post.post_id, post);
        let by_its_user = before.is_none_or(|it| it.revision != post.revision);
        let is_rescheduled =
            before.is_none_or(|it| it.status != PostStatus::Scheduled || it.scheduled_at != post.scheduled_at);
        if by_its_user && is_rescheduled && post.status == PostStatus::Scheduled {
            scheduled.insert(format!("post.scheduled:{}:{}", post.post_id, post.revision), post.post_id);
        }
    }
    let missing = scheduled.iter().filter(|it| !event_ids.contains(it.0.as_str()));
    let mut broken: Vec<_> =
        missing.map(|(id, post)| Broken::new(Kind::Other, *post, format!("no event: {id}"))).collect();
    let unexpected = event_ids.iter().filter(|it| it.starts_with("post.scheduled:") && !scheduled.contains_key(**it));
    broken.extend(unexpected.map(|it| Broken::new(Kind::Other, None, format!("told, but not so: {it}"))));
    broken
}

/// Every connected or disconnected account has an event, and no other account has one.
pub(super) fn every_connect_and_disconnect_has_an_event(history: &History<'_>) -> Vec<Broken> {
    let (made, removed) = history.journal.created_and_deleted_connections();
    let mut broken = Vec::new();
    for (kind, connections) in [("connection.created", made), ("connection.deleted", removed)] {
        let events = history.published_events.iter().filter(|it| it.event.detail_type == kind);
        let events: BTreeSet<_> = events.filter_map(|it| it.event.detail["connection_id"].as_u64()).collect();
        let expected: BTreeSet<_> = connections.iter().map(|it| it.get()).collect();
        let differs = expected.symmetric_difference(&events);
        broken.extend(differs.map(|it| Broken::new(Kind::Other, None, format!("{kind} and the events of it: {it}"))));
    }
    broken
}

pub(super) fn every_event_matches_a_change(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for event in history.published_events.iter().filter(|it| it.event.detail_type == "target.published") {
        let id = &event.event.detail["platform_post_id"];
        let handed_over = event.event.detail["handed_over"] == true;
        let is_there = |it: &Public| *id == it.id && it.at <= event.at && it.was_shown(handed_over);
        let is_public = history.timeline.public.iter().any(is_there);
        if !is_public {
            broken.push(Broken::new(
                Kind::Other,
                None,
                format!("told at {}, but not there: {}", event.at, event.event.detail),
            ));
        }
    }
    broken
}

/// A target or post has events of both ends in one revision only if a platform has removed it before
/// the event of the failure, which comes last.
pub(super) fn only_removed_posts_fail_after_they_were_published(history: &History<'_>) -> Vec<Broken> {
    let mut firsts: BTreeMap<&str, &PublishedEvent> = BTreeMap::new();
    let mut broken = Vec::new();
    for event in &history.published_events {
        firsts.entry(event.id()).or_insert(event);
    }
    for (id, failed) in firsts.iter().filter(|it| it.0.contains(".failed:")) {
        let Some(published) = firsts.get(id.replacen(".failed:", ".published:", 1).as_str()) else { continue };
        let detail = &failed.event.detail;
        let is_of_it = |it: &Public| {
            detail["post_id"] == it.reference.post.get()
                && (detail["target_id"].is_null() || detail["target_id"] == it.reference.target.get())
        };
        let was_removed = |it: &Public| is_of_it(it) && it.removed_at.is_some_and(|at| at <= failed.at);
        if failed.at < published.at || !history.timeline.public.iter().any(was_removed) {
            broken.push(Broken::new(Kind::Other, None, format!("failed after its publication, but not removed: {id}")));
        }
    }
    broken
}
