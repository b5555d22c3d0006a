//! The segments of a target: the post, the replies that continue it as a thread, and the first
//! comment. They are published one after the other, each at most once.

use serde::{Deserialize, Serialize};

use super::{Post, Target, TargetStatus};
use crate::media::{AltText, Attachment};
use crate::published::Published;
use crate::text::PostText;

pub const FIRST_COMMENT: &str = "first_comment";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    Post,
    Reply,
    Comment,
}

impl SegmentKind {
    /// The value in the API, and the noun in texts for the user.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Post => "post",
            Self::Reply => "reply",
            Self::Comment => "comment",
        }
    }
}

/// Text and files of a segment: of a reply, or of one that was published before the post was
/// changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentContent {
    #[serde(default, skip_serializing_if = "PostText::is_empty")]
    pub text: PostText,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Attachment>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicSegment {
    #[serde(flatten)]
    pub published: Published,
    /// The published text, if the post may have been changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<SegmentContent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    pub kind: SegmentKind,
    /// Empty only where there are files.
    pub text: &'a str,
    pub media: &'a [Attachment],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentView<'a> {
    pub segment: Segment<'a>,
    pub status: TargetStatus,
    pub published: Option<&'a Published>,
    pub error_message: Option<&'a str>,
}

impl SegmentContent {
    fn segment(&self, kind: SegmentKind) -> Segment<'_> {
        Segment { kind, text: self.text.as_str(), media: &self.media }
    }

    pub(super) fn bytes(&self) -> usize {
        let alt_texts = self.media.iter().filter_map(|it| it.alt_text.as_ref()).map(AltText::as_str);
        [self.text.as_str()].into_iter().chain(alt_texts).map(str::len).sum()
    }
}

impl From<Segment<'_>> for SegmentContent {
    fn from(segment: Segment<'_>) -> Self {
        let text = PostText::parse(segment.text).unwrap_or_default();
        Self { text, media: segment.media.to_vec() }
    }
}

impl Post {
    pub fn thread_of<'a>(&'a self, target: &'a Target) -> &'a [SegmentContent] {
        target.thread.as_ref().unwrap_or(&self.thread)
    }

    /// The segments of a target. Those that are public come first, with what was published.
    pub fn segments<'a>(&'a self, target: &'a Target) -> Vec<Segment<'a>> {
        let text = self.text_of(target).as_str();
        let post = Segment { kind: SegmentKind::Post, text, media: self.media_of(target) };
        let replies = self.thread_of(target).iter().map(|it| it.segment(SegmentKind::Reply));
        let mut segments: Vec<_> = std::iter::once(post).chain(replies).collect();
        for index in 1..target.public.len() {
            let Some(kept) = target.kept_content(index).map(|it| it.segment(SegmentKind::Reply)) else { continue };
            match segments.get_mut(index) {
                Some(segment) => *segment = kept,
                None => segments.push(kept),
            }
        }
        let comment = target.options.text(FIRST_COMMENT);
        segments.extend(comment.map(|it| Segment { kind: SegmentKind::Comment, text: it, media: &[] }));
        segments
    }

    pub fn segment_views<'a>(&'a self, target: &'a Target) -> Vec<SegmentView<'a>> {
        let views = self.segments(target).into_iter().enumerate().map(|(index, segment)| {
            let published = target.public.get(index).map(|it| &it.published);
            let is_next = index == target.public.len();
            let (status, error_message) = match published {
                Some(_) => (TargetStatus::Published, None),
                None if !is_next => (TargetStatus::Pending, None),
                None if segment.kind == SegmentKind::Comment => match &target.comment_error {
                    Some(error) => (TargetStatus::Failed, Some(error.as_str())),
                    None => (TargetStatus::Pending, None),
                },
                None => (target.status, target.error_message.as_deref()),
            };
            SegmentView { segment, status, published, error_message }
        });
        views.collect()
    }

    /// Keeps what the public segments of each target have published, before the post is changed. A
    /// published target gets no further replies.
    pub(super) fn keep_public_content(&mut self) {
        let before = self.clone();
        for (target, old) in self.targets.iter_mut().zip(&before.targets) {
            if target.status == TargetStatus::Published {
                target.thread.get_or_insert_with(|| before.thread_of(old).to_vec());
            }
            for (public, segment) in target.public.iter_mut().zip(before.segments(old)) {
                public.content.get_or_insert_with(|| segment.into());
            }
        }
    }
}

impl Target {
    pub fn published(&self) -> Option<&Published> {
        self.public.first().map(|it| &it.published)
    }

    pub(super) fn kept_content(&self, segment: usize) -> Option<&SegmentContent> {
        self.public.get(segment)?.content.as_ref()
    }

    /// Whether a part of it is public.
    pub fn is_public(&self) -> bool {
        !self.public.is_empty()
    }

    pub(crate) fn add_public(&mut self, published: &[Published]) {
        let new = published.iter().skip(self.public.len()).cloned();
        self.public.extend(new.map(|published| PublicSegment { published, content: None }));
    }
}

#[cfg(test)]
mod tests;
