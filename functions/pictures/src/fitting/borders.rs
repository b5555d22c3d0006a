//! White borders around images that are too narrow or too wide for a platform.

use std::borrow::Cow;

use domain::media::{PictureBounds, Pixels};
use image::imageops::replace;
use image::{DynamicImage, GenericImageView, Rgb, RgbImage, Rgba, RgbaImage};

use super::shrink;

/// Reduced so that the image is within the bounds together with its borders.
pub(super) fn shrink_for_borders(picture: DynamicImage, bounds: PictureBounds) -> DynamicImage {
    let (side, canvas) = (picture.width().max(picture.height()), canvas(&picture, bounds));
    let longest = canvas.width.max(canvas.height);
    if longest <= bounds.max_side {
        return picture;
    }
    let max_image_side = u64::from(side) * u64::from(bounds.max_side) / u64::from(longest);
    shrink::to_side(picture, u32::try_from(max_image_side).unwrap_or(side))
}

/// The image itself if it needs no borders. Transparent pixels inside it stay transparent.
pub(super) fn add_borders(picture: &DynamicImage, bounds: PictureBounds) -> Cow<'_, DynamicImage> {
    let Some((Pixels { width, height }, left, top)) = placement(picture, bounds) else { return Cow::Borrowed(picture) };
    let mut bordered = RgbaImage::from_pixel(width, height, Rgba([u8::MAX; 4]));
    replace(&mut bordered, picture, left, top);
    let bordered = DynamicImage::from(bordered);
    Cow::Owned(if picture.color().has_alpha() { bordered } else { bordered.into_rgb8().into() })
}

/// Like `add_borders`, for an image without transparency.
pub(super) fn with_borders_rgb(picture: &RgbImage, bounds: PictureBounds) -> Cow<'_, RgbImage> {
    let Some((Pixels { width, height }, left, top)) = placement(picture, bounds) else { return Cow::Borrowed(picture) };
    let mut bordered = RgbImage::from_pixel(width, height, Rgb([u8::MAX; 3]));
    replace(&mut bordered, picture, left, top);
    Cow::Owned(bordered)
}

/// The size with borders, and the position of the image in it; `None` if it needs none.
fn placement(picture: &impl GenericImageView, bounds: PictureBounds) -> Option<(Pixels, i64, i64)> {
    let (canvas, (width, height)) = (canvas(picture, bounds), picture.dimensions());
    let offset = |canvas: u32, side: u32| i64::from((canvas - side) / 2);
    let needs_borders = (canvas.width, canvas.height) != (width, height);
    needs_borders.then(|| (canvas, offset(canvas.width, width), offset(canvas.height, height)))
}

fn canvas(picture: &impl GenericImageView, bounds: PictureBounds) -> Pixels {
    let (width, height) = picture.dimensions();
    bounds.canvas(Pixels { width, height })
}
