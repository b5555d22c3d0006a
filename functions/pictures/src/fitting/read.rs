//! Decodes a file to pixels, within limits.

use std::error::Error;
use std::io::Cursor;

use domain::media::MimeType;
use domain::media::jpeg::JpegOutline;
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ColorType, DynamicImage, ImageDecoder, ImageError, Limits};

use super::{MAX_PIXELS, MAX_SIDE, ResizeError, webp};

/// The most memory that decoding an image may take in addition to its file: a fifth of the
/// function's memory. The result, a rotated or reduced copy, and the encoded file take as much
/// again.
pub(super) const MAX_DECODING_BYTES: u64 = 256 << 20;

/// The most memory for the unpacked parts of a PNG that are not pixels.
const MAX_PNG_PARTS_BYTES: u64 = 32 << 20;

/// The largest color profile that is kept. Profiles of cameras and screens have a few kilobytes;
/// large ones belong to printers and would leave less space for the image.
const MAX_PROFILE_BYTES: usize = 64 << 10;

pub(super) struct Source {
    /// With 8 bits per channel: `ImageRgb8`, or `ImageRgba8`.
    pub(super) pixels: DynamicImage,
    /// How to rotate the pixels to be upright.
    pub(super) orientation: Orientation,
    pub(super) profile: Option<Vec<u8>>,
}

pub(super) fn read(bytes: &[u8], mime: MimeType) -> Result<Source, ResizeError> {
    let unreadable = |error: ImageError| {
        tracing::info!(error = &error as &dyn Error, mime = mime.as_str(), "image could not be read");
        ResizeError::damaged(mime)
    };
    let (mut decoder, working_bytes) = decoder(bytes, mime, unreadable)?;
    check_size(decoder.as_ref(), working_bytes)?;
    if mime == MimeType::Webp && !webp::frames_match_size(bytes, decoder.dimensions()) {
        return Err(ResizeError::Unreadable("the file contains two different sizes; upload another one".to_owned()));
    }
    let mut bounds = Limits::default();
    bounds.max_image_width = Some(MAX_SIDE);
    bounds.max_image_height = Some(MAX_SIDE);
    bounds.max_alloc = Some(MAX_DECODING_BYTES);
    decoder.set_limits(bounds).map_err(unreadable)?;

    let orientation = orientation(decoder.as_mut());
    let profile = decoder.icc_profile().ok().flatten().filter(|it| is_rgb_profile(it));
    let profile = profile.filter(|_| decoder.color_type().has_color());
    let pixels = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
    let pixels = if pixels.color().has_alpha() { pixels.into_rgba8().into() } else { pixels.into_rgb8().into() };
    Ok(Source { pixels, orientation, profile })
}

/// Also returns how many bytes per pixel decoding needs in addition to those of the result.
fn decoder<'a>(
    bytes: &'a [u8],
    mime: MimeType,
    unreadable: impl Fn(ImageError) -> ResizeError,
) -> Result<(Box<dyn ImageDecoder + 'a>, u64), ResizeError> {
    let refused = |text: &str| Err(ResizeError::Unreadable(text.to_owned()));
    let file = Cursor::new(bytes);
    match mime {
        MimeType::Jpeg => {
            let outline = JpegOutline::parse(bytes);
            if !outline.is_whole {
                // The decoder would show gray where the file ends.
                return refused("the file is not a complete JPEG; upload it again");
            }
            // 16-bit coefficients of up to four components.
            let working_bytes = if outline.in_one_scan { 0 } else { 8 };
            Ok((Box::new(JpegDecoder::new(file).map_err(unreadable)?), working_bytes))
        }
        MimeType::Png => {
            let mut bounds = Limits::no_limits();
            bounds.max_alloc = Some(MAX_PNG_PARTS_BYTES);
            Ok((Box::new(PngDecoder::with_limits(file, bounds).map_err(unreadable)?), 0))
        }
        MimeType::Webp => {
            let decoder = WebPDecoder::new(file).map_err(unreadable)?;
            if decoder.has_animation() {
                return refused("an animated WebP cannot be posted as an image; upload a still one");
            }
            // Four bytes for a lossless or transparent image, and one more while the transparency
            // is unpacked.
            Ok((Box::new(decoder), 5))
        }
        MimeType::Gif | MimeType::Mp4 | MimeType::Quicktime | MimeType::Pdf => {
            refused("only JPEG, PNG and WebP files can be resized; upload one of these")
        }
    }
}

fn check_size(decoder: &dyn ImageDecoder, working_bytes: u64) -> Result<(), ResizeError> {
    let (width, height) = decoder.dimensions();
    let longest = width.max(height);
    let pixels = u64::from(width) * u64::from(height);
    let max = MAX_PIXELS.min(MAX_DECODING_BYTES / bytes_per_pixel(decoder.color_type(), working_bytes));
    if max < pixels {
        Err(ResizeError::TooManyPixels { max, actual: pixels })
    } else if MAX_SIDE < longest {
        Err(ResizeError::TooLong { max: MAX_SIDE, actual: longest })
    } else {
        Ok(())
    }
}

/// The most bytes at any moment: while a pixel is decoded, or converted to 8 bits per channel.
fn bytes_per_pixel(color: ColorType, working_bytes: u64) -> u64 {
    let converted = match color {
        ColorType::Rgb8 | ColorType::Rgba8 => 0,
        _ if color.has_alpha() => 4,
        _ => 3,
    };
    u64::from(color.bytes_per_pixel()) + working_bytes.max(converted)
}

/// From EXIF; upright if EXIF has none that is readable.
fn orientation(decoder: &mut dyn ImageDecoder) -> Orientation {
    let exif = decoder.exif_metadata().ok().flatten().unwrap_or_default();
    // Some writers of WebP put the name of JPEG's segment before it.
    let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(&exif);
    Orientation::from_exif_chunk(exif).unwrap_or(Orientation::NoTransforms)
}

/// RGB, and small enough to keep. A CMYK or gray profile does not apply to converted pixels.
/// Source: ICC.1:2022, 7.2.6.
fn is_rgb_profile(profile: &[u8]) -> bool {
    profile.len() <= MAX_PROFILE_BYTES && profile.get(16..20) == Some(b"RGB ")
}
