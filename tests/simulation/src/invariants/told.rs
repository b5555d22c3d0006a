//! Listeners on the event bus hear of every end, and only of ends that
//! happened.

use std::collections::{BTreeMap, BTreeSet};

use domain::post::{PostStatus, TargetStatus};

use super::{Broken, History, Kind};

/// For every post or target that ended, an event was put at least once.
pub(super) fn every_end_is_told(history: &History<'_>) -> Vec<Broken> {
    let told: BTreeSet<&str> = history.told.iter().map(super::Told::id).collect();
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
    let untold = ends.into_iter().filter(|(_, id)| !told.contains(id.as_str()));
    untold.map(|(post, id)| Broken::new(Kind::Other, post, format!("nobody was told: {id}"))).collect()
}

/// Whenever a connection began to need reconnection, an event said so.
pub(super) fn every_lost_grant_is_told(history: &History<'_>) -> Vec<Broken> {
    let told: BTreeSet<&str> = history.told.iter().map(super::Told::id).collect();
    let lost = history
        .journal
        .lost_grants()
        .map(|it| format!("connection.needs_reconnection:{}:{}", it.connection_id, it.generation));
    let untold = lost.filter(|it| !told.contains(it.as_str()));
    untold.map(|it| Broken::new(Kind::Other, None, format!("nobody was told: {it}"))).collect()
}

/// No event says that something is public which was not.
pub(super) fn nothing_is_told_that_is_not_so(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for told in history.told.iter().filter(|it| it.event.detail_type == "target.published") {
        let id = &told.event.detail["platform_post_id"];
        let there = history.timeline.public.iter().any(|it| *id == it.id && it.at <= told.at);
        if !there {
            broken.push(Broken::new(
                Kind::Other,
                None,
                format!("told at {}, but not there: {}", told.at, told.event.detail),
            ));
        }
    }
    broken
}
