//! Changes and deletes posts.
//!
//! After the response to a change, the old version is never published: the write requires that no
//! delivery of the post is being sent, and it invalidates every older delivery.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::backoff::Backoff;
use domain::delivery::Delivery;
use domain::event::Event;
use domain::id::{ConnectionId, MediaId};
use domain::owner::Owner;
use domain::post::{Authority, Changes, IfMatch, MediaReference, Post, PostStatus, Target, TargetStatus};
use domain::validation_errors::ValidationErrors;
use storage::{DeliveryWrite, PostWrite, PostWritten};

use crate::attachments::ids;
use crate::create_post::too_many;
use crate::plan_limits::user_limit;
use crate::uploads::note_published;
use crate::{Scheduling, SchedulingError};

#[derive(Debug)]
pub enum Changed {
    Done(Box<Post>),
    NotThere,
    /// The plan or the monthly budget does not allow the change; text for the user.
    NotInPlan(String),
    Stale,
    /// The caller may only write drafts, and the post is not a draft or would not stay one.
    DraftsOnly,
    /// A draft that a drafts-only token wrote is scheduled only with `If-Match`.
    NeedsRevision,
    Invalid(ValidationErrors),
}

enum ChangeDecision {
    Accepted(Box<Post>),
    Refused(Changed),
}

impl Scheduling {
    /// The post was read for its owner. Concurrent changes of one post are applied one after the
    /// other.
    pub async fn change_post(
        &self,
        owner: impl Into<Owner>,
        post: Post,
        request: Changes,
    ) -> Result<Changed, SchedulingError> {
        let (owner, mut reserved) = (owner.into(), Vec::new());
        let changed = self.change_with_retries(owner, post, request, &mut reserved).await;
        self.release_unless_written(matches!(changed, Ok(Changed::Done(_))), owner.user_id, &reserved).await;
        changed
    }

    /// Adds the files that it reserves to `reserved`.
    async fn change_with_retries(
        &self,
        owner: Owner,
        post: Post,
        request: Changes,
        reserved: &mut Vec<MediaId>,
    ) -> Result<Changed, SchedulingError> {
        let mut before = post;
        let mut retries = self.write_retries();
        loop {
            let now = self.clock.now();
            // In each attempt, because the post may have changed since the last one.
            if request.if_match.as_ref().is_some_and(|it| !it.matches(&before)) {
                return Ok(Changed::Stale);
            }
            let is_scheduling = matches!(request.scheduled_at, Some(Some(_)));
            if !request.authority.covers(&before) || is_scheduling && !request.authority.schedules() {
                return Ok(Changed::DraftsOnly);
            }
            let names_revision = request.if_match.as_ref().is_some_and(|it| it.names(&before));
            if is_scheduling && before.is_scheduled_by_revision() && !names_revision {
                return Ok(Changed::NeedsRevision);
            }
            if let Err(mut errors) = before.check_changeable() {
                errors.extend(request.faults.clone());
                return Ok(Changed::Invalid(errors));
            }
            let after = match self.decide_change(owner, &before, &request, reserved, now).await? {
                ChangeDecision::Accepted(after) => after,
                ChangeDecision::Refused(reason) => return Ok(reason),
            };
            self.release_uploads(&before, Some(&after), now).await?;
            let deliveries = self.new_deliveries(&after, now);
            let writes = writes(&before, &after, &deliveries);
            let is_rescheduled = before.status != PostStatus::Scheduled || before.scheduled_at != after.scheduled_at;
            // A change that removes the failed targets of a failed post makes it published.
            let ended_event = Event::ended(&after).filter(|_| before.status != after.status);
            let event = ended_event.or_else(|| {
                (after.status == PostStatus::Scheduled && is_rescheduled).then(|| Event::scheduled(&after))
            });
            let write = PostWrite {
                before: Some(&before),
                after: Some(&after),
                deliveries: writes,
                kept: None,
                event: event.as_ref(),
            };

            match self.try_write_post(&write, now).await? {
                Some(PostWritten::Done) => {
                    // The change is written, whatever the result of this is.
                    if let Err(error) = note_published(&self.store, &after).await {
                        tracing::warn!(%error, post_id = %after.post_id, "files of a published post still count towards the storage limit");
                    }
                    futures::join!(self.hint(&deliveries, now), self.publish_event(event));
                    return Ok(Changed::Done(after));
                }
                Some(PostWritten::TooMany) => return Ok(Changed::Invalid(too_many())),
                // A delivery is being sent. The roll-up writes that to the post, and the next
                // attempt refuses the change for it.
                Some(PostWritten::DeliveryBusy) => self.roll_up_before_retry(&before, &mut retries).await?,
                Some(
                    PostWritten::OverBudget
                    | PostWritten::PostChanged
                    | PostWritten::AccountGone(_)
                    | PostWritten::KeyTaken,
                )
                | None => {
                    self.await_next_try(&mut retries).await?;
                }
            }
            match self.store.post(owner, before.post_id).await? {
                Some(post) => before = post,
                None => return Ok(Changed::NotThere),
            }
        }
    }

