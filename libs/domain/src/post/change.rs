//! Creating and changing posts, and the validation of both.

use chrono::{DateTime, Utc};

use super::request::{Accounts, MediaReference, NewTarget, largest_text};
use super::status::{PostStatus, TargetStatus};
use super::target::{build_targets, carried};
use super::{Changes, MAX_TEXT_BYTES, NewPost, Post};
use crate::id::{ConnectionId, Ids};
use crate::media::{AltText, Attachment};
use crate::text::PostText;
use crate::user::User;
use crate::validation_errors::ValidationErrors;

impl Post {
    /// A new draft, or a scheduled post if it has a time. `files` are the files that the request
    /// names, as found in the store; other files are not attached.
    pub fn create(
        new: NewPost,
        files: &[Attachment],
        user: &User,
        accounts: &Accounts,
        ids: &Ids,
        now: DateTime<Utc>,
    ) -> Result<Self, ValidationErrors> {
        let draft = new.draft(user, ids, now);
        let mut errors = new.faults;
        let targets = build_targets(&new.targets, &[], files, accounts, ids, &mut errors);
        let post = Self { targets, media: carried(&new.media, files), ..draft };
        let post = match new.scheduled_at {
            Some(at) => post.schedule(at, accounts, &new.targets, |_| true, &mut errors),
            None => post,
        };
        post.check_size(|| largest_text(Some(&post.text), &new.targets, &new.media), &mut errors);
        errors.or(post)
    }

    /// Applies a user's changes. `added` are the files that the request names, as found in the
    /// store, in addition to those that the post has.
    pub fn change(
        &self,
        changes: Changes,
        added: Vec<Attachment>,
        accounts: &Accounts,
        ids: &Ids,
        now: DateTime<Utc>,
    ) -> Result<Self, ValidationErrors> {
        self.check_changeable()?;
        let mut post = changes.next_revision(self, now);
        let mut errors = changes.faults;
        let mut files = added;
        files.extend(self.files().cloned());
        let named = changes.targets.as_deref();
        if let Some(targets) = named {
            post.check_published_targets(targets, &mut errors);
            post.targets = build_targets(targets, &self.targets, &files, accounts, ids, &mut errors);
        }
        let named = named.unwrap_or_default();
        let has_text = changes.text.is_some();
        if let Some(text) = changes.text {
            for target in post.targets.iter_mut().filter(|it| it.status == TargetStatus::Published) {
                // The target was published with the old text, which it keeps as its own.
                target.text.get_or_insert_with(|| self.text.clone());
            }
            post.text = text;
        }
        let media = changes.media.as_deref();
        if let Some(media) = media {
            for target in post.targets.iter_mut().filter(|it| it.status == TargetStatus::Published) {
                target.media.get_or_insert_with(|| self.media.clone());
            }
            post.media = carried(media, &files);
        }
        let post = match (changes.scheduled_at, self.status) {
            (Some(Some(_)), _) if post.is_all_public() => {
                errors.add_sentence(
                    "scheduled_at",
                    "all remaining accounts have already published this post, so there is nothing to schedule; \
                     leave scheduled_at out",
                );
                post
            }
            (Some(Some(at)), _) => post.schedule(at, accounts, named, |_| true, &mut errors),
            (Some(None), _) => post.unschedule(&mut errors),
            (None, PostStatus::Scheduled) => {
                // A post that stays scheduled must still pass every check.
                let at = self.scheduled_at.unwrap_or(now);
                let is_added = |account| self.targets.iter().all(|it| it.connection_id != account);
                post.schedule(at, accounts, named, is_added, &mut errors)
            }
            (None, _) => post,
        };
        let largest = || largest_text(has_text.then_some(&post.text), named, media.unwrap_or_default());
        post.check_size(largest, &mut errors);
        errors.or(post.finish_if_all_public())
    }

