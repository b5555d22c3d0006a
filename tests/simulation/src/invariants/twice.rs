use std::collections::BTreeMap;

use super::{Broken, History, Kind};

pub(super) fn deliveries_claim_different_platform_posts(history: &History<'_>) -> Vec<Broken> {
    let mut claims: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (post, target) in history.targets() {
        let account = history.journal.find_account(Some(target.connection_id));
        for (segment, public) in target.public.iter().enumerate() {
            let holder = (post.post_id, target.target_id, segment);
            claims.entry((account, &public.published.platform_post_id)).or_default().push(holder);
        }
    }
    let shared = claims.into_iter().filter(|(_, claims)| 1 < claims.len());
    shared
        .map(|((account, id), claims)| {
            let what = format!("{id} on {account:?} is called the post of {claims:?}");
            Broken::new(Kind::Lost, claims.first().map(|it| it.0), what)
        })
        .collect()
}

/// A segment must not be public twice. The exceptions: the user was shown that the first one may be
/// public, and sent it again nevertheless; or the platform had removed the first one, and the user
/// sent it again.
pub(super) fn targets_are_published_at_most_once(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for ((post, target, segment), public) in history.public_by_segment() {
        for pair in public.windows(2) {
            let (mut first, mut second) = (pair[0], pair[1]);
            if second.reference.revision < first.reference.revision {
                (first, second) = (second, first);
            }
            let revisions = first.reference.revision..second.reference.revision;
            let was_removed = first.removed_at.is_some_and(|it| it <= second.begun_at) && !revisions.is_empty();
            if !was_removed && !history.was_warned(first.reference, revisions) {
                let what = format!(
                    "segment {segment} of target {target} of post {post} is public twice: r{} at {} and r{} at {}",
                    first.reference.revision, first.at, second.reference.revision, second.at
                );
                broken.push(Broken::new(Kind::Duplicated, post, what));
            }
        }
    }
    broken
}
