use domain::listing::Counts;
use domain::post::{Post, PostStatus};

use super::{Broken, History, Kind};

pub(super) async fn post_counts_match_the_posts(history: &History<'_>) -> Vec<Broken> {
    let scheduling = &history.people.deployment.services.scheduling;
    let user = history.people.user.user_id;
    let context = scheduling.store.load_post_context(user, [], [], None, scheduling.clock.now()).await;
    let stored = context.expect("nothing goes wrong for the simulation itself").counts;
    let count = |status: PostStatus| {
        u64::try_from(history.journal.posts().filter(|it| it.status == status).count()).unwrap_or(u64::MAX)
    };
    let counted = Counts {
        draft: count(PostStatus::Draft),
        scheduled: count(PostStatus::Scheduled),
        publishing: count(PostStatus::Publishing),
        published: count(PostStatus::Published),
        failed: count(PostStatus::Failed),
    };
    if stored == counted {
        return Vec::new();
    }
    vec![Broken::new(Kind::Other, None, format!("the store counts {stored:?}, there are {counted:?}"))]
}

/// A connection's counter equals the number of posts that prevent disconnecting it.
pub(super) fn pending_marks_match_the_pending_targets(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for connection in history.journal.connections() {
        let id = connection.connection_id;
        let pending_posts: Vec<_> = history.journal.posts().filter(|it| it.marked().contains(&id)).collect();
        if u32::try_from(pending_posts.len()).ok() != Some(connection.pending) {
            let ids: Vec<_> = pending_posts.iter().map(|it| it.post_id).collect();
            let what = format!("connection {id} counts {} pending posts, there are {ids:?}", connection.pending);
            broken.push(Broken::new(Kind::Other, None, what));
        }
    }
    for post in history.journal.posts().filter(|it| !it.status.is_pending() && !it.marked().is_empty()) {
        let what = format!("post {} is {} and keeps its accounts", post.post_id, post.status.as_str());
        broken.push(Broken::new(Kind::Other, post.post_id, what));
    }
    broken
}

/// At the end of a run the due index is empty, and every delivery has its post.
pub(super) fn ended_deliveries_are_not_due(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for delivery in history.journal.deliveries() {
        let post: Option<&Post> = history.journal.post(delivery.post_id);
        let wrong = match (delivery.due_at, post) {
            (Some(at), _) => Some(format!("is still due at {at}")),
            (None, None) => Some("has no post".to_owned()),
            (None, Some(post)) if post.target(delivery.target_id).is_none() => Some("has no target".to_owned()),
            (None, Some(post)) if post.status == PostStatus::Draft => Some("belongs to a draft".to_owned()),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let what = format!("the delivery of target {} of post {} {wrong}", delivery.target_id, delivery.post_id);
            broken.push(Broken::new(Kind::Stuck, delivery.post_id, what));
        }
    }
    broken
}
