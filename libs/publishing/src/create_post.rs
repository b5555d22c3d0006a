use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::delivery::Delivery;
use domain::event::Event;
use domain::id::{MediaId, UniqueNumber, UserId};
use domain::post::{Authority, NamedMedium, NewPost, NewTarget, Post, PostStatus};
use domain::text::PostText;
use domain::validation_errors::ValidationErrors;
use storage::{DeliveryWrite, IdempotencyUse, PostContext, PostWrite, PostWritten, StorageError, StoredResponse};

use crate::attachments::ids;
use crate::{Publishing, PublishingError};

/// A new post as far as the request could be parsed.
#[derive(Clone, Debug, Default)]
pub struct CreatePost {
    /// `None` only together with an error.
    pub text: Option<PostText>,
    pub targets: Vec<NewTarget>,
    pub scheduled_at: Option<DateTime<Utc>>,
    pub media: Vec<NamedMedium>,
    /// Errors that parsing found already.
    pub faults: ValidationErrors,
    pub key: Option<IdempotencyUse>,
    /// What the caller may write.
    pub authority: Authority,
}

impl CreatePost {
    /// Every file that the post or one of its targets names.
    pub(crate) fn files(&self) -> Vec<NamedMedium> {
        self.media.iter().chain(self.targets.iter().filter_map(|it| it.media.as_ref()).flatten()).cloned().collect()
    }
}

#[derive(Debug)]
pub enum Created {
    New(Box<Post>),
    /// The idempotency key was used for the same request before; this is its first response.
    Replayed(Box<Post>),
    Refused(NotCreated),
}

/// Why no post was created.
#[derive(Debug)]
pub enum NotCreated {
    /// The idempotency key was used for another request.
    KeyReused,
    /// The plan or the monthly budget does not allow the post; text for the user.
    NotInPlan(String),
    /// The user was deleted.
    NoUser,
    Invalid(ValidationErrors),
}

impl Publishing {
    /// Creates a draft, or a scheduled post if it has a time.
    pub async fn create_post(&self, user: UserId, request: CreatePost) -> Result<Created, PublishingError> {
        let mut kept = Vec::new();
        let created = self.create_with_retries(user, request, &mut kept).await;
        self.release_unless_written(matches!(created, Ok(Created::New(_))), user, &kept).await;
        created
    }

    /// Retry loop of `create_post`. The files that it reserved are in `reserved`.
    async fn create_with_retries(
        &self,
        user: UserId,
        request: CreatePost,
        reserved: &mut Vec<MediaId>,
    ) -> Result<Created, PublishingError> {
        let mut retries = self.write_retries();
        loop {
            let now = self.clock.now();
            // Sets, because DynamoDB refuses to read the same key twice in one call.
            let connections: BTreeSet<_> = request.targets.iter().map(|it| it.connection_id).collect();
            let files = request.files();
            let around = self.store.surroundings(user, connections, ids(&files), request.key.as_ref(), now).await?;
            if let (Some(kept), Some(key)) = (&around.kept, &request.key) {
                return replay(kept, key);
            }
            let post = match self.new_post(&request, &around, now).await? {
                Ok(post) => post,
                Err(why) => return Ok(Created::Refused(why)),
            };
            *reserved = ids(&files).into_iter().collect();
            let carried: Vec<_> = post.files().cloned().collect();
            let gone = self.reserve_uploads(&files, &around.media, &carried).await?;
            if !gone.is_empty() {
                return Ok(Created::Refused(NotCreated::Invalid(gone)));
            }
            let deliveries = self.deliveries_of(&post, now);
            let kept = match &request.key {
                Some(key) => Some((key, serde_json::to_string(&post).map_err(StorageError::from)?)),
                None => None,
            };
            let news = (post.status == PostStatus::Scheduled).then(|| Event::scheduled(&post));
            let write = PostWrite {
                before: None,
                after: Some(&post),
                deliveries: puts(&deliveries),
                kept,
                event: news.as_ref(),
            };
            match self.try_write_post(&write, now).await? {
                Some(PostWritten::Done) => {
                    futures::join!(self.hint(&deliveries, now), self.publish_event(news));
                    return Ok(Created::New(Box::new(post)));
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

    pub(crate) async fn new_post(
        &self,
        request: &CreatePost,
        around: &PostContext,
        now: DateTime<Utc>,
    ) -> Result<Result<Post, NotCreated>, PublishingError> {
        let Some(user) = &around.user else { return Ok(Err(NotCreated::NoUser)) };
        let plan = self.plans.named(user.plan.as_deref());
        if let (Some(max), Some(_)) = (plan.max_scheduled_posts, request.scheduled_at)
            && u64::from(max) <= around.counts.scheduled
        {
            return Ok(Err(NotCreated::NotInPlan(over_plan(max))));
        }

        let mut faults = request.faults.clone();
        self.check_options(&request.targets, &around.accounts, request.scheduled_at.is_some(), &mut faults);
        let files = self.attach(user.user_id, &request.files(), &around.media, &mut faults).await?;
        let new = NewPost {
            // Never written: a request without text has an error already, so no post is created.
            text: request.text.clone().unwrap_or_else(PostText::missing),
            targets: request.targets.clone(),
            scheduled_at: request.scheduled_at,
            media: request.media.clone(),
            authority: request.authority,
            faults,
        };
        let created = Post::create(new, &files, user, &around.accounts, &self.ids, now);
        let post = match created {
            Ok(post) => post.charged(&around.accounts, &self.budgets, now),
            Err(faults) => return Ok(Err(NotCreated::Invalid(faults))),
        };
        let write_id: UniqueNumber = self.ids.fresh();
        Ok(match self.over_budget(None, &post, &around.accounts).await? {
            Some(why) => Err(NotCreated::NotInPlan(why)),
            None => Ok(Post { write_id: write_id.get(), ..post }),
        })
    }
}

/// The first response again. The post is stored as it was then; the links to its files are new.
fn replay(kept: &StoredResponse, key: &IdempotencyUse) -> Result<Created, PublishingError> {
    if kept.body_hash != key.body_hash {
        return Ok(Created::Refused(NotCreated::KeyReused));
    }
    let post: Post = serde_json::from_str(&kept.response).map_err(StorageError::from)?;
    Ok(Created::Replayed(Box::new(post)))
}

fn puts(deliveries: &[Delivery]) -> Vec<DeliveryWrite<'_>> {
    deliveries.iter().map(DeliveryWrite::Put).collect()
}

pub(crate) fn over_plan(max: u32) -> String {
    format!(
        "your plan allows {max} scheduled posts at a time (max_scheduled_posts), and you have that many; unschedule one, or wait until one is published"
    )
}

pub(crate) fn too_many() -> ValidationErrors {
    ValidationErrors::one("platforms", "replaces too many accounts at once; replace them in two requests")
}

#[cfg(test)]
mod tests;
