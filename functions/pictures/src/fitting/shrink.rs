//! Reduces an image: each pixel becomes the mean of the area that it covers.
//!
//! The resizing of the `image` crate uses 16 bytes for each pixel of its first step, which is more
//! than everything else together. This one uses only whole numbers and two rows.

use image::{DynamicImage, RgbImage, RgbaImage};

/// No side is longer than `max_side`; 8 bits per channel.
pub(super) fn to_side(picture: DynamicImage, max_side: u32) -> DynamicImage {
    let (width, height) = scaled_size(picture.width(), picture.height(), max_side);
    if (width, height) == (picture.width(), picture.height()) {
        picture
    } else if picture.color().has_alpha() {
        let from = picture.into_rgba8();
        let mut to = RgbaImage::new(width, height);
        shrink::<4>(&from, from.width(), &mut to, width);
        to.into()
    } else {
        rgb_to(&picture.into_rgb8(), width, height).into()
    }
}

/// Like `to_side`, for a caller that still needs the larger image.
pub(super) fn rgb_to_side(picture: &RgbImage, max_side: u32) -> RgbImage {
    let (width, height) = scaled_size(picture.width(), picture.height(), max_side);
    rgb_to(picture, width, height)
}

fn rgb_to(from: &RgbImage, width: u32, height: u32) -> RgbImage {
    let mut to = RgbImage::new(width, height);
    shrink::<3>(from, from.width(), &mut to, width);
    to
}

/// A size of nearly the same proportions; no side is 0.
fn scaled_size(width: u32, height: u32, max_side: u32) -> (u32, u32) {
    let longest = width.max(height);
    if longest <= max_side {
        return (width, height);
    }
    let (longest, max) = (u64::from(longest), u64::from(max_side.max(1)));
    let side = |it: u32| {
        let rounded = (u64::from(it) * max + longest / 2) / longest;
        u32::try_from(rounded.max(1)).unwrap_or(it)
    };
    (side(width), side(height))
}

/// Both images are rows of pixels with `N` channels, the fourth of which is the opacity.
fn shrink<const N: usize>(from: &[u8], from_width: u32, to: &mut [u8], to_width: u32) {
    let (from_row, to_row) = (from_width as usize * N, to_width as usize * N);
    let columns = Coverage::all(from_width as usize, to_width as usize);
    let rows = Coverage::all(from.len() / from_row, to.len() / to_row);
    let area = columns.len() as u64 * rows.len() as u64;

    let mut targets = to.chunks_exact_mut(to_row);
    // The last one is beyond the edge and stays 0.
    let mut sums = vec![[0_u64; N]; to_width as usize + 1];
    let mut shrunk_row = sums.clone();
    for (row, cover) in from.chunks_exact(from_row).zip(rows) {
        shrink_row(row, &columns, &mut shrunk_row);
        add(&mut sums, &shrunk_row, cover.here);
        if cover.is_last_here {
            let target = targets.next().unwrap_or_default();
            for (pixel, sum) in target.as_chunks_mut::<N>().0.iter_mut().zip(&sums) {
                *pixel = mean(sum, area);
            }
            sums.fill([0; N]);
            add(&mut sums, &shrunk_row, cover.next);
        }
    }
}

/// How a row or column of the larger image spreads over the smaller one.
///
/// Lengths are in units that make both images equally long in whole numbers: a pixel of the larger
/// one has as many units as the smaller image has pixels, and a pixel of the smaller one as many as
/// the larger one has.
#[derive(Clone, Copy)]
struct Coverage {
    /// The first pixel of the smaller image that this one falls into.
    target: usize,
    /// How many of its units fall into `target`.
    here: u64,
    /// How many of its units fall into the pixel after `target`.
    next: u64,
    /// Whether this is the last pixel that falls into `target`.
    is_last_here: bool,
}

impl Coverage {
    fn all(from: usize, to: usize) -> Vec<Self> {
        let cover = |index: usize| {
            let (start, end) = (index * to, (index + 1) * to);
            let target = start / from;
            let edge = (target + 1) * from;
            Self {
                target,
                here: (end.min(edge) - start) as u64,
                next: end.saturating_sub(edge) as u64,
                is_last_here: edge <= end,
            }
        };
        (0..from).map(cover).collect()
    }
}

