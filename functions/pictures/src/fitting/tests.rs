mod mutated;
mod refused;
mod samples;

use std::io::Cursor;

use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ExtendedColorType, GrayImage, ImageDecoder, ImageEncoder, Rgb, RgbImage, Rgba, RgbaImage};

use domain::media::{Borders, Pixels, Ratio};

use self::samples::{
    BLUE, RED, SECRETS, contains, decoded, encoded, exif, is_near, jpeg, jpeg_with_metadata, noise, png, red_and_blue,
    webp,
};
use super::*;

const LARGE: PictureBounds = PictureBounds::new(2_000_000, 4000);
const SMALL: PictureBounds = PictureBounds::new(1_000_000, 4000);

impl Picture {
    /// In pixels, as displayed.
    fn width(&self) -> u32 {
        self.mime_type.picture_size(&self.bytes).unwrap().0
    }

    /// In pixels, as displayed.
    fn height(&self) -> u32 {
        self.mime_type.picture_size(&self.bytes).unwrap().1
    }
}

#[test]
fn image_is_rotated_upright() {
    let lying = jpeg_with_metadata(&red_and_blue(64, 32), 6);

    let picture = fitted(lying, MimeType::Jpeg, LARGE).unwrap();

    assert_eq!((picture.mime_type, picture.width(), picture.height()), (MimeType::Jpeg, 32, 64));
    let upright = decoded(&picture).into_rgb8();
    assert!(is_near(*upright.get_pixel(16, 8), RED) && is_near(*upright.get_pixel(16, 56), BLUE));
}

#[test]
fn every_orientation_and_format_is_turned() {
    let wide: DynamicImage = red_and_blue(16, 8).into();
    for orientation in 1..=8 {
        let mut as_png = Vec::new();
        let mut encoder = PngEncoder::new(&mut as_png);
        encoder.set_exif_metadata(exif(orientation)).unwrap();
        encoded(encoder, &wide).unwrap();
        let mut as_webp = Vec::new();
        let mut encoder = WebPEncoder::new_lossless(&mut as_webp);
        encoder.set_exif_metadata([b"Exif\0\0", &exif(orientation)[..]].concat()).unwrap();
        encoded(encoder, &wide).unwrap();
        let as_jpeg = jpeg_with_metadata(&red_and_blue(16, 8), orientation);

        for (mime, bytes) in [(MimeType::Png, as_png), (MimeType::Webp, as_webp), (MimeType::Jpeg, as_jpeg)] {
            assert!(contains(&bytes, b"52.5163"));
            let picture = fitted(bytes, mime, LARGE).unwrap();
            let pixels = decoded(&picture).into_rgb8();
            let (size, first) = match orientation {
                1 | 4 => ((16, 8), RED),
                2 | 3 => ((16, 8), BLUE),
                5 | 6 => ((8, 16), RED),
                _ => ((8, 16), BLUE),
            };
            assert_eq!(pixels.dimensions(), size, "{mime:?} {orientation}");
            assert!(is_near(*pixels.get_pixel(1, 1), first), "{mime:?} {orientation}");
            for secret in SECRETS {
                assert!(!contains(&picture.bytes, secret), "{mime:?} {secret:?}");
            }
        }
    }
}

#[test]
fn metadata_is_removed() {
    let bytes = jpeg_with_metadata(&red_and_blue(64, 32), 1);
    assert!(SECRETS.iter().all(|it| contains(&bytes, it)));

    let picture = fitted(bytes, MimeType::Jpeg, LARGE).unwrap();

    for secret in SECRETS {
        assert!(!contains(&picture.bytes, secret), "{secret:?}");
    }
}

#[test]
fn rgb_color_profile_is_kept() {
    for (space, is_kept) in [(b"RGB ", true), (b"CMYK", false), (b"GRAY", false)] {
        let profile = [&[0; 16], &space[..], &[7; 108]].concat();
        let mut bytes = Vec::new();
        let mut encoder = JpegEncoder::new(&mut bytes);
        encoder.set_icc_profile(profile.clone()).unwrap();
        encoded(encoder, &red_and_blue(8, 8).into()).unwrap();

        let picture = fitted(bytes, MimeType::Jpeg, LARGE).unwrap();

        let kept = JpegDecoder::new(Cursor::new(&picture.bytes)).unwrap().icc_profile().unwrap();
        assert_eq!(kept, is_kept.then_some(profile));
    }
}

