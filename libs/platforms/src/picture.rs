//! Pictures for platforms that take only small ones: upright, without
//! metadata, and within a number of bytes and pixels.
//!
//! Every picture is decoded and encoded anew, also one that would fit as it is. So
//! nothing of the file passes on except its pixels and their colour profile.

mod fit;
mod jpeg;
mod read;
mod shrink;
#[cfg(test)]
mod tests;
mod webp;

use bytes::Bytes;
use domain::media::MimeType;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;

use self::read::Source;

/// The most pixels of a picture that is decoded, against small files with
/// huge pictures. Fewer where decoding takes more memory, see
/// [`read::MAX_DECODING_BYTES`].
const MAX_PIXELS: u64 = 50_000_000;

/// The longest side of a picture that is decoded, in pixels.
const MAX_SIDE: u32 = 20_000;

/// One picture takes up to 300 MB on its way, so there is one at a time.
static TURNS: Semaphore = Semaphore::const_new(1);

/// The right to have a picture in memory. It is taken before the file is read, so
/// that a step that waits for it holds no file.
pub(crate) struct Turn(#[expect(dead_code, reason = "it is held, not read")] SemaphorePermit<'static>);

/// Waits for the turn. Whoever asked first is first.
pub(crate) async fn turn() -> Result<Turn, PictureError> {
    TURNS.acquire().await.map(Turn).map_err(|_| PictureError::Interrupted)
}

/// What a platform takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PictureLimits {
    /// The largest file.
    pub(crate) max_bytes: usize,
    /// The longest side, in pixels.
    pub(crate) max_side: u32,
}

/// A picture as it can be uploaded. The same file and limits give the same
/// bytes, so that a repeated upload is one of the same blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    /// JPEG or PNG.
    pub(crate) mime_type: MimeType,
    pub(crate) bytes: Bytes,
    /// In pixels, as it is shown.
    pub(crate) width: u32,
    /// In pixels, as it is shown.
    pub(crate) height: u32,
}

/// Why there is no picture. All but the last say something about the file,
/// and trying again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PictureError {
    /// Not a picture that can be read, in words for the user.
    #[error("{0}")]
    Unreadable(String),
    #[error("the picture has {actual} pixels; at most {max} of this kind can be read")]
    TooManyPixels { max: u64, actual: u64 },
    #[error("the picture is {actual} pixels long; at most {max} can be read")]
    TooLong { max: u32, actual: u32 },
    /// Even the smallest that is tried has too many bytes.
    #[error("the picture cannot be made small enough")]
    DoesNotFit,
    /// Our fault; it is in the log.
    #[error("the picture could not be prepared")]
    Interrupted,
}

/// Makes a JPEG, PNG or `WebP` file fit.
///
/// A PNG and a picture with transparency become a PNG if that fits. Everything
/// else becomes a JPEG, with white behind what is transparent. Of a moving PNG
/// the still picture is taken; a moving `WebP` or a GIF is refused.
pub(crate) async fn prepared(
    turn: Turn,
    bytes: Vec<u8>,
    mime: MimeType,
    limits: PictureLimits,
) -> Result<Picture, PictureError> {
    let work = move || {
        // Held to the end of the work, also when nobody waits for it any more.
        let _turn = turn;
        prepare(bytes, mime, limits)
    };
    spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "a picture could not be prepared");
        PictureError::Interrupted
    })?
}

fn prepare(bytes: Vec<u8>, mime: MimeType, limits: PictureLimits) -> Result<Picture, PictureError> {
    let Source { pixels, orientation, profile } = read::read(&bytes, mime)?;
    drop(bytes);
    // First smaller and then upright, because turning makes a copy.
    let mut upright = shrink::to_side(pixels, limits.max_side);
    upright.apply_orientation(orientation);
    let wanted = fit::Wanted { png: mime == MimeType::Png, profile, max_bytes: limits.max_bytes };
    wanted.of(upright)
}
