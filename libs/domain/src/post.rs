//! A post, its targets, and how both change.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::delivery::{Delivery, FailureClass, State};
use crate::faults::Faults;
use crate::id::{ConnectionId, Ids, PostId, TargetId, UserId};
use crate::media::Attachment;
use crate::text::PostText;
use crate::user::User;

/// The most targets of a post.
pub const MAX_TARGETS: usize = 30;

/// The most pictures and videos of a post.
pub const MAX_MEDIA: usize = 30;

/// The most bytes that a post's texts, overrides included, may have together:
/// what a stored item holds beside everything else in it.
pub const MAX_TEXT_BYTES: usize = 300_000;

/// Where a post stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostStatus {
    /// Kept, not going out.
    Draft,
    /// Goes out at its time.
    Scheduled,
    /// Going out.
    Publishing,
    /// Public on every target.
    Published,
    /// Ended, and not public on at least one target.
    Failed,
}

impl PostStatus {
    /// Every status.
    pub const ALL: [Self; 5] = [Self::Draft, Self::Scheduled, Self::Publishing, Self::Published, Self::Failed];

    /// As clients write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
        }
    }

    /// Reads one.
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == raw)
    }

    /// Whether targets of such a post keep their accounts from being disconnected.
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Scheduled | Self::Publishing)
    }
}

/// Where a target stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    /// Not begun.
    Pending,
    /// Begun.
    Publishing,
    /// Public.
    Published,
    /// Ended without being known to be public.
    Failed,
}

impl TargetStatus {
    /// As clients read it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
        }
    }
}

/// One account that a post is aimed at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Ours; kept as long as the post is aimed at the account.
    pub target_id: TargetId,
    /// The account.
    pub connection_id: ConnectionId,
    /// Kept here, so that it can be read after the account is disconnected.
    pub provider: String,
    /// Likewise.
    pub username: Option<String>,
    /// The text for this target alone, or the one that it went out with.
    pub text: Option<PostText>,
    /// Where it stands.
    pub status: TargetStatus,
    /// When it became public.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub published_at: Option<DateTime<Utc>>,
    /// The platform's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_post_id: Option<String>,
    /// Why it is not public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Why it failed, for programs; `None` unless it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// Whether it is counted among its connection's pending targets.
    #[serde(default)]
    pub marked: bool,
}

/// A post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// Whose.
    pub user_id: UserId,
    /// Ours.
    pub post_id: PostId,
    /// Counts what the user changed.
    pub revision: u64,
    /// Changes with every write, so that of two writers one loses.
    pub stamp: u64,
    /// What is said where a target does not say otherwise.
    pub text: PostText,
    /// Where it stands.
    pub status: PostStatus,
    /// When it goes out; `None` exactly for drafts.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<DateTime<Utc>>,
    /// When it was written.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// When the user last changed it, or its status last changed.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub updated_at: DateTime<Utc>,
    /// The name of its user when it was written.
    pub creator_name: String,
    /// Where it goes.
    pub targets: Vec<Target>,
    /// What it carries.
    pub media: Vec<Attachment>,
}

/// A target as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTarget {
    /// Its place in the request, for messages.
    pub index: usize,
    /// The account.
    pub connection_id: ConnectionId,
    /// The text for this target alone.
    pub text: Option<PostText>,
}

/// A post as a client writes it; media are given beside it, once verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    /// What is said.
    pub text: PostText,
    /// Where it goes, each account once.
    pub targets: Vec<NewTarget>,
    /// When.
    pub scheduled_at: Option<DateTime<Utc>>,
}

/// What a client changes. Absent is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What is said.
    pub text: Option<PostText>,
    /// Where it goes: the whole set.
    pub targets: Option<Vec<NewTarget>>,
    /// When; `Some(None)` unschedules.
    pub scheduled_at: Option<Option<DateTime<Utc>>>,
    /// What it carries, verified.
    pub media: Option<Vec<Attachment>>,
}

/// The accounts that a request names and that are this user's.
pub type Accounts = BTreeMap<ConnectionId, Connection>;

impl Post {
    /// A new post: a draft, or scheduled when it has a time.
    pub fn create(
        new: NewPost,
        media: Vec<Attachment>,
        user: &User,
        accounts: &Accounts,
        ids: &Ids,
        now: DateTime<Utc>,
    ) -> Result<Self, Faults> {
        let mut faults = Faults::new();
        let targets = aim(&new.targets, &[], accounts, ids, &mut faults);
        let post = Self {
            user_id: user.user_id,
            post_id: ids.fresh(),
            revision: 1,
            stamp: 1,
            text: new.text,
            status: PostStatus::Draft,
            scheduled_at: None,
            created_at: now,
            updated_at: now,
            creator_name: user.name.clone(),
            targets,
            media,
        };
        let post = match new.scheduled_at {
            Some(at) => post.scheduled(at, accounts, &new.targets, &mut faults),
            None => post,
        };
        post.check_size(&mut faults);
        faults.or(post)
    }

