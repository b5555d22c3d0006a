//! What a client asks for: a new post, or changes to one.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::Authority;
use crate::connection::Connection;
use crate::id::ConnectionId;
use crate::media::{AltText, Attachment, MediaPath};
use crate::options::NamedOptions;
use crate::text::PostText;
use crate::validation_errors::ValidationErrors;

/// A file as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMedium {
    /// Its place in the request, for messages about faults.
    pub field: String,
    /// Its reference.
    pub path: MediaPath,
    /// What it shows.
    pub alt_text: Option<AltText>,
}

impl NamedMedium {
    /// The file, if it is among these, with the words that are given here.
    pub fn among<'f>(&self, files: impl IntoIterator<Item = &'f Attachment>) -> Option<Attachment> {
        let is_it = |it: &&Attachment| it.media_id == self.path.media() && it.mime_type == self.path.mime();
        let found = files.into_iter().find(is_it)?;
        Some(Attachment { alt_text: self.alt_text.clone(), ..found.clone() })
    }
}

/// A target as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTarget {
    /// Its index in the request, for messages about faults.
    pub index: usize,
    /// The account.
    pub connection_id: ConnectionId,
    /// The text for this target alone.
    pub text: Option<PostText>,
    /// The files of this target alone, in place of the post's.
    pub media: Option<Vec<NamedMedium>>,
    /// What is said on its platform alone.
    pub options: NamedOptions,
}

impl NewTarget {
    /// This account, with nothing of its own.
    pub fn of(index: usize, connection_id: ConnectionId) -> Self {
        Self { index, connection_id, text: None, media: None, options: NamedOptions::default() }
    }
}

/// The field of the largest text of a request, in bytes: a content, an option, or what a file shows.
pub(super) fn largest_text(text: Option<&PostText>, targets: &[NewTarget], media: &[NamedMedium]) -> Option<String> {
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

fn alt_texts(media: &[NamedMedium]) -> impl Iterator<Item = (usize, String)> {
    media.iter().filter_map(|it| Some((it.alt_text.as_ref()?.as_str().len(), format!("{}.alt_text", it.field))))
}

/// A post as a client writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    /// The text of every target that has none of its own.
    pub text: PostText,
    /// The accounts that it goes to, each once.
    pub targets: Vec<NewTarget>,
    /// When it goes out; `None` for a draft.
    pub scheduled_at: Option<DateTime<Utc>>,
    /// The files of every target that has none of its own.
    pub media: Vec<NamedMedium>,
    /// What its caller may write.
    pub authority: Authority,
    /// What was wrong with the request as it was read. No post comes of it then.
    pub faults: ValidationErrors,
}

/// What a client changes in a post. `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub text: Option<PostText>,
    /// The accounts that it goes to, in place of all it had.
    pub targets: Option<Vec<NewTarget>>,
    /// When it goes out; `Some(None)` makes it a draft again.
    pub scheduled_at: Option<Option<DateTime<Utc>>>,
    /// Its pictures and videos, in place of all it had.
    pub media: Option<Vec<NamedMedium>>,
    /// What its caller may write.
    pub authority: Authority,
    /// What was wrong with the request as it was read. No post comes of it then.
    pub faults: ValidationErrors,
}

/// The accounts that a request names, as far as they belong to its user.
pub type Accounts = BTreeMap<ConnectionId, Connection>;
