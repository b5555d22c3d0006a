//! The roll-up: the status of a post and its targets follows from its deliveries.

use chrono::{DateTime, Utc};

use crate::delivery::{Delivery, State};
use crate::failure::FailureClass;
use crate::post::{Post, PostStatus, Target, TargetStatus};

impl Post {
    /// Computes the status of the post from its deliveries. Deliveries of another revision are
    /// ignored, because the user has changed the post since, except those of published targets.
    #[must_use]
    pub fn rolled_up(&self, deliveries: &[Delivery], now: DateTime<Utc>) -> Self {
        let mut post = self.clone();
        for delivery in deliveries {
            post.roll_up_after_publication(delivery);
        }
        if !self.status.is_pending() {
            if post.status == PostStatus::Published && post.targets.iter().any(|it| it.status == TargetStatus::Failed) {
                post.status = PostStatus::Failed;
            }
            if post != *self {
                post.updated_at = now;
            }
            return post;
        }
        let current = || deliveries.iter().filter(|it| it.revision == self.revision);
        for delivery in current() {
            if let Some(target) = post.targets.iter_mut().find(|it| it.target_id == delivery.target_id) {
                target.roll_up(delivery);
            }
        }
        if post.targets.iter().all(|it| it.status.has_ended()) {
            let failed = post.targets.iter().any(|it| it.status == TargetStatus::Failed);
            post.status = if failed { PostStatus::Failed } else { PostStatus::Published };
            post.unmark();
        } else {
            post.status = if is_under_way(current()) { PostStatus::Publishing } else { PostStatus::Scheduled };
        }
        if post != *self {
            post.updated_at = now;
        }
        post
    }
}

impl Post {
    /// Takes over the outcome of a first comment, or that the platform has removed the post. The post may have ended
    /// before, and may have been changed since: a published target keeps its delivery.
    fn roll_up_after_publication(&mut self, delivery: &Delivery) {
        let target = self.targets.iter_mut().find(|it| it.target_id == delivery.target_id);
        if let Some(target) = target.filter(|it| it.status == TargetStatus::Published) {
            // The user may have completed a thread that failed by removing the rest of it.
            let was_removed = matches!(delivery.state, State::Failed { .. }) && delivery.published.is_empty();
            if was_removed {
                return target.roll_up(delivery);
            }
            target.add_public(&delivery.published);
            target.comment_error.clone_from(&delivery.comment_error);
            if delivery.state == State::Published {
                target.release_charges();
            }
        }
    }
}

/// Whether the post may not be changed. That is so if the outcome of a publish call of one of its
/// targets is unknown, because a change could publish it twice; if a target has published a part of
/// its thread; or if some targets have ended and others are about to be published. A target that
/// waits after an error is not about to be: its user may change the post, or cancel it.
fn is_under_way<'a>(deliveries: impl Iterator<Item = &'a Delivery>) -> bool {
    let (mut has_ended, mut is_continuing) = (false, false);
    for delivery in deliveries {
        if delivery.has_only_comment_left() {
            has_ended = true;
            continue;
        }
        let may_be_public = matches!(delivery.state, State::Failed { class: FailureClass::MayBePublic, .. });
        if delivery.intent.is_some() || delivery.is_between_segments() || may_be_public {
            return true;
        }
        has_ended |= delivery.state != State::Waiting;
        is_continuing |= delivery.state == State::Waiting && !delivery.is_waiting_after_error();
    }
    has_ended && is_continuing
}

impl Target {
    fn roll_up(&mut self, delivery: &Delivery) {
        self.add_public(&delivery.published);
        match &delivery.state {
            // The delivery was read before it ended. In the meantime another worker has recorded
            // its end in the post, and an end is final.
            State::Waiting if self.status.has_ended() => {}
            State::Waiting if delivery.has_only_comment_left() => {
                self.status = TargetStatus::Published;
                self.error_message = None;
            }
            State::Waiting => {
                let is_under_way = delivery.intent.is_some() || self.is_public();
                self.status = if is_under_way { TargetStatus::Publishing } else { TargetStatus::Pending };
                self.error_message = delivery.waiting_message();
            }
            State::Published => {
                self.status = TargetStatus::Published;
                self.error_message = None;
                self.comment_error.clone_from(&delivery.comment_error);
                self.release_charges();
            }
            State::Failed { reason, class } => {
                // None is left if the platform has removed the post.
                self.public.truncate(delivery.published.len());
                self.status = TargetStatus::Failed;
                self.error_message = Some(reason.clone());
                self.failure = Some(*class);
                self.release_charges();
            }
        }
    }
}

#[cfg(test)]
mod tests;
