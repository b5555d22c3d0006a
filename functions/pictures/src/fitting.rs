//! Resizes images to bounds: upright, without metadata, and with limits for bytes and pixels.
//!
//! Every image is decoded and encoded again. So only its pixels and their color profile are passed
//! on.

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

/// The most pixels of an image that is decoded, against small files with huge images. Fewer if
/// decoding takes more memory, see [`read::MAX_DECODING_BYTES`].
const MAX_PIXELS: u64 = 50_000_000;

/// In pixels.
const MAX_SIDE: u32 = 20_000;

/// Equal for equal files and bounds, byte for byte, so that a repeated upload is the same blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    /// JPEG or PNG.
    pub(crate) mime_type: MimeType,
    pub(crate) bytes: Bytes,
}

/// Each reason is in the file, so another attempt gives the same result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResizeError {
    /// Text for the user.
    #[error("{0}")]
    Unreadable(String),
    #[error("the image has {actual} pixels; at most {max} of this type can be read. Upload a smaller one")]
    TooManyPixels { max: u64, actual: u64 },
    #[error("the longer side of the image has {actual} pixels; at most {max} can be read. Upload a smaller one")]
    TooLong { max: u32, actual: u32 },
    #[error("the image cannot be made small enough; upload a smaller one")]
    DoesNotFit,
    /// An error of ours; it is in the log.
    #[error("the image could not be converted; upload another one")]
    Unwritable,
}

impl ResizeError {
    fn damaged(mime: MimeType) -> Self {
        Self::Unreadable(format!("the file is damaged or not of type {}; upload another one", mime.as_str()))
    }
}

/// A PNG and an image with transparency become a PNG if that fits and is wanted. Everything else
/// becomes a JPEG, with white for transparent pixels. Of an animated PNG the still image is used;
/// an animated `WebP` or a GIF is refused.
pub(crate) fn fitted(bytes: Vec<u8>, mime: MimeType, bounds: PictureBounds) -> Result<Picture, ResizeError> {
    // A decoder may panic on a crafted file: `png` did for a palette of more than 256 colors. Its
    // state is not used afterwards.
    let decoded = catch_unwind(|| read::read(&bytes, mime)).unwrap_or_else(|_| {
        tracing::error!(mime = mime.as_str(), "image decoder panicked");
        Err(ResizeError::damaged(mime))
    });
    let Source { pixels, orientation, profile } = decoded?;
    drop(bytes);
    // Resized before rotated, because rotating makes a copy.
    let mut upright = shrink::to_side(pixels, bounds.max_side);
    upright.apply_orientation(orientation);
    let output = fit::FitTarget { png: mime == MimeType::Png, profile, bounds };
    output.encode(borders::shrink_for_borders(upright, bounds))
}
