//! Creating a post.

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

/// What a client asks for, as far as it could be read.
#[derive(Clone, Debug, Default)]
pub struct CreatePost {
    /// What is said; `None` only beside a fault.
    pub text: Option<PostText>,
    /// Where it goes.
    pub targets: Vec<NewTarget>,
    pub scheduled_at: Option<DateTime<Utc>>,
    /// What it carries.
    pub media: Vec<NamedMedium>,
    /// What is wrong with the request as it was written.
    pub faults: ValidationErrors,
    /// The request's idempotency key.
    pub key: Option<IdempotencyUse>,
    /// What its caller may write.
    pub authority: Authority,
}

impl CreatePost {
    /// Every file that it names, in whatever list.
    pub(crate) fn files(&self) -> Vec<NamedMedium> {
        self.media.iter().chain(self.targets.iter().filter_map(|it| it.media.as_ref()).flatten()).cloned().collect()
    }
}

/// How it ended.
#[derive(Debug)]
pub enum Created {
    New(Box<Post>),
    /// The same request was answered with this before.
    Replayed(Box<Post>),
    /// There is no post.
    Refused(NotCreated),
}

/// Why there is no post.
#[derive(Debug)]
pub enum NotCreated {
    /// The key was used for another request.
    KeyReused,
    /// The plan does not allow it, or the budget of the month.
    NotInPlan(String),
    /// The user is gone.
    NoUser,
    /// What is wrong.
    Invalid(ValidationErrors),
}

impl Publishing {
    /// Creates a draft, or schedules a post when it has a time.
    pub async fn create_post(&self, user: UserId, request: CreatePost) -> Result<Created, PublishingError> {
        let mut kept = Vec::new();
        let created = self.create_in_turn(user, request, &mut kept).await;
        self.let_go_unless(matches!(created, Ok(Created::New(_))), user, &kept).await;
        created
    }

    /// The same. Says which files it kept for the post.
    async fn create_in_turn(
        &self,
        user: UserId,
        request: CreatePost,
        kept_files: &mut Vec<MediaId>,
    ) -> Result<Created, PublishingError> {
        let mut turns = self.turns();
        loop {
            let now = self.clock.now();
            // Sets, because DynamoDB refuses to read the same key twice in a call.
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
            *kept_files = ids(&files).into_iter().collect();
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
            match self.write_in_turn(&write, now).await? {
                Some(PostWritten::Done) => {
                    self.hint(&deliveries, now).await;
                    self.publish_event(news).await;
                    return Ok(Created::New(Box::new(post)));
                }
                Some(PostWritten::TooMany) => return Ok(Created::Refused(NotCreated::Invalid(too_many()))),
                // The id was taken, an account was disconnected, the rest of a budget
                // was taken, or the same request was answered beside this one: all is
                // read again.
                Some(
                    PostWritten::OverBudget
                    | PostWritten::PostChanged
                    | PostWritten::DeliveryBusy
                    | PostWritten::AccountGone(_)
                    | PostWritten::KeyTaken,
                )
                | None => self.wait_for_turn(&mut turns).await?,
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
            // This one is never written: a request without a text has a fault
            // already, and nothing is created.
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

/// The first answer again. What is kept is the post as it was then; the links
/// to its media are made anew.
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
    format!("your plan allows {max} scheduled posts at the same time (max_scheduled_posts)")
}

pub(crate) fn too_many() -> ValidationErrors {
    ValidationErrors::one("platforms", "replaces too many accounts at once; change them in two steps")
}

#[cfg(test)]
mod tests;
