//! Each target is public at most once, and each public post belongs to only one target.

use std::collections::BTreeMap;

use super::{Broken, History, Kind};

/// No two targets claim the same post on the platform.
pub(super) fn deliveries_claim_different_platform_posts(history: &History<'_>) -> Vec<Broken> {
    let mut claims: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (post, target) in history.targets() {
        if let Some(id) = &target.platform_post_id {
            let account = history.journal.find_account(Some(target.connection_id));
            claims.entry((account, id)).or_default().push((post.post_id, target.target_id));
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

/// A target must not be public twice. The exception: the user was shown that the first one may be
/// public, and sent it again nevertheless.
pub(super) fn targets_are_published_at_most_once(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for ((post, target), public) in history.public_by_target() {
        for pair in public.windows(2) {
            let (mut first, mut second) = (pair[0], pair[1]);
            if second.reference.revision < first.reference.revision {
                (first, second) = (second, first);
            }
            let revisions = first.reference.revision..second.reference.revision;
            if !history.was_warned(post, target, revisions) {
                let what = format!(
                    "target {target} of post {post} is public twice: r{} at {} and r{} at {}",
                    first.reference.revision, first.at, second.reference.revision, second.at
                );
                broken.push(Broken::new(Kind::Duplicated, post, what));
            }
        }
    }
    broken
}
