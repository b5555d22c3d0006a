//! Pictures within bounds: upright, without metadata, and of so many bytes and
//! pixels at most.
//!
//! Every picture is decoded and encoded anew. So nothing of the file passes on
//! except its pixels and their colour profile.

mod borders;
mod fit;
mod read;
mod shrink;
#[cfg(test)]
mod tests;
mod webp;

use std::panic::catch_unwind;

use bytes::Bytes;
use domain::media::{MimeType, PictureBounds};

use self::read::Source;

/// The most pixels of a picture that is decoded, against small files with
/// huge pictures. Fewer where decoding takes more memory, see
/// [`read::MAX_DECODING_BYTES`].
const MAX_PIXELS: u64 = 50_000_000;

/// The longest side of a picture that is decoded, in pixels.
const MAX_SIDE: u32 = 20_000;

/// A picture that was made to fit. The same file and bounds give the same
/// bytes, so that a repeated upload is one of the same blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    /// JPEG or PNG.
    pub(crate) mime_type: MimeType,
    pub(crate) bytes: Bytes,
}

/// Why there is no picture. Each says something about the file, so that
/// trying again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Misfit {
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
    #[error("the picture could not be written")]
    Unwritable,
}

impl Misfit {
    fn damaged(mime: MimeType) -> Self {
        Self::Unreadable(format!("the file is damaged, or not {}", mime.as_str()))
    }
}

/// Makes a JPEG, PNG or `WebP` file fit.
///
/// A PNG and a picture with transparency become a PNG if that fits and is wanted.
/// Everything else becomes a JPEG, with white behind what is transparent. Of a moving
/// PNG the still picture is taken; a moving `WebP` or a GIF is refused.
pub(crate) fn fitted(bytes: Vec<u8>, mime: MimeType, bounds: PictureBounds) -> Result<Picture, Misfit> {
    // A decoder may panic at a file that is made for it: `png` did at a palette of
    // more than 256 colours. Nothing of it is used afterwards.
    let read = catch_unwind(|| read::read(&bytes, mime)).unwrap_or_else(|_| {
        tracing::error!(mime = mime.as_str(), "a decoder panicked");
        Err(Misfit::damaged(mime))
    });
    let Source { pixels, orientation, profile } = read?;
    drop(bytes);
    // First smaller and then upright, because turning makes a copy.
    let mut upright = shrink::to_side(pixels, bounds.max_side);
    upright.apply_orientation(orientation);
    let wanted = fit::Wanted { png: mime == MimeType::Png, profile, bounds };
    wanted.of(borders::room_for(upright, bounds))
}