    /// `needs_credentials` selects the connections that must not need reconnection. A post that
    /// waits for reconnection can be changed, so those of its current targets may.
    fn schedule(
        mut self,
        at: DateTime<Utc>,
        accounts: &Accounts,
        named: &[NewTarget],
        needs_credentials: impl Fn(ConnectionId) -> bool,
        errors: &mut ValidationErrors,
    ) -> Self {
        // If the request named targets that cannot be used, there is an error already.
        let none_named = errors.iter().all(|(field, _)| !field.starts_with("platforms"));
        if self.targets.is_empty() && none_named {
            errors.add_sentence("platforms", "a scheduled post needs at least one account in platforms");
        }
        let (text, media) = (self.text.clone(), self.media.clone());
        for (index, target) in self.targets.iter_mut().enumerate() {
            // The index of a target can differ from its index in the request, because entries that
            // cannot be used were left out. Messages need the latter.
            let named = named.iter().find(|it| it.connection_id == target.connection_id);
            let index = named.map_or(index, |it| it.index);
            let account = accounts.get(&target.connection_id);
            target.marked = account.is_some();
            if target.status == TargetStatus::Published {
                continue;
            }
            target.start_over();
            let field = format!("platforms.{index}.connected_account_id");
            match account {
                None => errors.add(field, "is no longer connected; remove the entry or connect the account again"),
                Some(account) if account.needs_reconnection && needs_credentials(target.connection_id) => {
                    errors.add(field, "needs reconnection; connect the account again first");
                }
                Some(account) => {
                    let (text, media) =
                        (target.text.as_ref().unwrap_or(&text), target.media.as_ref().unwrap_or(&media));
                    for violation in account.rules.breaches(text, media, &target.options) {
                        errors.add_sentence(format!("platforms.{index}.{}", violation.field), violation.message);
                    }
                }
            }
        }
        self.status = PostStatus::Scheduled;
        self.scheduled_at = Some(at);
        self
    }

    fn unschedule(mut self, errors: &mut ValidationErrors) -> Self {
        if self.targets.iter().any(|it| it.status == TargetStatus::Published) {
            errors.add_sentence(
                "scheduled_at",
                "a post that is public on some accounts cannot go back to draft; set a new scheduled_at to retry the others",
            );
        }
        for target in &mut self.targets {
            target.start_over();
        }
        self.unmark();
        self.status = PostStatus::Draft;
        self.scheduled_at = None;
        self
    }

    fn check_published_targets(&self, targets: &[NewTarget], errors: &mut ValidationErrors) {
        for published in self.targets.iter().filter(|it| it.status == TargetStatus::Published) {
            let Some(named) = targets.iter().find(|it| it.connection_id == published.connection_id) else {
                let id = published.connection_id;
                errors.add_sentence(
                    "platforms",
                    format!("the account {id} has already published this post and cannot be removed from it"),
                );
                continue;
            };
            let index = named.index;
            let other = named.text.as_ref().filter(|it| *it != self.text_of(published));
            if other.is_some() {
                errors.add(format!("platforms.{index}.content"), "is already public and cannot be changed");
            }
            let is_same_file = |it: &MediaReference, file: &Attachment| it.find_in([file]).as_ref() == Some(file);
            let other = named.media.as_ref().filter(|named| {
                let published_files = self.media_of(published);
                named.len() != published_files.len()
                    || !named.iter().zip(published_files).all(|(it, file)| is_same_file(it, file))
            });
            if other.is_some() {
                errors.add(format!("platforms.{index}.media"), "is already public and cannot be changed");
            }
            if !named.options.said.is_empty() && named.options.said != published.options {
                errors.add(format!("platforms.{index}.options"), "is already public and cannot be changed");
            }
        }
    }

    /// Checks the size of all texts. The error is on the field that `largest` returns: the largest
    /// text of the request.
    fn check_size(&self, largest: impl FnOnce() -> Option<String>, errors: &mut ValidationErrors) {
        let overrides = self.targets.iter().filter_map(|it| it.text.as_ref());
        let texts = overrides.chain([&self.text]).map(PostText::as_str);
        let alt_texts = self.files().filter_map(|it| it.alt_text.as_ref()).map(AltText::as_str);
        let options: usize = self.targets.iter().map(|it| it.options.bytes()).sum();
        let bytes = texts.chain(alt_texts).map(str::len).sum::<usize>() + options;
        if MAX_TEXT_BYTES < bytes {
            errors.add(
                largest().unwrap_or_else(|| "content".to_owned()),
                format_args!(
                    "makes the texts of this post too long: together they may have at most {MAX_TEXT_BYTES} bytes \
                     (UTF-8); these have {bytes}"
                ),
            );
        }
    }

    /// A failed post whose failed targets were removed is published, because every remaining target
    /// is public.
    fn finish_if_all_public(mut self) -> Self {
        if self.is_all_public() {
            self.status = PostStatus::Published;
            self.unmark();
        }
        self
    }

    fn is_all_public(&self) -> bool {
        !self.targets.is_empty() && self.targets.iter().all(|it| it.status == TargetStatus::Published)
    }
}
