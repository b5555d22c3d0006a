//! What a call is about: the segment of a target.

use std::borrow::Cow;

use domain::delivery::{Delivery, NextStep, Published};
use domain::options::Options;
use domain::post::{SegmentKind, Target};
use platforms::ReplyTo;

pub(super) fn segment_index(delivery: &Delivery, next: NextStep) -> usize {
    match next {
        NextStep::Prepare(index) => index,
        NextStep::FollowUp => 0,
        _ => delivery.current_segment(),
    }
}

pub(super) fn segment_options(target: &Target, kind: SegmentKind) -> Cow<'_, Options> {
    match kind {
        SegmentKind::Post => Cow::Borrowed(&target.options),
        SegmentKind::Reply => Cow::Owned(target.options.of_replies()),
        SegmentKind::Comment => Cow::Borrowed(Options::NONE),
    }
}

/// A platform can recognize a repetition of this segment and revision by the reference.
pub(super) fn reference(delivery: &Delivery, segment: usize) -> String {
    format!("{}-{}-{}-{}", delivery.post_id, delivery.target_id, delivery.revision, segment)
}

/// `None` while the post or segment to reply to is not public.
pub(super) fn reply_to(published: &[Published], segment: usize, kind: SegmentKind) -> Option<ReplyTo<'_>> {
    let parent = published.get(segment.checked_sub(1)?)?;
    let root = published.first()?;
    Some(ReplyTo { root, parent: if kind == SegmentKind::Comment { root } else { parent } })
}
