//! The writer of a post: writes it, changes it at inconvenient moments, and retries it after a
//! failure.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Connection;
use domain::id::PostId;
use domain::idempotency::IdempotencyKey;
use domain::post::{Authority, Changes, NewPost, NewSegment, NewTarget, PostStatus};
use scheduling::{Changed, Created, SchedulingError};
use storage::IdempotentRequest;
use tokio::task::JoinSet;

use super::{People, ResponseContent, WriterResponse};
use crate::deployment::REQUEST_LIMIT;
use crate::scenario::{PostAction, PostPlan};
use crate::services::Services;
use crate::simulated_platforms::PlatformBehavior;
use crate::world::lock;

const THREADS: f64 = 0.3;

/// For a request without a response.
const REPEATS: usize = 3;

/// How long writers continue to maintain their posts after the last fault.
const CARED_FOR: TimeDelta = TimeDelta::minutes(3);

#[derive(Clone)]
pub(super) struct Writer {
    people: Arc<People>,
    label: usize,
    plot: PostPlan,
    /// Known from the response to the request that creates it.
    post: Option<PostId>,
    /// Different texts that the post has had.
    texts: usize,
}

impl Writer {
    pub(super) fn new(users: Arc<People>, label: usize, plan: PostPlan) -> Self {
        Self { people: users, label, plot: plan, post: None, texts: 0 }
    }

    /// Follows the plan, each action at its time, even if the previous one has no response.
    pub(super) async fn live(mut self) {
        let world = Arc::clone(&self.people.deployment.world);
        let mut requests = JoinSet::new();
        for (after, action) in self.plot.acts.clone() {
            world.sleep_until(world.start + after).await;
            match (action, self.post) {
                (PostAction::Create(due), _) => self.create(action, due).await,
                (_, Some(post)) => {
                    let request = self.request(action);
                    let writer = self.clone();
                    requests.spawn(async move { writer.change(post, action, request).await });
                }
                // No response arrived, so the writer does not know the post's id.
                _ => return,
            }
        }
        while let Some(ended) = requests.join_next().await {
            ended.expect("no task panics");
        }
        self.retry_failed_post().await;
    }

    fn at(&self, after: TimeDelta) -> DateTime<Utc> {
        self.people.deployment.world.start + after
    }

    fn text(&mut self) -> domain::text::PostText {
        self.texts += 1;
        domain::testing::text(&format!("post {} version {}", self.label, self.texts))
    }

    /// Empty for most posts.
    fn thread(&mut self) -> Vec<NewSegment> {
        let world = &self.people.deployment.world;
        let count = if world.happens(THREADS) { world.dice().u32(1..4) } else { 0 };
        let replies = (0..count).map(|index| NewSegment {
            field: format!("thread.{index}"),
            text: domain::testing::text(&format!("post {} version {} reply {index}", self.label, self.texts)),
            media: Vec::new(),
        });
        replies.collect()
    }

    /// Only accounts that are connected.
    fn targets(&self, indexes: impl IntoIterator<Item = usize>) -> Vec<NewTarget> {
        let users = &self.people;
        let connections = indexes.into_iter().filter_map(|it| users.connection(users.accounts.get(it)?));
        let target = |(index, it): (usize, Connection)| NewTarget::new(index, it.connection_id);
        connections.enumerate().map(target).collect()
    }

    async fn create(&mut self, action: PostAction, due: Option<TimeDelta>) {
        let users = Arc::clone(&self.people);
        let deployment = &users.deployment;
        let world = &deployment.world;
        let request = NewPost {
            targets: self.targets(self.plot.targets.iter().copied()),
            scheduled_at: due.map(|it| self.at(it).max(world.now())),
            ..NewPost::new(self.text())
        };
        let request = NewPost { thread: self.thread(), ..request };
        let key = IdempotentRequest {
            owner: users.user.user_id.into(),
            route: "POST /posts",
            key: IdempotencyKey::parse(self.label.to_string().as_bytes()).expect("a key"),
            body_hash: String::new(),
        };
        for _ in 0..REPEATS {
            let Services { scheduling, .. } = deployment.started();
            let create = scheduling.create_post(users.user.user_id, request.clone(), Some(&key));
            let ended = world.process("posts", REQUEST_LIMIT, create).await;
            match &ended {
                Some(Ok(Created::New(post) | Created::Replayed(post))) => {
                    self.post = Some(post.post_id);
                    self.record_response(post.post_id, action, None, ResponseContent::Done(post.clone()));
                }
                Some(Ok(refused)) => world.note(format!("post {} is refused: {refused:?}", self.label)),
                Some(Err(error)) => log_error(error),
                None => {}
            }
            if let Some(Ok(_)) = ended {
                break;
            }
        }
        self.check_one_post();
    }

