//! The parts of a request for a post: its targets and files.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::segment::SegmentContent;
use crate::connection::Connection;
use crate::id::ConnectionId;
use crate::media::{AltText, Attachment, MediaPath};
use crate::options::RequestedOptions;
use crate::text::PostText;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSegment {
    pub field: String,
    pub text: PostText,
    pub media: Vec<MediaReference>,
}

impl NewSegment {
    pub(super) fn content(&self, files: &[Attachment]) -> SegmentContent {
        SegmentContent { text: self.text.clone(), media: carried(&self.media, files) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTarget {
    /// The index in the request, for messages.
    pub index: usize,
    pub connection_id: ConnectionId,
    /// The text for this target only; empty where it publishes its files alone.
    pub text: Option<PostText>,
    pub media: Option<Vec<MediaReference>>,
    pub thread: Option<Vec<NewSegment>>,
    pub options: RequestedOptions,
    /// A consent that this request gives; no program can give one.
    pub consented_at: Option<DateTime<Utc>>,
}

impl NewTarget {
    pub fn new(index: usize, connection_id: ConnectionId) -> Self {
        let options = RequestedOptions::default();
        Self { index, connection_id, text: None, media: None, thread: None, options, consented_at: None }
    }
}

pub(super) fn carried(named: &[MediaReference], files: &[Attachment]) -> Vec<Attachment> {
    named.iter().filter_map(|it| it.find_in(files)).collect()
}

pub fn files<'a>(
    media: &'a [MediaReference],
    thread: &'a [NewSegment],
    targets: &'a [NewTarget],
) -> impl Iterator<Item = &'a MediaReference> {
    let of_targets = targets.iter().flat_map(|target| {
        target.media.iter().flatten().chain(target.thread.iter().flatten().flat_map(|it| &it.media))
    });
    let of_thread = thread.iter().flat_map(|it| &it.media);
    media.iter().chain(of_thread).chain(of_targets)
}

/// The field of the largest text of a request, in bytes: a content, an option, or an alternative
/// text.
pub(super) fn largest_text(
    text: Option<&PostText>,
    media: &[MediaReference],
    thread: &[NewSegment],
    targets: &[NewTarget],
) -> Option<String> {
    let mut texts: Vec<_> = text.map(|it| (it.as_str().len(), "content".to_owned())).into_iter().collect();
    texts.extend(alt_texts(media));
    texts.extend(thread.iter().flat_map(thread_texts));
    for target in targets {
        let field = format!("platforms.{}", target.index);
        texts.extend(target.text.as_ref().map(|it| (it.as_str().len(), format!("{field}.content"))));
        let options = target.options.said.iter();
        texts.extend(options.map(|(name, value)| (value.bytes(), format!("{field}.options.{name}"))));
        texts.extend(alt_texts(target.media.as_deref().unwrap_or_default()));
        texts.extend(target.thread.iter().flatten().flat_map(thread_texts));
    }
    texts.into_iter().max_by_key(|it| it.0).map(|it| it.1)
}

fn thread_texts(entry: &NewSegment) -> impl Iterator<Item = (usize, String)> {
    let text = (entry.text.as_str().len(), format!("{}.content", entry.field));
    [text].into_iter().chain(alt_texts(&entry.media))
}

fn alt_texts(media: &[MediaReference]) -> impl Iterator<Item = (usize, String)> {
    media.iter().filter_map(|it| Some((it.alt_text.as_ref()?.as_str().len(), format!("{}.alt_text", it.field))))
}

/// The connections that a request names, as far as they belong to its user.
pub type Accounts = BTreeMap<ConnectionId, Connection>;
