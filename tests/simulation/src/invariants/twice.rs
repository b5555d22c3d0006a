//! Each target is public at most once.

use super::{Broken, History, Kind};

/// Two posts of one target are one too many, unless the user was told of the
/// first that it may be public, and sent the second all the same.
pub(super) fn each_target_is_public_at_most_once(history: &History<'_>) -> Vec<Broken> {
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
                broken.push(Broken::new(Kind::Doubled, post, what));
            }
        }
    }
    broken
}
