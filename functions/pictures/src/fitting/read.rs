//! From a file to pixels, within bounds.

use std::error::Error;
use std::io::Cursor;

use domain::media::MimeType;
use domain::media::jpeg::Outline;
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ColorType, DynamicImage, ImageDecoder, ImageError, Limits};

use super::{MAX_PIXELS, MAX_SIDE, Misfit, webp};

/// The most memory that decoding a picture may take beside its file: a fifth
/// of what the function has. The result, a copy of it that is turned or made
/// smaller, and what is written take as much again.
pub(super) const MAX_DECODING_BYTES: u64 = 256 << 20;

/// The most memory for the parts of a PNG that are not pixels, unpacked.
const MAX_PNG_PARTS_BYTES: u64 = 32 << 20;

/// The largest colour profile that is kept. Those of cameras and screens have
/// a few kilobytes; large ones are of printers and would crowd out the picture.
const MAX_PROFILE_BYTES: usize = 64 << 10;

/// The parts of a file that are used.
pub(super) struct Source {
    /// With 8 bits a channel: `ImageRgb8`, or `ImageRgba8`.
    pub(super) pixels: DynamicImage,
    /// How they are to be turned to be upright.
    pub(super) orientation: Orientation,
    /// The meaning of their colours, if it is said.
    pub(super) profile: Option<Vec<u8>>,
}

/// Reads a picture, after its header told that it can be read.
pub(super) fn read(bytes: &[u8], mime: MimeType) -> Result<Source, Misfit> {
    let unreadable = |error: ImageError| {
        tracing::info!(error = &error as &dyn Error, mime = mime.as_str(), "a picture could not be read");
        Misfit::damaged(mime)
    };
    let (mut decoder, working_bytes) = decoder(bytes, mime, unreadable)?;
    check_size(decoder.as_ref(), working_bytes)?;
    if mime == MimeType::Webp && !webp::frames_fit(bytes, decoder.dimensions()) {
        return Err(Misfit::Unreadable("the file says two different sizes".to_owned()));
    }
    let mut bounds = Limits::default();
    bounds.max_image_width = Some(MAX_SIDE);
    bounds.max_image_height = Some(MAX_SIDE);
    bounds.max_alloc = Some(MAX_DECODING_BYTES);
    decoder.set_limits(bounds).map_err(unreadable)?;

    let orientation = orientation(decoder.as_mut());
    let profile = decoder.icc_profile().ok().flatten().filter(|it| is_of_rgb(it));
    let profile = profile.filter(|_| decoder.color_type().has_color());
    let pixels = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
    let pixels = if pixels.color().has_alpha() { pixels.into_rgba8().into() } else { pixels.into_rgb8().into() };
    Ok(Source { pixels, orientation, profile })
}

/// The decoder for this file, and how many bytes for each pixel it needs while
/// it decodes, beside those of its result.
fn decoder<'a>(
    bytes: &'a [u8],
    mime: MimeType,
    unreadable: impl Fn(ImageError) -> Misfit,
) -> Result<(Box<dyn ImageDecoder + 'a>, u64), Misfit> {
    let refused = |text: &str| Err(Misfit::Unreadable(text.to_owned()));
    let file = Cursor::new(bytes);
    match mime {
        MimeType::Jpeg => {
            let outline = Outline::of(bytes);
            if !outline.is_whole {
                // The decoder would show grey where it ends.
                return refused("the file is not a whole JPEG");
            }
            // Coefficients of 16 bits, of up to four components.
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
                return refused("a moving WebP cannot be posted as a picture");
            }
            // Four bytes for a lossless picture or a transparent one, and one more
            // while the transparency is unpacked.
            Ok((Box::new(decoder), 5))
        }
        MimeType::Gif | MimeType::Mp4 | MimeType::Quicktime => {
            refused("only JPEG, PNG and WebP files can be made to fit")
        }
    }
}

/// Whether the picture that a header tells of may be decoded.
fn check_size(decoder: &dyn ImageDecoder, working_bytes: u64) -> Result<(), Misfit> {
    let (width, height) = decoder.dimensions();
    let longest = width.max(height);
    let pixels = u64::from(width) * u64::from(height);
    let max = MAX_PIXELS.min(MAX_DECODING_BYTES / bytes_per_pixel(decoder.color_type(), working_bytes));
    if max < pixels {
        Err(Misfit::TooManyPixels { max, actual: pixels })
    } else if MAX_SIDE < longest {
        Err(Misfit::TooLong { max: MAX_SIDE, actual: longest })
    } else {
        Ok(())
    }
}

/// The most bytes that a pixel takes at any moment: while it is decoded, or
/// while it is converted to 8 bits a channel.
fn bytes_per_pixel(color: ColorType, working_bytes: u64) -> u64 {
    let converted = match color {
        ColorType::Rgb8 | ColorType::Rgba8 => 0,
        _ if color.has_alpha() => 4,
        _ => 3,
    };
    u64::from(color.bytes_per_pixel()) + working_bytes.max(converted)
}

/// As the EXIF part says; upright where it says nothing that can be read.
fn orientation(decoder: &mut dyn ImageDecoder) -> Orientation {
    let exif = decoder.exif_metadata().ok().flatten().unwrap_or_default();
    // Some writers of WebP put the name of JPEG's segment before it.
    let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(&exif);
    Orientation::from_exif_chunk(exif).unwrap_or(Orientation::NoTransforms)
}

/// Whether a profile is one of RGB and of a size to keep. One of CMYK or grey
/// means nothing for what was converted. Source: ICC.1:2022, 7.2.6.
fn is_of_rgb(profile: &[u8]) -> bool {
    profile.len() <= MAX_PROFILE_BYTES && profile.get(16..20) == Some(b"RGB ")
}
