use super::{Broken, History, Kind};
use crate::users::ResponseContent;

/// After the response nothing of an older revision becomes public. The response must have shown as
/// published what was public before it.
pub(super) fn confirmed_changes_take_effect(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for answer in &history.answers {
        let (post, now_revision) = match &answer.content {
            ResponseContent::Done(post) => (Some(post), post.revision),
            ResponseContent::Deleted => (None, u64::MAX),
            ResponseContent::Refused | ResponseContent::Nothing => continue,
        };
        let older = |it: &&crate::simulated_platforms::Public| {
            it.reference.post == answer.post && it.reference.revision < now_revision
        };
        for public in history.timeline.public.iter().filter(older) {
            let (target, segment) = (public.reference.target, public.reference.segment);
            let was_removed = public.removed_at.is_some_and(|it| it <= answer.at);
            if was_removed || history.was_warned(public.reference, 0..now_revision) {
                continue;
            }
            let is_reported_public = post.and_then(|it| it.target(target)).is_some_and(|it| segment < it.public.len());
            if answer.at < public.at || !is_reported_public {
                let what = format!(
                    "{:?} of post {} was answered at {}, but r{} of target {target} is public since {}: {:?}",
                    answer.act, answer.post, answer.at, public.reference.revision, public.at, public.text
                );
                broken.push(Broken::new(Kind::Other, answer.post, what));
            }
        }
    }
    broken
}