#[test]
fn noise_is_made_to_fit() {
    let narrow = PictureBounds { max_bytes: 100_000, ..SMALL };
    for (bytes, limits) in [(jpeg(&noise(1600, 1200)), SMALL), (jpeg(&noise(600, 450)), narrow)] {
        assert!(limits.max_bytes < bytes.len() as u64);

        let picture = fitted(bytes, MimeType::Jpeg, limits).unwrap();

        assert_eq!(picture.mime_type, MimeType::Jpeg);
        assert!(picture.bytes.len() as u64 <= limits.max_bytes, "{} of {}", picture.bytes.len(), limits.max_bytes);
        assert_eq!(picture.width() * 3, picture.height() * 4);
        decoded(&picture);
    }
}

/// The smallest attempt for an image of the largest size.
#[test]
fn noise_fits_at_the_smallest_size() {
    let smallest = jpeg_of_quality(&noise(800, 800), 70);
    assert!(smallest as u64 <= SMALL.max_bytes, "{smallest}");
}

fn jpeg_of_quality(picture: &RgbImage, quality: u8) -> usize {
    let mut bytes = Vec::new();
    encoded(JpegEncoder::new_with_quality(&mut bytes, quality), &picture.clone().into()).unwrap();
    bytes.len()
}

#[test]
fn image_that_cannot_fit_is_refused() {
    let limits = PictureBounds::new(300, 4000);
    let refused = fitted(jpeg(&noise(64, 64)), MimeType::Jpeg, limits);
    assert_eq!(refused, Err(ResizeError::DoesNotFit));
}

#[test]
fn long_image_is_reduced_to_the_longest_side() {
    let picture = fitted(jpeg(&red_and_blue(5000, 50)), MimeType::Jpeg, LARGE).unwrap();
    assert_eq!((picture.width(), picture.height()), (4000, 40));
    decoded(&picture);
}

#[test]
fn transparency_is_kept_if_the_file_fits() {
    let glass = RgbaImage::from_fn(40, 20, |x, _| if x < 20 { Rgba([200, 0, 0, 255]) } else { Rgba([0, 200, 0, 0]) });
    for (mime, bytes) in [(MimeType::Png, png(glass.clone())), (MimeType::Webp, webp(glass.clone()))] {
        let picture = fitted(bytes, mime, LARGE).unwrap();

        assert_eq!(picture.mime_type, MimeType::Png);
        assert_eq!(decoded(&picture).into_rgba8(), glass);
    }
}

#[test]
fn transparent_pixels_become_white_if_a_png_is_too_large() {
    let mut glass = DynamicImage::from(noise(300, 300)).into_rgba8();
    for (x, _, pixel) in glass.enumerate_pixels_mut() {
        pixel[3] = if x < 150 { 255 } else { 0 };
    }
    let limits = PictureBounds::new(150_000, 4000);

    let picture = fitted(png(glass), MimeType::Png, limits).unwrap();

    assert_eq!(picture.mime_type, MimeType::Jpeg);
    assert!(is_near(*decoded(&picture).into_rgb8().get_pixel(290, 150), Rgb([255; 3])));
}

#[test]
fn drawing_stays_lossless_and_opaque_webp_becomes_jpeg() {
    let drawing = red_and_blue(30, 30);
    let opaque: DynamicImage = DynamicImage::from(drawing.clone()).into_rgba8().into();

    let kept = fitted(png(opaque.clone()), MimeType::Png, LARGE).unwrap();
    let changed = fitted(webp(opaque), MimeType::Webp, LARGE).unwrap();

    assert_eq!(kept.mime_type, MimeType::Png);
    assert_eq!(decoded(&kept), drawing.into());
    assert_eq!(changed.mime_type, MimeType::Jpeg);
}

#[test]
fn everything_becomes_a_jpeg_if_only_jpeg_is_accepted() {
    let glass = RgbaImage::from_fn(40, 20, |x, _| if x < 20 { Rgba([200, 0, 0, 255]) } else { Rgba([0, 200, 0, 0]) });
    for (mime, bytes) in [
        (MimeType::Png, png(red_and_blue(40, 20))),
        (MimeType::Png, png(glass.clone())),
        (MimeType::Webp, webp(glass)),
        (MimeType::Jpeg, jpeg(&red_and_blue(40, 20))),
    ] {
        let picture = fitted(bytes, mime, LARGE.jpeg()).unwrap();

        assert_eq!((picture.mime_type, picture.width(), picture.height()), (MimeType::Jpeg, 40, 20), "{mime:?}");
        let right = *decoded(&picture).into_rgb8().get_pixel(30, 10);
        assert!(is_near(right, BLUE) || is_near(right, Rgb([255; 3])), "{mime:?} {right:?}");
    }
}

