//! A post and its targets, one for each account that it is published to; and the requests for a new
//! post, for changes of one, and for a list.
//!
//! This file lists the fields of a post. A field that needs no decision is carried here from a
//! request into the post; `change.rs` decides on the others.

mod authority;
mod change;
mod charge;
mod consent;
mod if_match;
mod request;
mod segment;
mod status;
mod target;
#[cfg(test)]
mod tests;
mod upload_quota;

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ConnectionId, Ids, PostId, ProfileId, TargetId, UserId};
use crate::media::Attachment;
use crate::profile::ProfileRef;
use crate::text::{ExternalId, Label, PostText};
use crate::user::User;
use crate::validation_errors::ValidationErrors;
pub use authority::Authority;
pub use charge::changes;
pub use if_match::IfMatch;
pub use request::{Accounts, MediaReference, NewSegment, NewTarget, files};
pub use segment::{FIRST_COMMENT, PublicSegment, Segment, SegmentContent, SegmentKind, SegmentView};
pub use status::{PostStatus, TargetStatus};
pub use target::Target;
pub use upload_quota::upload_changes;

/// Of one post.
pub const MAX_TARGETS: usize = 30;

/// Of a post, and of each target with its own files.
pub const MAX_MEDIA: usize = 30;

/// The most different files of a request, for a post and its targets together: each is looked up
/// before the response.
pub const MAX_FILES: usize = 60;

/// The most entries of all lists of files together, because an item of the store is limited in
/// size.
pub const MAX_ENTRIES: usize = 300;

/// Of one post.
pub const MAX_LABELS: usize = 20;

/// The most bytes of a post's texts together, with the texts of targets, options and alternative
/// texts. An item of the store is limited in size, and this leaves enough for the rest of the post.
pub const MAX_TEXT_BYTES: usize = 300_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    pub user_id: UserId,
    pub post_id: PostId,
    /// Counts the user's changes. Deliveries belong to one revision.
    pub revision: u64,
    pub written_by: Authority,
    /// Random, the condition of the next write: of two concurrent writers, one fails.
    pub write_id: u64,
    /// The text of every target without its own text.
    pub text: PostText,
    pub status: PostStatus,
    /// When the post is published; `None` exactly for drafts.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<DateTime<Utc>>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Time of the user's last change, or of the last change of the status.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub updated_at: DateTime<Utc>,
    /// The user's name at the time of creation.
    pub creator_name: String,
    pub targets: Vec<Target>,
    pub media: Vec<Attachment>,
    /// The replies that continue the post, on every target without its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread: Vec<SegmentContent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<ExternalId>,
    /// Each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// The customer whose accounts the post is aimed at; `None` for the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_profile: Option<ProfileRef>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    pub text: PostText,
    /// Each account at most once.
    pub targets: Vec<NewTarget>,
    pub scheduled_at: Option<DateTime<Utc>>,
    pub media: Vec<MediaReference>,
    pub thread: Vec<NewSegment>,
    pub external_id: Option<ExternalId>,
    pub labels: Vec<Label>,
    /// The profile of a post without targets; another has the profile of its accounts.
    pub of_profile: Option<ProfileRef>,
    pub authority: Authority,
    /// Errors found while the request was parsed. If there are any, no post is created.
    pub faults: ValidationErrors,
}

/// `None` leaves a field unchanged, and a list replaces all entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub text: Option<PostText>,
    pub targets: Option<Vec<NewTarget>>,
    /// A new time; `Some(None)` makes the post a draft again.
    pub scheduled_at: Option<Option<DateTime<Utc>>>,
    pub media: Option<Vec<MediaReference>>,
    pub thread: Option<Vec<NewSegment>>,
    /// `Some(None)` removes the id.
    pub external_id: Option<Option<ExternalId>>,
    pub labels: Option<Vec<Label>>,
    pub authority: Authority,
    /// The revision that the request is for; `None` means any.
    pub if_match: Option<IfMatch>,
    /// Errors found while the request was parsed. If there are any, nothing is changed.
    pub faults: ValidationErrors,
}

/// Which posts a list has. `None` means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub status: Option<PostStatus>,
    pub external_id: Option<ExternalId>,
    pub label: Option<Label>,
    pub connection: Option<ConnectionId>,
    pub profile: Option<ProfileId>,
    /// Posts with this text in the post, a reply, a first comment or the text of a target. Case is
    /// ignored.
    pub text: Option<String>,
}

impl NewPost {
    pub fn new(text: PostText) -> Self {
        Self {
            text,
            targets: Vec::new(),
            scheduled_at: None,
            media: Vec::new(),
            thread: Vec::new(),
            external_id: None,
            labels: Vec::new(),
            of_profile: None,
            authority: Authority::default(),
            faults: ValidationErrors::new(),
        }
    }

    /// The files of the post and of its targets; may contain a file several times.
    pub fn files(&self) -> Vec<MediaReference> {
        files(&self.media, &self.thread, &self.targets).cloned().collect()
    }

