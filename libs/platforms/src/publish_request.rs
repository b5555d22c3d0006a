//! The input of adapters: one segment to publish, and the reader of its files.

use std::fmt::Write;
use std::ops::Range;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{LostWindow, PUBLISH_CALL_DELAY, Published, Resolution};
use domain::media::{Attachment, MimeType, PictureBounds};
use domain::options::Options;
use domain::post::SegmentKind;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::account::Credentials;
use crate::recognition::Claims;

pub struct PublishRequest<'a> {
    pub profile: &'a AccountInfo,
    pub credentials: &'a Credentials,
    pub segment: SegmentKind,
    /// What a reply or a comment follows. `None` for the post, and while a reply is prepared before
    /// the segment before it is public.
    pub reply_to: Option<ReplyTo<'a>>,
    /// Empty for a segment with files alone.
    pub text: &'a str,
    pub media: &'a [Attachment],
    /// For a reply, those that apply to replies; for a comment, none.
    pub options: &'a Options,
    /// The idempotency key: identical in every attempt of this segment and revision, and unique to
    /// them.
    pub reference: &'a str,
    /// The progress of `Publish::prepare`, in the adapter's own format.
    pub progress: Option<&'a str>,
    /// Whether an earlier publish call had an unknown outcome. What that call may have published
    /// must not be published in another form.
    pub may_have_published: bool,
    /// For a look-up: set after a restore. Then the stored progress is that of the backup, and the segment may
    /// have been prepared and published since.
    pub lost_window: Option<LostWindow>,
    /// When the segment is due, for platforms that accept a timestamp. Identical in every attempt of
    /// the post. A reply is prepared with the time of the post, and published with its own.
    pub publish_at: DateTime<Utc>,
    /// For a look-up: when the intent of the latest publish call was written. The call began
    /// within [`PUBLISH_CALL_DELAY`] after that, so an adapter repeats it only from
    /// [`PublishRequest::settled_at`] on. A key that the platform keeps for a time counts from the
    /// beginning of the first call. Otherwise `now`.
    pub called_at: DateTime<Utc>,
    pub files: &'a dyn MediaReader,
    /// Which posts of this account other deliveries have made.
    pub claims: &'a dyn Claims,
    pub now: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug)]
pub struct ReplyTo<'a> {
    pub root: &'a Published,
    /// The segment before this one; for a comment, the first segment.
    pub parent: &'a Published,
}

impl<'a> PublishRequest<'a> {
    /// The post that a first comment is on. `None` if the segment is not a comment.
    pub(crate) fn commented_post(&self) -> Option<&'a Published> {
        self.reply_to.filter(|_| self.segment == SegmentKind::Comment).map(|it| it.root)
    }

    /// The slug of the draft of this segment, which no other post has, where a platform lets us choose slugs. It
    /// shows which draft is ours, so it must stay as it is.
    pub(crate) fn slug_mark(&self) -> String {
        let hash = Sha256::digest(self.reference.as_bytes());
        hash.iter().take(12).fold("sps-".to_owned(), |mut mark, byte| {
            let _ = write!(mark, "{byte:02x}");
            mark
        })
    }

    /// When the latest publish call has certainly ended, if a cut-off call may take effect until
    /// `settle_time` after it began.
    pub(crate) fn settled_at(&self, settle_time: TimeDelta) -> DateTime<Utc> {
        self.called_at + PUBLISH_CALL_DELAY + settle_time
    }

    /// Whether a look-up may repeat the publish call. After a restore there is nothing to repeat: the call is
    /// assumed, and the post may not be due yet.
    pub(crate) fn may_repeat(&self) -> bool {
        self.lost_window.is_none_or(|it| it.until < self.called_at)
    }

    /// Whether the segment was due before a restore, so that it was probably prepared and published in another
    /// way than the stored progress shows.
    pub(crate) fn was_due_in_lost_window(&self) -> bool {
        self.lost_window.is_some_and(|it| it.was_due)
    }

    /// The result of a look-up without the preparation that every publish call needs: there was no call. After
    /// a restore, the preparation may be lost.
    pub(crate) fn never_made(&self) -> Resolution {
        if self.was_due_in_lost_window() {
            let advice = "the service was restored from a backup that is older than the post".to_owned();
            return Resolution::Undeterminable { advice };
        }
        Resolution::NotPublished
    }

    /// The stored progress; the default if there is none, or if another version stored it in
    /// another format.
    pub(crate) fn progress<T: Default + DeserializeOwned>(&self) -> T {
        self.progress.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default()
    }

    /// For the user, such as `file 1 of 2 (image/png)`.
    pub(crate) fn place(&self, file: &Attachment) -> String {
        let index = self.media.iter().position(|it| it.media_id == file.media_id).unwrap_or_default();
        format!("file {} of {} ({})", index + 1, self.media.len(), file.mime_type.as_str())
    }
}

