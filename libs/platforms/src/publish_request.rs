//! What an adapter is given to publish.

use std::ops::Range;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::PUBLISH_CALL_DELAY;
use domain::media::{Attachment, MimeType, PictureBounds};
use domain::options::Options;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;

use crate::account::Credentials;
use crate::recognition::Claims;

/// One target of one post, ready to be sent.
pub struct PublishRequest<'a> {
    pub profile: &'a AccountInfo,
    /// To act for it.
    pub credentials: &'a Credentials,
    /// What is said.
    pub text: &'a str,
    /// What it carries, in order.
    pub media: &'a [Attachment],
    /// What is said on this platform alone.
    pub options: &'a Options,
    /// The idempotency key: the same for every attempt of this delivery and revision,
    /// and for nothing else.
    pub reference: &'a str,
    /// What `Publish::prepare` has reached, in the adapter's own form.
    pub progress: Option<&'a str>,
    /// Whether a public call before this one may have had an effect: it was not known
    /// how it ended. What such a call may have put must not be put in another form.
    pub doubted: bool,
    /// The second it is due: what a platform is to show as its time. The same
    /// for every attempt.
    pub publish_at: DateTime<Utc>,
    /// For a look-up: when the intent of the latest publish call was written. The call began
    /// within [`PUBLISH_CALL_DELAY`] after that, so an adapter repeats it only from
    /// [`PublishRequest::settled_at`] on. A key that the platform keeps for a time counts from the
    /// beginning of the first call. Otherwise `now`.
    pub called_at: DateTime<Utc>,
    pub files: &'a dyn MediaReader,
    /// Which posts of this account other deliveries have made.
    pub claims: &'a dyn Claims,
    /// The time of the call.
    pub now: DateTime<Utc>,
}

impl PublishRequest<'_> {
    /// When the latest publish call can no longer be running, if one that was cut off may take effect for `settle_time`
    /// after its beginning.
    pub(crate) fn settled_at(&self, settle_time: TimeDelta) -> DateTime<Utc> {
        self.called_at + PUBLISH_CALL_DELAY + settle_time
    }

    /// What preparation has reached; nothing where none was, or where it was stored by a
    /// version with another form.
    pub(crate) fn progress<T: Default + DeserializeOwned>(&self) -> T {
        self.progress.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default()
    }

    /// Which file of the post this is, for the user.
    pub(crate) fn place(&self, file: &Attachment) -> String {
        let index = self.media.iter().position(|it| it.media_id == file.media_id).unwrap_or_default();
        format!("file {} of {} ({})", index + 1, self.media.len(), file.mime_type.as_str())
    }
}

/// The bytes of a file.
pub type MediaBytes = BoxStream<'static, Result<Bytes, MediaReadError>>;

/// A part of what a stream brings, where the store cannot be asked for it alone.
fn part_of(pieces: MediaBytes, range: Range<u64>) -> MediaBytes {
    let mut at = 0;
    let part = pieces.map_ok(move |piece| {
        let (start, end) = (at, at + piece.len() as u64);
        at = end;
        let within = |offset: u64| usize::try_from(offset.clamp(start, end) - start).unwrap_or(piece.len());
        piece.slice(within(range.start)..within(range.end.max(range.start)))
    });
    part.try_filter(|piece| std::future::ready(!piece.is_empty())).boxed()
}

/// A file could not be read from our own store.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the file could not be read: {0}")]
pub struct MediaReadError(pub String);

/// A picture as it can be uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// JPEG or PNG.
    pub mime_type: MimeType,
    /// The file.
    pub bytes: Bytes,
}

/// What came of asking for a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FittedPicture {
    Picture(Picture),
    /// There will be none; why, in words for the user.
    Refused(String),
}

/// Reads the user's files, piece by piece, and has pictures made to fit.
#[async_trait::async_trait]
pub trait MediaReader: Send + Sync {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaReadError>;

    /// Those of a part of one; what lies behind its end is left out.
    async fn open_range(&self, attachment: &Attachment, range: Range<u64>) -> Result<MediaBytes, MediaReadError> {
        Ok(part_of(self.open(attachment).await?, range))
    }

    /// An address under which anybody can read a file for an hour at least, for platforms
    /// that fetch files themselves.
    async fn public_url(&self, attachment: &Attachment) -> Result<String, MediaReadError> {
        let _ = attachment;
        Err(MediaReadError("it has no public address here".to_owned()))
    }

    /// One as a picture within these bounds; `None` as long as there is no
    /// answer to [`MediaReader::ask_to_fit`].
    async fn fitted(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
    ) -> Result<Option<FittedPicture>, MediaReadError>;

    /// Like [`MediaReader::public_url`], for a picture of this type that
    /// [`MediaReader::fitted`] has found.
    async fn public_picture(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
        made: MimeType,
    ) -> Result<String, MediaReadError> {
        let _ = (attachment, bounds, made);
        Err(MediaReadError("it has no public address here".to_owned()))
    }

    /// Asks for it. It takes seconds, and minutes where a file is hard to read.
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
            let part: Vec<_> = part_of(stream::iter(pieces).boxed(), range).try_collect().await.unwrap();
            String::from_utf8(part.concat()).unwrap()
        };
        for (range, expected) in [(0..6, "abcdef"), (1..4, "bcd"), (2..5, "cde"), (5..9, "f"), (6..9, ""), (3..3, "")] {
            assert_eq!(part(range.clone()).await, expected, "{range:?}");
        }
    }
}