    fn draft(&self, user: &User, ids: &Ids, now: DateTime<Utc>) -> Post {
        Post {
            user_id: user.user_id,
            post_id: ids.fresh(),
            revision: 1,
            written_by: self.authority,
            write_id: 1,
            text: self.text.clone(),
            status: PostStatus::Draft,
            scheduled_at: None,
            created_at: now,
            updated_at: now,
            creator_name: user.name.clone(),
            targets: Vec::new(),
            media: Vec::new(),
            thread: Vec::new(),
            external_id: self.external_id.clone(),
            labels: self.labels.clone(),
            of_profile: self.of_profile.clone(),
        }
    }
}

impl Changes {
    pub fn files(&self) -> impl Iterator<Item = &MediaReference> {
        files(
            self.media.as_deref().unwrap_or_default(),
            self.thread.as_deref().unwrap_or_default(),
            self.targets.as_deref().unwrap_or_default(),
        )
    }

    /// The next revision of the post, with the changes that need no decision.
    fn next_revision(&self, post: &Post, now: DateTime<Utc>) -> Post {
        let mut next =
            Post { revision: post.revision + 1, written_by: self.authority, updated_at: now, ..post.clone() };
        if let Some(external_id) = &self.external_id {
            next.external_id.clone_from(external_id);
        }
        if let Some(labels) = &self.labels {
            next.labels.clone_from(labels);
        }
        next
    }
}

impl Filter {
    pub fn by_status(status: Option<PostStatus>) -> Self {
        Self { status, ..Self::default() }
    }

    pub fn fits(&self, post: &Post) -> bool {
        self.status.is_none_or(|it| it == post.status)
            && (self.external_id.is_none() || self.external_id == post.external_id)
            && self.label.as_ref().is_none_or(|it| post.labels.contains(it))
            && self.connection.is_none_or(|id| post.targets.iter().any(|it| it.connection_id == id))
            && self.profile.is_none_or(|id| post.of_profile.as_ref().is_some_and(|it| it.profile_id == id))
            && self.text.as_ref().is_none_or(|it| post.contains_text(&it.to_lowercase()))
    }

    /// Whether it filters by status or by profile alone. The counts of the user or the profile then tell how many posts
    /// fit.
    pub fn is_counted(&self) -> bool {
        *self == Self::by_status(self.status) || *self == Self { profile: self.profile, ..Self::default() }
    }
}

impl Post {
    fn contains_text(&self, lowercase: &str) -> bool {
        let replies = self.thread.iter().map(|it| it.text.as_str());
        let of_targets = self.targets.iter().flat_map(|it| self.segments(it)).map(|it| it.text);
        let mut texts = std::iter::once(self.text.as_str()).chain(replies).chain(of_targets);
        texts.any(|it| it.to_lowercase().contains(lowercase))
    }

    pub fn check_deletable(&self) -> Result<(), ValidationErrors> {
        self.check_changeable()?;
        if self.targets.iter().any(Target::is_public) {
            let status = self.status.as_str();
            return Err(ValidationErrors::one(
                "status",
                format!("is {status}, but the post is public on at least one account; delete it on the platform"),
            ));
        }
        Ok(())
    }

    pub fn check_changeable(&self) -> Result<(), ValidationErrors> {
        match self.status {
            PostStatus::Draft | PostStatus::Scheduled | PostStatus::Failed => Ok(()),
            PostStatus::Publishing => Err(ValidationErrors::one(
                "status",
                "is publishing; wait until publishing has ended, then look at the post again",
            )),
            PostStatus::Published => Err(ValidationErrors::one(
                "status",
                "is published; the post is public, so change or delete it on the platform",
            )),
        }
    }

    /// For a target that is public, the text that it has published.
    pub fn text_of<'a>(&'a self, target: &'a Target) -> &'a PostText {
        let kept = target.kept_content(0).map(|it| &it.text);
        kept.or(target.text.as_ref()).unwrap_or(&self.text)
    }

    /// For a target that is public, the files that it has published.
    pub fn media_of<'a>(&'a self, target: &'a Target) -> &'a [Attachment] {
        let kept = target.kept_content(0).map(|it| &it.media);
        kept.or(target.media.as_ref()).unwrap_or(&self.media)
    }

    /// The files of the post and of its targets; may contain a file several times.
    pub fn files(&self) -> impl Iterator<Item = &Attachment> {
        self.media.iter().chain(self.thread.iter().flat_map(|it| &it.media)).chain(self.targets.iter().flat_map(
            |target| {
                let replies = target.thread.iter().flatten();
                let public = target.public.iter().filter_map(|it| it.content.as_ref());
                target.media.iter().flatten().chain(replies.chain(public).flat_map(|it| &it.media))
            },
        ))
    }

    pub fn target(&self, id: TargetId) -> Option<&Target> {
        self.targets.iter().find(|it| it.target_id == id)
    }

    pub fn targets_to_deliver(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|it| self.status.is_pending() && it.status != TargetStatus::Published)
    }

    /// The connections that count this post as pending, each once. A connection cannot be deleted
    /// while it counts a post.
    pub fn marked(&self) -> BTreeSet<ConnectionId> {
        self.targets.iter().filter(|it| it.marked).map(|it| it.connection_id).collect()
    }

    pub(crate) fn unmark(&mut self) {
        for target in &mut self.targets {
            target.marked = false;
        }
    }
}