    /// The post after a user's changes.
    pub fn change(&self, changes: Changes, accounts: &Accounts, ids: &Ids, now: DateTime<Utc>) -> Result<Self, Faults> {
        self.check_changeable()?;
        let mut faults = Faults::new();
        let mut post = Self { revision: self.revision + 1, updated_at: now, ..self.clone() };
        let named = changes.targets.as_deref();
        if let Some(targets) = named {
            post.keep_published(targets, &mut faults);
            post.targets = aim(targets, &self.targets, accounts, ids, &mut faults);
        }
        let named = named.unwrap_or_default();
        if let Some(text) = changes.text {
            for target in post.targets.iter_mut().filter(|it| it.status == TargetStatus::Published) {
                // It went out with the old words, and says so from now on.
                target.text.get_or_insert_with(|| self.text.clone());
            }
            post.text = text;
        }
        if let Some(media) = changes.media {
            post.media = media;
        }
        let post = match (changes.scheduled_at, self.status) {
            (Some(Some(at)), _) => post.scheduled(at, accounts, named, &mut faults),
            (Some(None), _) => post.unscheduled(&mut faults),
            (None, PostStatus::Scheduled) => {
                // What stays scheduled must still be acceptable.
                let at = self.scheduled_at.unwrap_or(now);
                post.scheduled(at, accounts, named, &mut faults)
            }
            (None, _) => post,
        };
        post.check_size(&mut faults);
        faults.or(post.finished_if_all_public())
    }

    /// Whether the post can be deleted.
    pub fn check_deletable(&self) -> Result<(), Faults> {
        self.check_changeable()?;
        if self.targets.iter().any(|it| it.status == TargetStatus::Published) {
            return Err(Faults::one(
                "status",
                "is failed, but a part of the post is public; it cannot be deleted here",
            ));
        }
        Ok(())
    }

    /// Whether the post can be changed.
    pub fn check_changeable(&self) -> Result<(), Faults> {
        match self.status {
            PostStatus::Draft | PostStatus::Scheduled | PostStatus::Failed => Ok(()),
            PostStatus::Publishing | PostStatus::Published => Err(Faults::one(
                "status",
                format!("is {}; only draft, scheduled and failed posts can be changed", self.status.as_str()),
            )),
        }
    }

    /// The text that a target uses.
    pub fn text_of<'a>(&'a self, target: &'a Target) -> &'a PostText {
        target.text.as_ref().unwrap_or(&self.text)
    }

    /// The target with this id.
    pub fn target(&self, id: TargetId) -> Option<&Target> {
        self.targets.iter().find(|it| it.target_id == id)
    }