pub type MediaBytes = BoxStream<'static, Result<Bytes, MediaReadError>>;

/// Cuts a range out of a stream, for stores that cannot read a range.
fn slice_stream(pieces: MediaBytes, range: Range<u64>) -> MediaBytes {
    let mut at = 0;
    let part = pieces.map_ok(move |piece| {
        let (start, end) = (at, at + piece.len() as u64);
        at = end;
        let clamp_offset = |offset: u64| usize::try_from(offset.clamp(start, end) - start).unwrap_or(piece.len());
        piece.slice(clamp_offset(range.start)..clamp_offset(range.end.max(range.start)))
    });
    part.try_filter(|piece| std::future::ready(!piece.is_empty())).boxed()
}

/// A file could not be read from our own storage.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the file could not be read: {0}")]
pub struct MediaReadError(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// JPEG or PNG.
    pub mime_type: MimeType,
    pub bytes: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FittedPicture {
    Picture(Picture),
    /// It cannot be fitted; the reason, for the user.
    Refused(String),
}

#[async_trait::async_trait]
pub trait MediaReader: Send + Sync {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaReadError>;

    /// A range beyond the end of the file is cut off.
    async fn open_range(&self, attachment: &Attachment, range: Range<u64>) -> Result<MediaBytes, MediaReadError> {
        Ok(slice_stream(self.open(attachment).await?, range))
    }

    /// A URL at which any client can read the file for at least an hour, for platforms that fetch
    /// files.
    async fn public_url(&self, attachment: &Attachment) -> Result<String, MediaReadError> {
        let _ = attachment;
        Err(MediaReadError("files have no public URL in this deployment".to_owned()))
    }

    /// The file as a picture within these bounds; `None` as long as [`MediaReader::ask_to_fit`] has
    /// no result.
    async fn fitted(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
    ) -> Result<Option<FittedPicture>, MediaReadError>;

    /// Like [`MediaReader::public_url`], for a picture that [`MediaReader::fitted`] returned.
    async fn public_picture(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
        made: MimeType,
    ) -> Result<String, MediaReadError> {
        let _ = (attachment, bounds, made);
        Err(MediaReadError("files have no public URL in this deployment".to_owned()))
    }

    /// Takes seconds, or minutes if a file is hard to decode.
    async fn ask_to_fit(&self, attachment: &Attachment, bounds: PictureBounds) -> Result<(), MediaReadError>;
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    #[tokio::test]
    async fn a_part_of_a_stream_is_cut_out_of_its_pieces() {
        let part = async |range| {
            let pieces = ["ab", "", "cde", "f"].map(|it| Ok(Bytes::from_static(it.as_bytes())));
            let part: Vec<_> = slice_stream(stream::iter(pieces).boxed(), range).try_collect().await.unwrap();
            String::from_utf8(part.concat()).unwrap()
        };
        for (range, expected) in [(0..6, "abcdef"), (1..4, "bcd"), (2..5, "cde"), (5..9, "f"), (6..9, ""), (3..3, "")] {
            assert_eq!(part(range.clone()).await, expected, "{range:?}");
        }
    }
}