    /// The post was read for its owner.
    pub async fn delete_post(
        &self,
        owner: impl Into<Owner>,
        post: Post,
        authority: Authority,
        if_match: Option<&IfMatch>,
    ) -> Result<Changed, SchedulingError> {
        let owner = owner.into();
        let mut before = post;
        let mut retries = self.write_retries();
        loop {
            if if_match.is_some_and(|it| !it.matches(&before)) {
                return Ok(Changed::Stale);
            }
            if !authority.covers(&before) {
                return Ok(Changed::DraftsOnly);
            }
            if let Err(errors) = before.check_deletable() {
                return Ok(Changed::Invalid(errors));
            }
            let now = self.clock.now();
            self.release_uploads(&before, None, now).await?;
            let write = PostWrite {
                before: Some(&before),
                after: None,
                deliveries: delivery_removals(&before),
                ..PostWrite::default()
            };
            match self.try_write_post(&write, now).await? {
                Some(PostWritten::Done) => return Ok(Changed::Done(Box::new(before))),
                Some(PostWritten::DeliveryBusy) => self.roll_up_before_retry(&before, &mut retries).await?,
                Some(_) | None => self.await_next_try(&mut retries).await?,
            }
            match self.store.post(owner, before.post_id).await? {
                Some(post) => before = post,
                None => return Ok(Changed::NotThere),
            }
        }
    }

    /// Rolls the deliveries up into the post. If other writers conflict every time, they may have
    /// done so.
    async fn roll_up_before_retry(&self, post: &Post, retries: &mut Backoff) -> Result<(), SchedulingError> {
        match self.roll_ups.roll_up(post.user_id, post.post_id).await {
            Err(error) if error.is_contended() => {}
            result => result?,
        }
        self.await_next_try(retries).await
    }

    /// Adds the files that it reserves to `reserved`.
    async fn decide_change(
        &self,
        owner: Owner,
        before: &Post,
        request: &Changes,
        reserved: &mut Vec<MediaId>,
        now: DateTime<Utc>,
    ) -> Result<ChangeDecision, SchedulingError> {
        let added = added(before, request);
        let named = connection_ids(before, request);
        let context = self.store.load_post_context(owner, named, ids(&added), None, now).await?;
        let Some(user) = &context.user else { return Ok(ChangeDecision::Refused(Changed::NotThere)) };
        let plan = self.rules.plans.named(user.plan.as_deref());
        if matches!(request.scheduled_at, Some(Some(_)))
            && !before.status.is_pending()
            && let Some(message) = user_limit(&plan, &context)
        {
            return Ok(ChangeDecision::Refused(Changed::NotInPlan(message)));
        }

        let mut changes = request.clone();
        let errors = &mut changes.faults;
        let is_scheduled = match request.scheduled_at {
            Some(at) => at.is_some(),
            None => before.status == PostStatus::Scheduled,
        };
        match &request.targets {
            Some(named) => self.check_options(named, &context.accounts, is_scheduled, errors),
            None if is_scheduled => self.check_kept_options(&before.targets, errors),
            None => {}
        }
        let attachments = self.attach(before.user_id, &added, &context.media, errors).await?;
        let after = match before.change(changes, attachments.clone(), &context.accounts, &self.ids, now) {
            Ok(after) => after,
            Err(errors) => return Ok(ChangeDecision::Refused(Changed::Invalid(errors))),
        };
        let is_counted = before.status.is_pending() && before.of_profile == after.of_profile;
        if after.status == PostStatus::Scheduled
            && !is_counted
            && let Some(message) = self.profile_limit(&plan, &after).await?
        {
            return Ok(ChangeDecision::Refused(Changed::NotInPlan(message)));
        }
        let after = self.with_upload_days(after, &context.accounts, now);
        let after = after.charged(&context.accounts, &self.rules.budgets, now);
        if let Some(message) = self.check_budget(Some(before), &after, &context.accounts).await? {
            return Ok(ChangeDecision::Refused(Changed::NotInPlan(message)));
        }
        *reserved = ids(&added).into_iter().collect();
        let missing = self.reserve_uploads(&added, &context.media, &attachments).await?;
        if !missing.is_empty() {
            return Ok(ChangeDecision::Refused(Changed::Invalid(missing)));
        }
        Ok(ChangeDecision::Accepted(Box::new(after)))
    }
}

/// The delivery writes that belong to the change: targets that are still to be sent get a delivery,
/// those of other targets are removed.
fn writes<'a>(before: &Post, after: &Post, deliveries: &'a [Delivery]) -> Vec<DeliveryWrite<'a>> {
    let to_remove = |target: &Target| {
        let is_replaced = deliveries.iter().any(|it| it.target_id == target.target_id);
        // A failed post that stays failed keeps the record of its attempts.
        let is_kept = after.status == PostStatus::Failed && after.target(target.target_id).is_some();
        !is_replaced && !is_kept
    };
    let mut writes: Vec<_> = deliveries.iter().map(DeliveryWrite::Put).collect();
    writes.extend(unpublished_targets(before).filter(|it| to_remove(it)).map(|it| DeliveryWrite::Remove(it.target_id)));
    writes
}

fn delivery_removals(post: &Post) -> Vec<DeliveryWrite<'static>> {
    unpublished_targets(post).map(|it| DeliveryWrite::Remove(it.target_id)).collect()
}

/// Targets that may have a delivery and are not published.
fn unpublished_targets(post: &Post) -> impl Iterator<Item = &Target> {
    let has_deliveries = post.status != PostStatus::Draft;
    post.targets.iter().filter(move |it| has_deliveries && it.status != TargetStatus::Published)
}

/// Each id once.
fn connection_ids(before: &Post, request: &Changes) -> BTreeSet<ConnectionId> {
    let named = request.targets.iter().flatten().map(|it| it.connection_id);
    before.targets.iter().map(|it| it.connection_id).chain(named).collect()
}

fn added(before: &Post, request: &Changes) -> Vec<MediaReference> {
    request.files().filter(|it| it.find_in(before.files()).is_none()).cloned().collect()
}