    /// The targets that a scheduled post still has to reach.
    pub fn to_deliver(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|it| self.status.is_pending() && it.status != TargetStatus::Published)
    }

    /// The connections in whose pending count this post stands, each once.
    pub fn marked(&self) -> BTreeSet<ConnectionId> {
        self.targets.iter().filter(|it| it.marked).map(|it| it.connection_id).collect()
    }

    /// The post as its deliveries say it stands. Those of another revision are
    /// void.
    #[must_use]
    pub fn rolled_up(&self, deliveries: &[Delivery], now: DateTime<Utc>) -> Self {
        let mut post = self.clone();
        if !self.status.is_pending() {
            return post;
        }
        let mut begun = self.status == PostStatus::Publishing;
        for delivery in deliveries.iter().filter(|it| it.revision == self.revision) {
            begun |= delivery.is_begun() || delivery.state != State::Waiting;
            if let Some(target) = post.targets.iter_mut().find(|it| it.target_id == delivery.target_id) {
                target.tell(delivery);
            }
        }
        let ended = |it: &Target| matches!(it.status, TargetStatus::Published | TargetStatus::Failed);
        if post.targets.iter().all(ended) {
            let failed = post.targets.iter().any(|it| it.status == TargetStatus::Failed);
            post.status = if failed { PostStatus::Failed } else { PostStatus::Published };
            for target in &mut post.targets {
                target.marked = false;
            }
        } else if begun {
            post.status = PostStatus::Publishing;
        }
        if post != *self {
            post.updated_at = now;
        }
        post
    }

    fn scheduled(mut self, at: DateTime<Utc>, accounts: &Accounts, named: &[NewTarget], faults: &mut Faults) -> Self {
        // Targets that were named but cannot be used are faults already.
        let none_named = faults.iter().all(|(field, _)| !field.starts_with("platforms"));
        if self.targets.is_empty() && none_named {
            faults.add_sentence("platforms", "a scheduled post needs at least one account in platforms");
        }
        let (text, media) = (self.text.clone(), self.media.clone());
        for (index, target) in self.targets.iter_mut().enumerate() {
            // Entries of the request that cannot be used are not among the targets.
            let named = named.iter().find(|it| it.connection_id == target.connection_id);
            let index = named.map_or(index, |it| it.index);
            let account = accounts.get(&target.connection_id);
            target.marked = account.is_some();
            if target.status == TargetStatus::Published {
                continue;
            }
            target.status = TargetStatus::Pending;
            target.error_message = None;
            target.failure = None;
            let field = format!("platforms.{index}.connected_account_id");
            match account {
                None => faults.add(field, "is no longer connected; remove the entry or connect the account again"),
                Some(account) if account.needs_reconnection => {
                    faults.add(field, "needs reconnection; connect the account again first");
                }
                Some(account) => {
                    let text = target.text.as_ref().unwrap_or(&text);
                    for breach in account.rules.breaches(text, &media) {
                        faults.add_sentence(format!("platforms.{index}.{}", breach.field), breach.message);
                    }
                }
            }
        }
        self.status = PostStatus::Scheduled;
        self.scheduled_at = Some(at);
        self
    }

    fn unscheduled(mut self, faults: &mut Faults) -> Self {
        if self.targets.iter().any(|it| it.status == TargetStatus::Published) {
            faults.add_sentence(
                "scheduled_at",
                "a post of which a part is public cannot go back to draft; give a new scheduled_at to try the rest again",
            );
        }
        for target in &mut self.targets {
            target.status = TargetStatus::Pending;
            target.error_message = None;
            target.failure = None;
            target.marked = false;
        }
        self.status = PostStatus::Draft;
        self.scheduled_at = None;
        self
    }

    fn keep_published(&self, targets: &[NewTarget], faults: &mut Faults) {
        for published in self.targets.iter().filter(|it| it.status == TargetStatus::Published) {
            let Some(named) = targets.iter().find(|it| it.connection_id == published.connection_id) else {
                let id = published.connection_id;
                faults.add_sentence(
                    "platforms",
                    format!("the account {id} has already published this post and cannot be removed from it"),
                );
                continue;
            };
            let index = named.index;
            let other = named.text.as_ref().filter(|it| *it != self.text_of(published));
            if other.is_some() {
                faults.add(format!("platforms.{index}.content"), "is already public and cannot be changed");
            }
        }
    }

    fn check_size(&self, faults: &mut Faults) {
        let overrides = self.targets.iter().filter_map(|it| it.text.as_ref());
        let bytes: usize = overrides.chain([&self.text]).map(|it| it.as_str().len()).sum();
        if MAX_TEXT_BYTES < bytes {
            faults.add(
                "content",
                format!("and the texts of platforms may have {MAX_TEXT_BYTES} bytes together, these have {bytes}"),
            );
        }
    }

    /// A failed post that is left with public targets alone has succeeded.
    fn finished_if_all_public(mut self) -> Self {
        let all_public = !self.targets.is_empty() && self.targets.iter().all(|it| it.status == TargetStatus::Published);
        if all_public {
            self.status = PostStatus::Published;
            for target in &mut self.targets {
                target.marked = false;
            }
        }
        self
    }
}

impl Target {
    fn tell(&mut self, delivery: &Delivery) {
        let has_ended = matches!(self.status, TargetStatus::Published | TargetStatus::Failed);
        match &delivery.state {
            // Read before it ended, by somebody who writes after that was told.
            State::Waiting if has_ended => {}
            State::Waiting => {
                self.status = if delivery.is_begun() { TargetStatus::Publishing } else { TargetStatus::Pending };
                self.error_message.clone_from(&delivery.note);
            }
            State::Published(published) => {
                self.status = TargetStatus::Published;
                self.published_at = Some(published.at);
                self.platform_post_id = Some(published.platform_post_id.clone());
                self.error_message = None;
            }
            State::Failed { reason, class } => {
                self.status = TargetStatus::Failed;
                self.error_message = Some(reason.clone());
                self.failure = Some(*class);
            }
        }
    }
}

/// The targets that a client names, with the ids of those that were there before.
fn aim(named: &[NewTarget], before: &[Target], accounts: &Accounts, ids: &Ids, faults: &mut Faults) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut seen = BTreeSet::new();
    for new in named {
        let index = new.index;
        let field = format!("platforms.{index}.connected_account_id");
        if !seen.insert(new.connection_id) {
            faults.add(field, "names an account that stands in platforms already");
            continue;
        }
        let kept = before.iter().find(|it| it.connection_id == new.connection_id);
        let published = kept.filter(|it| it.status == TargetStatus::Published);
        match (published, accounts.get(&new.connection_id)) {
            (Some(published), _) => targets.push(published.clone()),
            (None, Some(account)) => targets.push(Target {
                target_id: kept.map_or_else(|| ids.fresh(), |it| it.target_id),
                connection_id: new.connection_id,
                provider: account.provider.clone(),
                username: account.profile.username.clone(),
                text: new.text.clone(),
                status: kept.map_or(TargetStatus::Pending, |it| it.status),
                published_at: None,
                platform_post_id: None,
                error_message: kept.and_then(|it| it.error_message.clone()),
                failure: kept.and_then(|it| it.failure),
                marked: kept.is_some_and(|it| it.marked),
            }),
            (None, None) => faults.add(field, "is not one of your connected accounts"),
        }
    }
    targets
}

#[cfg(test)]
mod tests;
