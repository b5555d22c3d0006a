//! A post's status moves forward: a final status does not change until its writer changes the post.
//! The one exception is a post whose calls are known to have had no effect: it waits to be
//! published again.

use std::collections::BTreeMap;

use domain::delivery::FailureClass;
use domain::id::PostId;
use domain::post::{Post, PostStatus, Target, TargetStatus};

use super::{Broken, History, Kind};
use crate::users::{ResponseContent, WriterResponse};

/// Within a revision a post never returns to an earlier status, except to wait without an unknown
/// outcome, and a published target stays published unless its platform removes the post.
pub(super) fn final_states_do_not_change(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut last: BTreeMap<PostId, &Post> = BTreeMap::new();
    for version in history.journal.all_versions() {
        let post = version.post;
        let Some(before) = last.insert(post.post_id, post) else { continue };
        let mut report = |what: String| broken.push(Broken::new(Kind::Other, post.post_id, what));
        if post.revision < before.revision || post.write_id <= before.write_id {
            report(format!("post {} went back from r{} to r{}", post.post_id, before.revision, post.revision));
        }
        let waits_again = (before.status, post.status) == (PostStatus::Publishing, PostStatus::Scheduled)
            && post.targets.iter().all(|it| it.status != TargetStatus::Publishing || it.is_public());
        if post.revision == before.revision && rank(post.status) < rank(before.status) && !waits_again {
            let (one, two) = (before.status.as_str(), post.status.as_str());
            report(format!("post {} went back from {one} to {two} at {}", post.post_id, version.at));
        }
        for target in &before.targets {
            let now = post.target(target.target_id);
            let is_final = target.status == TargetStatus::Published
                || target.status == TargetStatus::Failed && post.revision == before.revision;
            let is_removed = target.status == TargetStatus::Published
                && now.is_some_and(|now| now.failure == Some(FailureClass::Refused) && !now.is_public())
                && history.was_removed(post.post_id, target.target_id, version.at);
            if is_final && !is_removed && now.is_none_or(|now| !is_same_end(target, now)) {
                report(format!("target {} of post {} was {target:?} and is {now:?}", target.target_id, post.post_id));
            }
        }
    }
    broken
}

fn is_same_end(one: &Target, two: &Target) -> bool {
    let public = |it: &Target| it.public.iter().map(|it| it.published.clone()).collect::<Vec<_>>();
    (one.status, public(one), one.failure) == (two.status, public(two), two.failure)
}

const fn rank(status: PostStatus) -> u8 {
    match status {
        PostStatus::Draft => 0,
        PostStatus::Scheduled => 1,
        PostStatus::Publishing => 2,
        PostStatus::Published | PostStatus::Failed => 3,
    }
}

/// A rejected change had no effect: no version of the post has its text. Exception: the response to
/// the change was lost, and the post was deleted before the change was repeated. The repeated
/// request then correctly returns "there is no such post".
pub(super) fn refused_requests_change_nothing(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for answer in history.answers.iter().filter(|it| matches!(it.content, ResponseContent::Refused)) {
        let Some(text) = &answer.text else { continue };
        let is_deletion = |it: &&WriterResponse| {
            matches!(it.content, ResponseContent::Deleted) && it.post == answer.post && it.at <= answer.at
        };
        if history.answers.iter().any(|it| is_deletion(&it)) {
            continue;
        }
        if history.journal.versions(answer.post).any(|it| it.post.text.as_str() == text) {
            let what = format!("post {} has the text {text:?}, which was refused at {}", answer.post, answer.at);
            broken.push(Broken::new(Kind::Other, answer.post, what));
        }
    }
    broken
}
