//! Requests for a new post and for changes of one.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Authority, IfMatch};
use crate::connection::Connection;
use crate::id::ConnectionId;
use crate::media::{AltText, Attachment, MediaPath};
use crate::options::RequestedOptions;
use crate::text::PostText;
use crate::validation_errors::ValidationErrors;

/// A file in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaReference {
    /// The path of the field, for messages.
    pub field: String,
    pub path: MediaPath,
    pub alt_text: Option<AltText>,
}

impl MediaReference {
    /// Finds the file in `files`, and attaches it with the alternative text of this request.
    pub fn find_in<'f>(&self, files: impl IntoIterator<Item = &'f Attachment>) -> Option<Attachment> {
        let is_it = |it: &&Attachment| it.media_id == self.path.media() && it.mime_type == self.path.mime();
        let found = files.into_iter().find(is_it)?;
        Some(Attachment { alt_text: self.alt_text.clone(), ..found.clone() })
    }
}

/// A target in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTarget {
    /// The index in the request, for messages.
    pub index: usize,
    pub connection_id: ConnectionId,
    /// The text for this target only.
    pub text: Option<PostText>,
    /// Files for this target only, instead of the post's.
    pub media: Option<Vec<MediaReference>>,
    /// Options of its platform.
    pub options: RequestedOptions,
}

impl NewTarget {
    /// A target without its own text, files and options.
    pub fn new(index: usize, connection_id: ConnectionId) -> Self {
        Self { index, connection_id, text: None, media: None, options: RequestedOptions::default() }
    }
}

/// The field of the largest text of a request, in bytes: a content, an option, or an alternative
/// text.
pub(super) fn largest_text(text: Option<&PostText>, targets: &[NewTarget], media: &[MediaReference]) -> Option<String> {
    let mut texts: Vec<_> = text.map(|it| (it.as_str().len(), "content".to_owned())).into_iter().collect();
    texts.extend(alt_texts(media));
    for target in targets {
        let field = format!("platforms.{}", target.index);
        texts.extend(target.text.as_ref().map(|it| (it.as_str().len(), format!("{field}.content"))));
        let options = target.options.said.iter();
        texts.extend(options.map(|(name, value)| (value.bytes(), format!("{field}.options.{name}"))));
        texts.extend(alt_texts(target.media.as_deref().unwrap_or_default()));
    }
    texts.into_iter().max_by_key(|it| it.0).map(|it| it.1)
}

fn alt_texts(media: &[MediaReference]) -> impl Iterator<Item = (usize, String)> {
    media.iter().filter_map(|it| Some((it.alt_text.as_ref()?.as_str().len(), format!("{}.alt_text", it.field))))
}

/// A request for a new post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    /// The text of every target without its own text.
    pub text: PostText,
    /// Each account at most once.
    pub targets: Vec<NewTarget>,
    /// `None` for a draft.
    pub scheduled_at: Option<DateTime<Utc>>,
    /// The files of every target without its own files.
    pub media: Vec<MediaReference>,
    pub authority: Authority,
    /// Errors found while the request was parsed. If there are any, no post is created.
    pub faults: ValidationErrors,
}

impl NewPost {
    /// A draft without targets and files.
    pub fn new(text: PostText) -> Self {
        Self {
            text,
            targets: Vec::new(),
            scheduled_at: None,
            media: Vec::new(),
            authority: Authority::default(),
            faults: ValidationErrors::new(),
        }
    }

    /// The files of the post and of its targets; may contain a file several times.
    pub fn files(&self) -> Vec<MediaReference> {
        self.media.iter().chain(self.targets.iter().filter_map(|it| it.media.as_ref()).flatten()).cloned().collect()
    }
}

/// A request for changes of a post. `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub text: Option<PostText>,
    /// Replaces all targets.
    pub targets: Option<Vec<NewTarget>>,
    /// A new time; `Some(None)` makes the post a draft again.
    pub scheduled_at: Option<Option<DateTime<Utc>>>,
    /// Replaces all files.
    pub media: Option<Vec<MediaReference>>,
    pub authority: Authority,
    /// The revision that the request is for; `None` means any.
    pub if_match: Option<IfMatch>,
    /// Errors found while the request was parsed. If there are any, nothing is changed.
    pub faults: ValidationErrors,
}

/// The connections that a request names, as far as they belong to its user.
pub type Accounts = BTreeMap<ConnectionId, Connection>;