fn shrink_row<const N: usize>(row: &[u8], columns: &[Coverage], shrunk_row: &mut [[u64; N]]) {
    shrunk_row.fill([0; N]);
    for (pixel, cover) in row.as_chunks::<N>().0.iter().zip(columns) {
        let weighted = weighted(pixel);
        if let [here, next, ..] = &mut shrunk_row[cover.target..] {
            for ((here, next), channel) in here.iter_mut().zip(next).zip(weighted) {
                *here += cover.here * channel;
                *next += cover.next * channel;
            }
        }
    }
}

fn add<const N: usize>(sums: &mut [[u64; N]], row: &[[u64; N]], weight: u64) {
    for (sum, channel) in sums.as_flattened_mut().iter_mut().zip(row.as_flattened()) {
        *sum += weight * channel;
    }
}

/// A pixel with its colors multiplied by its opacity. Means are computed from these, so that the
/// color of a fully transparent pixel, which is invisible, does not tint its neighbors.
fn weighted<const N: usize>(pixel: &[u8; N]) -> [u64; N] {
    let opaque = opacity(pixel).map_or(1, |it| u64::from(*it));
    let mut weighted = pixel.map(|it| u64::from(it) * opaque);
    if let Some(last) = weighted.get_mut(3) {
        *last = opaque;
    }
    weighted
}

fn mean<const N: usize>(sum: &[u64; N], area: u64) -> [u8; N] {
    let divide = |sum: u64, total: u64| u8::try_from((sum + total / 2) / total.max(1)).unwrap_or(u8::MAX);
    let colors = opacity(sum).map_or(area, |it| *it);
    let mut pixel = sum.map(|it| divide(it, colors));
    if let (Some(last), Some(opaque)) = (pixel.get_mut(3), opacity(sum)) {
        *last = divide(*opaque, area);
    }
    pixel
}

fn opacity<T>(channels: &[T]) -> Option<&T> {
    channels.get(3)
}

#[cfg(test)]
mod tests {
    use image::{Rgb, Rgba};

    use super::*;

    #[test]
    fn proportions_are_kept_and_no_side_vanishes() {
        let sizes = [
            ((6000, 3000), (4000, 2000)),
            ((3000, 6000), (2000, 4000)),
            ((4001, 4000), (4000, 3999)),
            ((4000, 4000), (4000, 4000)),
            ((12_000, 1), (4000, 1)),
            ((3, 2), (3, 2)),
        ];
        for ((width, height), expected) in sizes {
            assert_eq!(scaled_size(width, height, 4000), expected);
        }
    }

    #[test]
    fn a_pixel_is_the_mean_of_what_it_covers() {
        let picture = RgbImage::from_fn(4, 2, |x, y| Rgb([if x < 2 { 0 } else { 200 }, 100 * u8::from(y == 1), 7]));
        let smaller = rgb_to(&picture, 2, 1);
        assert_eq!(smaller.into_raw(), [0, 50, 7, 200, 50, 7]);
    }

    #[test]
    fn pixel_across_an_edge_counts_on_both_sides() {
        let picture = RgbImage::from_raw(3, 1, vec![0, 0, 0, 90, 90, 90, 255, 255, 255]).unwrap();
        // A whole pixel and half of the middle one.
        assert_eq!(rgb_to(&picture, 2, 1).into_raw(), [30, 30, 30, 200, 200, 200]);
    }

    #[test]
    fn a_plain_picture_stays_plain_at_every_size() {
        let picture = RgbImage::from_pixel(37, 23, Rgb([255, 254, 1]));
        for side in 1..37 {
            let smaller = rgb_to_side(&picture, side);
            assert!(smaller.pixels().all(|it| *it == Rgb([255, 254, 1])), "{side}");
        }
    }

    #[test]
    fn color_of_transparent_pixels_does_not_mix_in() {
        let mut picture = RgbaImage::from_pixel(2, 1, Rgba([255, 0, 0, 255]));
        picture.put_pixel(1, 0, Rgba([0, 255, 0, 0]));
        let smaller = to_side(picture.into(), 1);
        assert_eq!(smaller.into_rgba8().into_raw(), [255, 0, 0, 128]);
        let unseen = RgbaImage::from_pixel(2, 1, Rgba([9, 9, 9, 0]));
        assert_eq!(to_side(unseen.into(), 1).into_rgba8().into_raw(), [0, 0, 0, 0]);
    }
}
