//! What an adapter is given to publish.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::connection::Profile;
use domain::media::{Attachment, MimeType, PictureBounds};
use domain::options::Options;
use futures::stream::BoxStream;

use crate::account::Credentials;
use crate::recognition::Claims;

/// One target of one post, ready to be sent.
pub struct Job<'a> {
    /// The account.
    pub profile: &'a Profile,
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
    /// The second it is due: what a platform is to show as its time. The same
    /// for every attempt.
    pub publish_at: DateTime<Utc>,
    /// Reads the files.
    pub files: &'a dyn MediaReader,
    /// Which posts of this account other deliveries have made.
    pub claims: &'a dyn Claims,
    /// The time of the call.
    pub now: DateTime<Utc>,
}

/// The bytes of a file.
pub type MediaBytes = BoxStream<'static, Result<Bytes, MediaUnreadable>>;

/// A file could not be read from our own store.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the file could not be read: {0}")]
pub struct MediaUnreadable(pub String);

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
pub enum Fitted {
    /// Here it is.
    Picture(Picture),
    /// There will be none; why, in words for the user.
    Refused(String),
}

/// Reads the user's files, piece by piece, and has pictures made to fit.
#[async_trait::async_trait]
pub trait MediaReader: Send + Sync {
    /// The bytes of one.
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaUnreadable>;

    /// One as a picture within these bounds; `None` as long as there is no
    /// answer to [`MediaReader::ask_to_fit`].
    async fn fitted(&self, attachment: &Attachment, bounds: PictureBounds) -> Result<Option<Fitted>, MediaUnreadable>;

    /// Asks for it. It takes seconds, and minutes where a file is hard to read.
    async fn ask_to_fit(&self, attachment: &Attachment, bounds: PictureBounds) -> Result<(), MediaUnreadable>;
}