    /// However often the request was sent.
    fn check_one_post(&self) {
        let journal = lock(&self.people.deployment.journal);
        let start = format!("post {} version 1", self.label);
        let mut made: Vec<_> =
            journal.all_versions().filter(|it| it.post.text.as_str() == start).map(|it| it.post.post_id).collect();
        made.sort_unstable();
        made.dedup();
        if 1 < made.len() {
            lock(&self.people.twice_created).push(format!("one request made the posts {made:?}"));
        }
    }

    fn request(&mut self, action: PostAction) -> Changes {
        let now = self.people.deployment.world.now();
        let unchanged = Changes::default();
        match action {
            PostAction::Rewrite => {
                let text = Some(self.text());
                let changes_thread = self.people.deployment.world.happens(THREADS);
                Changes { text, thread: changes_thread.then(|| self.thread()), ..unchanged }
            }
            PostAction::Reschedule(after) => Changes { scheduled_at: Some(Some(self.at(after).max(now))), ..unchanged },
            PostAction::Retarget(places) => {
                let places = (0..8).filter(|it| places & (1 << it) != 0);
                Changes { targets: Some(self.targets(places)), ..unchanged }
            }
            PostAction::Create(_) | PostAction::Unschedule | PostAction::Delete => {
                Changes { scheduled_at: Some(None), ..unchanged }
            }
        }
    }

    async fn change(&self, post: PostId, action: PostAction, request: Changes) {
        let users = &self.people;
        let world = &users.deployment.world;
        world.note(format!("the writer of {post}: {action:?}"));
        let Services { scheduling, .. } = users.deployment.started();
        let user = users.user.user_id;
        let text = request.text.as_ref().map(|it| it.as_str().to_owned());
        let work = async {
            // These are the steps of the posts function.
            let Some(read) = scheduling.store.post(user, post).await? else { return Ok(Changed::NotThere) };
            match action {
                PostAction::Delete => scheduling.delete_post(user, read, Authority::Posts, None).await,
                _ => scheduling.change_post(user, read, request).await,
            }
        };
        let ended = world.process("posts", REQUEST_LIMIT, work).await;
        let outcome = match ended {
            Some(Ok(Changed::Done(_))) if action == PostAction::Delete => ResponseContent::Deleted,
            Some(Ok(Changed::Done(post))) => ResponseContent::Done(post),
            Some(Ok(_)) => ResponseContent::Refused,
            Some(Err(error)) => {
                log_error(&error);
                ResponseContent::Nothing
            }
            None => ResponseContent::Nothing,
        };
        self.record_response(post, action, text, outcome);
    }

    fn record_response(&self, post: PostId, action: PostAction, text: Option<String>, outcome: ResponseContent) {
        let world = &self.people.deployment.world;
        let text_of_outcome = match &outcome {
            ResponseContent::Done(post) => format!("{} r{}", post.status.as_str(), post.revision),
            other => format!("{other:?}"),
        };
        world.note(format!("the writer of {post} is answered: {text_of_outcome}"));
        lock(&self.people.answers).push(WriterResponse { at: world.now(), post, act: action, text, content: outcome });
    }

    fn may_be_removed(&self) -> bool {
        self.people.accounts.iter().any(|it| it.spec.behavior == PlatformBehavior::Removing)
    }

    async fn retry_failed_post(&mut self) {
        let world = Arc::clone(&self.people.deployment.world);
        let mut retries = self.plot.retries;
        while 0 < retries && world.now() < world.quiet_at + CARED_FOR {
            let look_after = TimeDelta::milliseconds(world.dice().i64(5_000..30_000));
            world.sleep_until(world.now() + look_after).await;
            let Some(post) = self.post else { return };
            let status = lock(&self.people.deployment.journal).post(post).map(|it| it.status);
            match status {
                Some(PostStatus::Failed) => {
                    retries -= 1;
                    let wait = TimeDelta::milliseconds(world.dice().i64(0..60_000));
                    let due = world.now() + wait - world.start;
                    let action = PostAction::Reschedule(due);
                    let request = self.request(action);
                    self.change(post, action, request).await;
                }
                None | Some(PostStatus::Draft) => return,
                Some(PostStatus::Published) if !self.may_be_removed() => return,
                Some(PostStatus::Scheduled | PostStatus::Publishing | PostStatus::Published) => {}
            }
        }
    }
}

/// An internal error, handled like in the API: logged once and returned as 500.
fn log_error(error: &SchedulingError) {
    tracing::error!(%error, ?error, "a request failed");
}
