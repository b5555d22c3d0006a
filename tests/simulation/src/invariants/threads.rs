use super::{Broken, History, Kind};

/// Every reply was sent after the segment before it became public, as a reply to that segment.
pub(super) fn segments_follow_one_another(history: &History<'_>) -> Vec<Broken> {
    let by_segment = history.public_by_segment();
    let mut broken = Vec::new();
    for (&(post, target, segment), public) in &by_segment {
        let Some(before) = segment.checked_sub(1) else { continue };
        let parents = by_segment.get(&(post, target, before)).map(Vec::as_slice).unwrap_or_default();
        for reply in public {
            let parent = parents.iter().find(|it| reply.parent.as_ref() == Some(&it.id));
            if parent.is_none_or(|it| reply.begun_at < it.at) {
                let what = format!(
                    "segment {segment} of target {target} of post {post}, sent at {}, replies to {:?}, which is not \
                     segment {before}",
                    reply.begun_at, reply.parent
                );
                broken.push(Broken::new(Kind::Other, post, what));
            }
        }
    }
    broken
}

/// Nothing of a target is public beyond what its post shows as public, except for the one segment
/// that may be.
pub(super) fn nothing_follows_a_segment_that_failed(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for public in history.timeline.public.iter().filter(|it| it.removed_at.is_none()) {
        let reference = public.reference;
        let target = history.journal.post(reference.post).and_then(|it| it.target(reference.target));
        let Some(target) = target else { continue };
        if target.public.len() < reference.segment {
            let what = format!(
                "segment {} of target {} of post {} is public, and only {} are shown",
                reference.segment,
                reference.target,
                reference.post,
                target.public.len()
            );
            broken.push(Broken::new(Kind::Other, reference.post, what));
        }
    }
    broken
}