#[test]
fn too_tall_or_too_wide_image_gets_white_borders() {
    let borders = Borders { min: Ratio::hundredths(80), max: Ratio::hundredths(191) };
    let bounds = LARGE.jpeg().with_borders(borders);
    let white = Rgb([255; 3]);
    let tall = decoded(&fitted(jpeg(&red_and_blue(90, 160)), MimeType::Jpeg, bounds).unwrap()).into_rgb8();
    assert_eq!(tall.dimensions(), (128, 160));
    assert!(is_near(*tall.get_pixel(5, 80), white) && is_near(*tall.get_pixel(122, 80), white));
    assert!(is_near(*tall.get_pixel(30, 80), RED) && is_near(*tall.get_pixel(100, 80), BLUE));

    let wide = decoded(&fitted(png(red_and_blue(400, 100)), MimeType::Png, bounds).unwrap()).into_rgb8();
    assert_eq!(wide.dimensions(), (400, 210));
    assert!(is_near(*wide.get_pixel(100, 20), white) && is_near(*wide.get_pixel(100, 100), RED));

    let fitting = fitted(jpeg(&red_and_blue(100, 100)), MimeType::Jpeg, bounds).unwrap();
    assert_eq!((fitting.width(), fitting.height()), (100, 100));
}

/// Also if it has to be reduced for its bytes: the ratio is that of the result.
#[test]
fn borders_are_kept_at_every_size_and_in_every_type() {
    let borders = Borders { min: Ratio::hundredths(80), max: Ratio::hundredths(191) };
    let small = PictureBounds { max_bytes: 60_000, ..LARGE }.jpeg().with_borders(borders);
    let glass = RgbaImage::from_pixel(20, 400, Rgba([0, 0, 0, 0]));
    let squares = Borders { min: Ratio::hundredths(300), max: Ratio::hundredths(300) };
    for (bounds, mime, bytes) in [
        (small, MimeType::Jpeg, jpeg(&noise(301, 701))),
        (small, MimeType::Jpeg, jpeg(&noise(901, 211))),
        (LARGE.with_borders(borders), MimeType::Png, png(glass)),
        (LARGE.with_borders(squares), MimeType::Png, png(red_and_blue(3000, 3000))),
    ] {
        let picture = fitted(bytes, mime, bounds).unwrap();

        let pixels = Pixels { width: picture.width(), height: picture.height() };
        assert!(bounds.are_met_by(picture.mime_type, pixels), "{pixels:?}");
        assert!(picture.bytes.len() as u64 <= bounds.max_bytes);
        decoded(&picture);
    }
}

#[test]
fn gray_and_16_bit_images_are_read() {
    let grey = GrayImage::from_pixel(9, 9, image::Luma([77]));
    let fine = DynamicImage::ImageRgba16(image::ImageBuffer::from_pixel(9, 9, Rgba([77 * 257, 0, 0, 65_535])));
    let mut grey_jpeg = Vec::new();
    JpegEncoder::new(&mut grey_jpeg).encode(&grey, 9, 9, ExtendedColorType::L8).unwrap();

    for (mime, bytes) in [(MimeType::Png, png(grey)), (MimeType::Png, png(fine)), (MimeType::Jpeg, grey_jpeg)] {
        let picture = fitted(bytes, mime, LARGE).unwrap();
        assert!(decoded(&picture).into_rgb8().get_pixel(4, 4)[0].abs_diff(77) < 5);
    }
}

#[test]
fn resizing_is_deterministic() {
    for (mime, bytes) in [
        (MimeType::Jpeg, jpeg_with_metadata(&noise(300, 200), 6)),
        (MimeType::Png, png(noise(300, 200))),
        (MimeType::Webp, webp(noise(300, 200))),
    ] {
        let limits = PictureBounds::new(30_000, 250);
        let once = fitted(bytes.clone(), mime, limits).unwrap();
        assert_eq!(fitted(bytes, mime, limits), Ok(once));
    }
}

#[test]
fn result_has_its_size_and_no_other_metadata() {
    for (mime, bytes) in [
        (MimeType::Png, png(red_and_blue(500, 300))),
        (MimeType::Jpeg, jpeg_with_metadata(&red_and_blue(500, 300), 1)),
        (MimeType::Webp, webp(red_and_blue(500, 300))),
    ] {
        assert_eq!(mime.picture_size(&bytes), Some((500, 300)), "{mime:?} going in");
        let picture = fitted(bytes, mime, LARGE).unwrap();
        assert_eq!((picture.width(), picture.height()), (500, 300), "{mime:?}");
        assert!(picture.mime_type.is_bare_picture(&picture.bytes), "{mime:?}");
    }
    assert!(!MimeType::Jpeg.is_bare_picture(&jpeg_with_metadata(&red_and_blue(500, 300), 1)));
}
