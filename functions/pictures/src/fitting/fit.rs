//! Encodes pixels as a file that is small enough.

use std::io::{self, Write};

use bytes::Bytes;
use domain::media::{MimeType, PictureBounds, PictureTypes};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{DynamicImage, ExtendedColorType, ImageEncoder, ImageError, ImageResult, Rgb, RgbImage};

use super::{Picture, ResizeError, borders, shrink};

/// In percent of the sides, tried in order. With the last one, even noise fits into 1,000,000
/// bytes.
const SIZES: [u32; 5] = [100, 75, 50, 35, 20];

/// Tried for each size, in order.
const QUALITIES: [u8; 3] = [90, 80, 70];

pub(super) struct FitTarget {
    /// Whether a PNG is better than a JPEG even without transparency: the upload is a PNG, and
    /// drawings and text suffer in a JPEG.
    pub(super) png: bool,
    pub(super) profile: Option<Vec<u8>>,
    pub(super) bounds: PictureBounds,
}

impl FitTarget {
    /// The first attempt that fits.
    pub(super) fn encode(&self, pixels: DynamicImage) -> Result<Picture, ResizeError> {
        let pixels = if is_transparent(&pixels) { pixels } else { pixels.into_rgb8().into() };
        let lossless = self.png || pixels.color().has_alpha();
        if lossless
            && self.bounds.types == PictureTypes::JpegOrPng
            && let Some(bytes) = self.png(&borders::add_borders(&pixels, self.bounds))?
        {
            return Ok(Picture { mime_type: MimeType::Png, bytes });
        }
        let opaque = flatten_on_white(pixels);
        for percent in SIZES {
            let side = opaque.width().max(opaque.height()) * percent / 100;
            let smaller = (percent < 100).then(|| shrink::rgb_to_side(&opaque, side));
            let picture = smaller.as_ref().unwrap_or(&opaque);
            if let Some(picture) = self.jpeg(&borders::with_borders_rgb(picture, self.bounds))? {
                return Ok(picture);
            }
        }
        Err(ResizeError::DoesNotFit)
    }

    fn png(&self, pixels: &DynamicImage) -> Result<Option<Bytes>, ResizeError> {
        self.attempt(|file| {
            // The default compression of the crate is for speed.
            let encoder = PngEncoder::new_with_quality(file, CompressionType::Default, FilterType::Adaptive);
            self.write(encoder, pixels.as_bytes(), (pixels.width(), pixels.height()), pixels.color().into())
        })
    }

    fn jpeg(&self, pixels: &RgbImage) -> Result<Option<Picture>, ResizeError> {
        for quality in QUALITIES {
            let file = self.attempt(|file| {
                let encoder = JpegEncoder::new_with_quality(file, quality);
                self.write(encoder, pixels, pixels.dimensions(), ExtendedColorType::Rgb8)
            })?;
            if let Some(bytes) = file {
                return Ok(Some(Picture { mime_type: MimeType::Jpeg, bytes }));
            }
        }
        Ok(None)
    }

    fn write(
        &self,
        mut encoder: impl ImageEncoder,
        pixels: &[u8],
        (width, height): (u32, u32),
        color: ExtendedColorType,
    ) -> ImageResult<()> {
        if let Some(profile) = &self.profile {
            encoder.set_icc_profile(profile.clone()).map_err(ImageError::Unsupported)?;
        }
        encoder.write_image(pixels, width, height, color)
    }

    /// `None` if the file does not fit.
    fn attempt(&self, write: impl FnOnce(&mut BoundedBuffer) -> ImageResult<()>) -> Result<Option<Bytes>, ResizeError> {
        let max_bytes = usize::try_from(self.bounds.max_bytes).unwrap_or(usize::MAX);
        let mut file = BoundedBuffer { bytes: Vec::new(), max_bytes, is_full: false };
        match write(&mut file) {
            _ if file.is_full => Ok(None),
            Ok(()) => Ok(Some(file.bytes.into())),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "image could not be encoded");
                Err(ResizeError::Unwritable)
            }
        }
    }
}

/// Refuses to grow beyond the limit, so that an attempt that cannot fit ends early.
struct BoundedBuffer {
    bytes: Vec<u8>,
    max_bytes: usize,
    is_full: bool,
}

impl Write for BoundedBuffer {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.max_bytes < self.bytes.len() + more.len() {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_transparent(pixels: &DynamicImage) -> bool {
    pixels.as_rgba8().is_some_and(|it| it.pixels().any(|it| it[3] < u8::MAX))
}

fn flatten_on_white(pixels: DynamicImage) -> RgbImage {
    let DynamicImage::ImageRgba8(rgba) = pixels else {
        return pixels.into_rgb8();
    };
    let mut opaque = RgbImage::new(rgba.width(), rgba.height());
    for (to, from) in opaque.pixels_mut().zip(rgba.pixels()) {
        let [colors @ .., opacity] = from.0;
        *to = Rgb(colors.map(|it| blend_with_white(it, opacity)));
    }
    opaque
}

fn blend_with_white(color: u8, opacity: u8) -> u8 {
    let (color, opacity, white) = (u32::from(color), u32::from(opacity), u32::from(u8::MAX));
    let sum = color * opacity + white * (white - opacity);
    u8::try_from((sum + white / 2) / white).unwrap_or(u8::MAX)
}
