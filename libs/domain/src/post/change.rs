//! Creating and changing posts, and the validation of both.

use chrono::{DateTime, Utc};

use super::request::{Accounts, MediaReference, NewTarget, carried, largest_text};
use super::segment::{Segment, SegmentContent, SegmentKind};
use super::status::{PostStatus, TargetStatus};
use super::target::{Target, build_targets};
use super::{Changes, MAX_TEXT_BYTES, NewPost, Post};
use crate::id::{ConnectionId, Ids};
use crate::media::{AltText, Attachment};
use crate::rules::RuleViolation;
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
        let thread: Vec<_> = new.thread.iter().map(|it| it.content(files)).collect();
        let mut post = Self { targets, media: carried(&new.media, files), thread, ..draft };
        post.join_profile(accounts, &new.targets, &mut errors);
        let post = match new.scheduled_at {
            Some(at) => post.schedule(at, accounts, &new.targets, |_| true, &mut errors),
            None => post,
        };
        post.check_content(Some(&new.media), &new.targets, &mut errors);
        post.check_size(|| largest_text(Some(&post.text), &new.media, &new.thread, &new.targets), &mut errors);
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
        post.keep_public_content();
        let named = changes.targets.as_deref();
        if let Some(targets) = named {
            self.check_public_targets(targets, &mut errors);
            post.targets = build_targets(targets, &self.targets, &files, accounts, ids, &mut errors);
            post.join_profile(accounts, targets, &mut errors);
        }
        let named = named.unwrap_or_default();
        let has_text = changes.text.is_some();
        if let Some(text) = changes.text {
            post.text = text;
        }
        let (media, thread) = (changes.media.as_deref(), changes.thread.as_deref());
        if let Some(media) = media {
            post.media = carried(media, &files);
        }
        if let Some(thread) = thread {
            post.thread = thread.iter().map(|it| it.content(&files)).collect();
        }
        post.void_consents(self);
        post.complete_public_targets();
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
        post.check_content(media, named, &mut errors);
        let largest = || {
            let text = has_text.then_some(&post.text);
            largest_text(text, media.unwrap_or_default(), thread.unwrap_or_default(), named)
        };
        post.check_size(largest, &mut errors);
        errors.or(post.finish_if_all_public())
    }

    /// A post belongs to the profile of its accounts, which must be the same. Without accounts, it keeps the profile that
    /// it had, and so does a target whose account is disconnected.
    fn join_profile(&mut self, accounts: &Accounts, named: &[NewTarget], errors: &mut ValidationErrors) {
        let owner = |(index, target): (usize, &Target)| {
            let account = accounts.get(&target.connection_id);
            let of_profile = account.map_or_else(|| self.of_profile.clone(), |it| it.of_profile.clone());
            (requested_index(target, index, named), of_profile)
        };
        let owners: Vec<_> = self.targets.iter().enumerate().map(owner).collect();
        let Some(((_, first), others)) = owners.split_first() else { return };
        for (index, _) in others.iter().filter(|it| it.1 != *first) {
            errors.add(
                format!("platforms.{index}.connected_account_id"),
                "belongs to another profile than the first account; a post is for the accounts of one profile",
            );
        }
        self.of_profile.clone_from(first);
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
        let breaches: Vec<_> = self.targets.iter().map(|it| self.breaches(it, accounts)).collect();
        for (index, (target, breaches)) in self.targets.iter_mut().zip(breaches).enumerate() {
            let index = requested_index(target, index, named);
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
                Some(_) => {
                    for violation in breaches {
                        errors.add_sentence(format!("platforms.{index}.{}", violation.field), violation.message);
                    }
                }
            }
        }
        self.status = PostStatus::Scheduled;
        self.scheduled_at = Some(at);
        self
    }

    /// The rules that the segments of a target violate which are not public.
    fn breaches(&self, target: &Target, accounts: &Accounts) -> Vec<RuleViolation> {
        let Some(account) = accounts.get(&target.connection_id) else { return Vec::new() };
        let segments = self.segments(target);
        let waiting = segments.iter().enumerate().skip(target.public.len());
        let no_thread = account.rules.thread_breaches(self.thread_of(target).len());
        let breaches = waiting.flat_map(|(index, segment)| {
            let found = match segment.kind {
                SegmentKind::Post => account.rules.breaches(segment.text, segment.media, &target.options),
                SegmentKind::Reply if no_thread.is_some() => Vec::new(),
                SegmentKind::Reply => account.rules.reply_breaches(segment.text, segment.media, &target.options),
                // An option, whose value is checked with the options.
                SegmentKind::Comment => Vec::new(),
            };
            let in_thread = |it: RuleViolation| match index.checked_sub(1) {
                Some(entry) => RuleViolation { field: format!("thread.{entry}.{}", it.field).into(), ..it },
                None => it,
            };
            found.into_iter().map(in_thread).collect::<Vec<_>>()
        });
        breaches.chain(no_thread.clone()).collect()
    }

    fn unschedule(mut self, errors: &mut ValidationErrors) -> Self {
        if self.targets.iter().any(Target::is_public) {
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

    /// What a target has published cannot be removed or changed by the target's entry.
    fn check_public_targets(&self, targets: &[NewTarget], errors: &mut ValidationErrors) {
        for target in self.targets.iter().filter(|it| it.is_public()) {
            let Some(named) = targets.iter().find(|it| it.connection_id == target.connection_id) else {
                let id = target.connection_id;
                errors.add_sentence(
                    "platforms",
                    format!("the account {id} has already published this post and cannot be removed from it"),
                );
                continue;
            };
            let mut refuse = |field: &str| {
                errors.add(format!("platforms.{}.{field}", named.index), "is already public and cannot be changed");
            };
            let segments = self.segments(target);
            let (post, replies) = (segments[0], segments.iter().filter(|it| it.kind == SegmentKind::Reply));
            if named.text.as_ref().is_some_and(|it| it.as_str() != post.text) {
                refuse("content");
            }
            if named.media.as_ref().is_some_and(|it| !are_same_files(it, post.media)) {
                refuse("media");
            }
            let is_whole = target.status == TargetStatus::Published;
            if let Some(thread) = &named.thread {
                let public = replies.clone().take(target.public.len() - 1);
                let is_kept = |(index, public): (usize, &Segment<'_>)| {
                    thread
                        .get(index)
                        .is_some_and(|it| it.text.as_str() == public.text && are_same_files(&it.media, public.media))
                };
                if !public.enumerate().all(is_kept) || is_whole && thread.len() != replies.count() {
                    refuse("thread");
                }
            }
            if !named.options.said.is_empty() && named.options.said != target.options {
                refuse("options");
            }
        }
    }

    /// Checks that the post and each target have a text or files. The files are those that the request
    /// names, because a file that cannot be used has its own error.
    fn check_content(&self, media: Option<&[MediaReference]>, named: &[NewTarget], errors: &mut ValidationErrors) {
        let has_files = media.map_or(!self.media.is_empty(), |it| !it.is_empty());
        let mut blank = Vec::new();
        if self.text.is_empty() && !has_files {
            blank.push("content".to_owned());
        }
        for (index, target) in self.targets.iter().enumerate().filter(|(_, it)| !it.is_public()) {
            let named_target = named.iter().find(|it| it.connection_id == target.connection_id);
            let has_own_files = match named_target {
                Some(named) => named.media.as_ref().map(|it| !it.is_empty()),
                None => target.media.as_ref().map(|it| !it.is_empty()),
            };
            let has_own = target.text.is_some() || has_own_files.is_some();
            if has_own && self.text_of(target).is_empty() && !has_own_files.unwrap_or(has_files) {
                blank.push(format!("platforms.{}.content", requested_index(target, index, named)));
            }
        }
        // A text that could not be read has its own error.
        blank.retain(|field| errors.iter().all(|(it, _)| it != field));
        for field in blank {
            errors.add(field, "is required without media; add a text or a file");
        }
    }

    /// Checks the size of all texts. The error is on the field that `largest` returns: the largest
    /// text of the request.
    fn check_size(&self, largest: impl FnOnce() -> Option<String>, errors: &mut ValidationErrors) {
        let overrides = self.targets.iter().filter_map(|it| it.text.as_ref());
        let texts = overrides.chain([&self.text]).map(PostText::as_str);
        let own_files = self.media.iter().chain(self.targets.iter().flat_map(|it| it.media.iter().flatten()));
        let alt_texts = own_files.filter_map(|it| it.alt_text.as_ref()).map(AltText::as_str);
        let options: usize = self.targets.iter().map(|it| it.options.bytes()).sum();
        let of_targets = self.targets.iter().flat_map(|target| {
            let public = target.public.iter().filter_map(|it| it.content.as_ref());
            target.thread.iter().flatten().chain(public)
        });
        let contents: usize = self.thread.iter().chain(of_targets).map(SegmentContent::bytes).sum();
        let bytes = texts.chain(alt_texts).map(str::len).sum::<usize>() + options + contents;
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

    /// A consent is void once anything that is published changes.
    fn void_consents(&mut self, before: &Self) {
        let is_void = |target: &Target| {
            let old = before.targets.iter().find(|it| it.connection_id == target.connection_id);
            old.is_some_and(|old| {
                old.consented_at == target.consented_at
                    && (old.options != target.options || before.segments(old) != self.segments(target))
            })
        };
        let void: Vec<_> = self.targets.iter().map(is_void).collect();
        for (target, _) in self.targets.iter_mut().zip(void).filter(|(_, is_void)| *is_void) {
            target.consented_at = None;
        }
    }

    /// A target without the replies that failed is published, because every remaining segment is
    /// public.
    fn complete_public_targets(&mut self) {
        let lengths: Vec<_> = self.targets.iter().map(|it| self.segments(it).len()).collect();
        for (target, segments) in self.targets.iter_mut().zip(lengths) {
            if target.is_public() && segments <= target.public.len() {
                target.status = TargetStatus::Published;
                (target.error_message, target.failure) = (None, None);
            }
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

/// The index of a target in the request, for messages. It can differ from its index in the post,
/// because entries that cannot be used were left out.
fn requested_index(target: &Target, index: usize, named: &[NewTarget]) -> usize {
    named.iter().find(|it| it.connection_id == target.connection_id).map_or(index, |it| it.index)
}

fn are_same_files(named: &[MediaReference], files: &[Attachment]) -> bool {
    let is_same = |(named, file): (&MediaReference, &Attachment)| named.find_in([file]).as_ref() == Some(file);
    named.len() == files.len() && named.iter().zip(files).all(is_same)
}
