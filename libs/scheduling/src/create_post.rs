use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::delivery::Delivery;
use domain::event::Event;
use domain::id::{MediaId, UniqueNumber};
use domain::owner::Owner;
use domain::post::{NewPost, Post, PostStatus};
use domain::validation_errors::ValidationErrors;
use storage::{DeliveryWrite, IdempotentRequest, PostContext, PostWrite, PostWritten, StorageError, StoredResponse};

use crate::attachments::ids;
use crate::plan_limits::user_limit;
use crate::{Scheduling, SchedulingError};

#[derive(Debug)]
pub enum Created {
    New(Box<Post>),
    /// The idempotency key was used for the same request before; this is its first response.
    Replayed(Box<Post>),
    Refused(NotCreated),
}

#[derive(Debug)]
pub enum NotCreated {
    KeyReused,
    /// The plan or the monthly budget does not allow the post; text for the user.
    NotInPlan(String),
    NoUser,
    Invalid(ValidationErrors),
}

pub(crate) enum PostDecision {
    Accepted(Box<Post>),
    Refused(NotCreated),
}

impl Scheduling {
    /// Creates a scheduled post if the request has a time. With a key, a repeated request gets the
    /// first response again.
    pub async fn create_post(
        &self,
        owner: impl Into<Owner>,
        request: NewPost,
        key: Option<&IdempotentRequest>,
    ) -> Result<Created, SchedulingError> {
        let (owner, mut reserved) = (owner.into(), Vec::new());
        let created = self.create_with_retries(owner, request, key, &mut reserved).await;
        self.release_unless_written(matches!(created, Ok(Created::New(_))), owner.user_id, &reserved).await;
        created
    }

    /// Adds the files that it reserves to `reserved`.
    async fn create_with_retries(
        &self,
        owner: Owner,
        request: NewPost,
        key: Option<&IdempotentRequest>,
        reserved: &mut Vec<MediaId>,
    ) -> Result<Created, SchedulingError> {
        let mut retries = self.write_retries();
        loop {
            let now = self.clock.now();
            // Sets, because DynamoDB refuses to read the same key twice in one call.
            let connections: BTreeSet<_> = request.targets.iter().map(|it| it.connection_id).collect();
            let files = request.files();
            let context = self.store.load_post_context(owner, connections, ids(&files), key, now).await?;
            if let (Some(stored_response), Some(key)) = (&context.kept, key) {
                return replay(stored_response, key);
            }
            let post = match self.decide_post(&request, &context, now).await? {
                PostDecision::Accepted(post) => post,
                PostDecision::Refused(reason) => return Ok(Created::Refused(reason)),
            };
            *reserved = ids(&files).into_iter().collect();
            let attachments: Vec<_> = post.files().cloned().collect();
            let missing = self.reserve_uploads(&files, &context.media, &attachments).await?;
            if !missing.is_empty() {
                return Ok(Created::Refused(NotCreated::Invalid(missing)));
            }
            let deliveries = self.new_deliveries(&post, now);
            let stored_response = match key {
                Some(key) => Some((key, serde_json::to_string(&post).map_err(StorageError::from)?)),
                None => None,
            };
            let event = (post.status == PostStatus::Scheduled).then(|| Event::scheduled(&post));
            let write = PostWrite {
                before: None,
                after: Some(&post),
                deliveries: delivery_puts(&deliveries),
                kept: stored_response,
                event: event.as_ref(),
            };
            match self.try_write_post(&write, now).await? {
                Some(PostWritten::Done) => {
                    futures::join!(self.hint(&deliveries, now), self.publish_event(event));
                    return Ok(Created::New(post));
                }
                Some(PostWritten::TooMany) => return Ok(Created::Refused(NotCreated::Invalid(too_many()))),
                // The id was taken, an account was disconnected, the rest of a budget was used, or an
                // equal request was processed concurrently: read everything again.
                Some(
                    PostWritten::OverBudget
                    | PostWritten::PostChanged
                    | PostWritten::DeliveryBusy
                    | PostWritten::AccountGone(_)
                    | PostWritten::KeyTaken,
                )
                | None => self.await_next_try(&mut retries).await?,
            }
        }
    }

    pub(crate) async fn decide_post(
        &self,
        request: &NewPost,
        context: &PostContext,
        now: DateTime<Utc>,
    ) -> Result<PostDecision, SchedulingError> {
        let Some(user) = &context.user else { return Ok(PostDecision::Refused(NotCreated::NoUser)) };
        let plan = self.rules.plans.named(user.plan.as_deref());
        if request.scheduled_at.is_some()
            && let Some(message) = user_limit(&plan, context)
        {
            return Ok(PostDecision::Refused(NotCreated::NotInPlan(message)));
        }

        let mut new = request.clone();
        self.check_options(&request.targets, &context.accounts, request.scheduled_at.is_some(), &mut new.faults);
        let files = self.attach(user.user_id, &request.files(), &context.media, &mut new.faults).await?;
        let created = Post::create(new, &files, user, &context.accounts, &self.ids, now);
        let post = match created {
            Ok(post) => post,
            Err(errors) => return Ok(PostDecision::Refused(NotCreated::Invalid(errors))),
        };
        if request.scheduled_at.is_some()
            && let Some(message) = self.profile_limit(&plan, &post).await?
        {
            return Ok(PostDecision::Refused(NotCreated::NotInPlan(message)));
        }
        let post = self.with_upload_days(post, &context.accounts, now);
        let post = post.charged(&context.accounts, &self.rules.budgets, now);
        let write_id: UniqueNumber = self.ids.fresh();
        Ok(match self.check_budget(None, &post, &context.accounts).await? {
            Some(message) => PostDecision::Refused(NotCreated::NotInPlan(message)),
            None => PostDecision::Accepted(Box::new(Post { write_id: write_id.get(), ..post })),
        })
    }
}

/// The first response again. The post is stored as it was then; the links to its files are new.
fn replay(stored_response: &StoredResponse, key: &IdempotentRequest) -> Result<Created, SchedulingError> {
    if stored_response.body_hash != key.body_hash {
        return Ok(Created::Refused(NotCreated::KeyReused));
    }
    let post: Post = serde_json::from_str(&stored_response.response).map_err(StorageError::from)?;
    Ok(Created::Replayed(Box::new(post)))
}

fn delivery_puts(deliveries: &[Delivery]) -> Vec<DeliveryWrite<'_>> {
    deliveries.iter().map(DeliveryWrite::Put).collect()
}

pub(crate) fn too_many() -> ValidationErrors {
    ValidationErrors::one("platforms", "replaces too many accounts at once; replace them in two requests")
}
