use std::io::Cursor;

use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::codecs::png::{PngDecoder, PngEncoder};
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ExtendedColorType, GrayImage, ImageDecoder, ImageEncoder, Rgb, RgbImage, Rgba, RgbaImage};

use super::*;

const LARGE: PictureLimits = PictureLimits { max_bytes: 2_000_000, max_side: 4000 };
const SMALL: PictureLimits = PictureLimits { max_bytes: 1_000_000, max_side: 4000 };

const RED: Rgb<u8> = Rgb([220, 20, 20]);
const BLUE: Rgb<u8> = Rgb([20, 20, 220]);

/// What nobody is to learn from a picture.
const SECRETS: [&[u8]; 6] = [b"Exif", b"GPS", b"52.5163", b"ns.adobe.com", b"by me, at home", b"Photoshop"];

/// Red on the left, blue on the right.
fn red_and_blue(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, _| if x < width / 2 { RED } else { BLUE })
}

/// The same of every run, and nothing that compresses.
fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        Rgb([0; 3].map(|_: u8| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        }))
    })
}

fn encoded(encoder: impl ImageEncoder, picture: &DynamicImage) -> Result<(), image::ImageError> {
    encoder.write_image(picture.as_bytes(), picture.width(), picture.height(), picture.color().into())
}

fn jpeg(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoded(JpegEncoder::new_with_quality(&mut bytes, 95), &picture.clone().into()).unwrap();
    bytes
}

fn png(picture: impl Into<DynamicImage>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoded(PngEncoder::new(&mut bytes), &picture.into()).unwrap();
    bytes
}

fn webp(picture: impl Into<DynamicImage>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoded(WebPEncoder::new_lossless(&mut bytes), &picture.into()).unwrap();
    bytes
}

/// EXIF with an orientation, and with a place.
fn exif(orientation: u8) -> Vec<u8> {
    let entries: [&[u8]; 2] = [
        &[0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0],
        // GPSLatitude, as no camera would write it.
        &[0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 38],
    ];
    [b"MM\0\x2A\0\0\0\x08\0\x02", entries[0], entries[1], b"\0\0\0\0", b"GPS 52.5163 N"].concat()
}

fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 2).unwrap().to_be_bytes();
    [&[0xFF, marker], &length[..], content].concat()
}

/// A JPEG as a camera and a program or two leave it.
fn jpeg_with_metadata(picture: &RgbImage, orientation: u8) -> Vec<u8> {
    let plain = jpeg(picture);
    let (start, rest) = plain.split_at(2);
    let xmp = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta exif:GPSLatitude='52.5163'/>";
    [
        start,
        &segment(0xE1, &[b"Exif\0\0", &exif(orientation)[..]].concat()),
        &segment(0xE1, xmp),
        &segment(0xED, b"Photoshop 3.0\x008BIM"),
        &segment(0xFE, b"by me, at home"),
        rest,
    ]
    .concat()
}

fn decoded(picture: &Picture) -> DynamicImage {
    let format = match picture.mime_type {
        MimeType::Jpeg => image::ImageFormat::Jpeg,
        _ => image::ImageFormat::Png,
    };
    let decoded = image::load_from_memory_with_format(&picture.bytes, format).unwrap();
    assert_eq!((decoded.width(), decoded.height()), (picture.width, picture.height));
    decoded
}

fn is_near(pixel: Rgb<u8>, expected: Rgb<u8>) -> bool {
    pixel.0.iter().zip(expected.0).all(|(it, other)| it.abs_diff(other) < 30)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|it| it == part)
}

#[tokio::test]
async fn a_picture_comes_out_upright() {
    let lying = jpeg_with_metadata(&red_and_blue(64, 32), 6);

    let picture = prepared(turn().await.unwrap(), lying, MimeType::Jpeg, LARGE).await.unwrap();

    assert_eq!((picture.mime_type, picture.width, picture.height), (MimeType::Jpeg, 32, 64));
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
            let picture = prepare(bytes, mime, LARGE).unwrap();
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
fn nothing_of_the_metadata_gets_through() {
    let bytes = jpeg_with_metadata(&red_and_blue(64, 32), 1);
    assert!(SECRETS.iter().all(|it| contains(&bytes, it)));

    let picture = prepare(bytes, MimeType::Jpeg, LARGE).unwrap();

    for secret in SECRETS {
        assert!(!contains(&picture.bytes, secret), "{secret:?}");
    }
}

#[test]
fn the_profile_of_the_colours_is_kept_where_it_is_one_of_rgb() {
    for (space, is_kept) in [(b"RGB ", true), (b"CMYK", false), (b"GRAY", false)] {
        let profile = [&[0; 16], &space[..], &[7; 108]].concat();
        let mut bytes = Vec::new();
        let mut encoder = JpegEncoder::new(&mut bytes);
        encoder.set_icc_profile(profile.clone()).unwrap();
        encoded(encoder, &red_and_blue(8, 8).into()).unwrap();

        let picture = prepare(bytes, MimeType::Jpeg, LARGE).unwrap();

        let kept = JpegDecoder::new(Cursor::new(&picture.bytes)).unwrap().icc_profile().unwrap();
        assert_eq!(kept, is_kept.then_some(profile));
    }
}

#[test]
fn noise_is_made_to_fit() {
    let narrow = PictureLimits { max_bytes: 100_000, ..SMALL };
    for (bytes, limits) in [(jpeg(&noise(1600, 1200)), SMALL), (jpeg(&noise(600, 450)), narrow)] {
        assert!(limits.max_bytes < bytes.len());

        let picture = prepare(bytes, MimeType::Jpeg, limits).unwrap();

        assert_eq!(picture.mime_type, MimeType::Jpeg);
        assert!(picture.bytes.len() <= limits.max_bytes, "{} of {}", picture.bytes.len(), limits.max_bytes);
        assert_eq!(picture.width * 3, picture.height * 4);
        decoded(&picture);
    }
}

/// The smallest attempt for a picture of the largest size.
#[test]
fn even_noise_fits_at_the_smallest_size() {
    let smallest = jpeg_of_quality(&noise(800, 800), 70);
    assert!(smallest <= SMALL.max_bytes, "{smallest}");
}

fn jpeg_of_quality(picture: &RgbImage, quality: u8) -> usize {
    let mut bytes = Vec::new();
    encoded(JpegEncoder::new_with_quality(&mut bytes, quality), &picture.clone().into()).unwrap();
    bytes.len()
}

#[test]
fn what_cannot_fit_is_said_not_to() {
    let limits = PictureLimits { max_bytes: 300, max_side: 4000 };
    let refused = prepare(jpeg(&noise(64, 64)), MimeType::Jpeg, limits);
    assert_eq!(refused, Err(PictureError::DoesNotFit));
}

#[test]
fn a_long_picture_becomes_as_long_as_it_may_be() {
    let picture = prepare(jpeg(&red_and_blue(5000, 50)), MimeType::Jpeg, LARGE).unwrap();
    assert_eq!((picture.width, picture.height), (4000, 40));
    decoded(&picture);
}

#[test]
fn a_picture_with_transparency_stays_so_if_it_fits() {
    let glass = RgbaImage::from_fn(40, 20, |x, _| if x < 20 { Rgba([200, 0, 0, 255]) } else { Rgba([0, 200, 0, 0]) });
    for (mime, bytes) in [(MimeType::Png, png(glass.clone())), (MimeType::Webp, webp(glass.clone()))] {
        let picture = prepare(bytes, mime, LARGE).unwrap();

        assert_eq!(picture.mime_type, MimeType::Png);
        assert_eq!(decoded(&picture).into_rgba8(), glass);
    }
}

#[test]
fn what_is_transparent_becomes_white_where_a_png_is_too_large() {
    let mut glass = DynamicImage::from(noise(300, 300)).into_rgba8();
    for (x, _, pixel) in glass.enumerate_pixels_mut() {
        pixel[3] = if x < 150 { 255 } else { 0 };
    }
    let limits = PictureLimits { max_bytes: 150_000, max_side: 4000 };

    let picture = prepare(png(glass), MimeType::Png, limits).unwrap();

    assert_eq!(picture.mime_type, MimeType::Jpeg);
    assert!(is_near(*decoded(&picture).into_rgb8().get_pixel(290, 150), Rgb([255; 3])));
}

#[test]
fn a_drawing_stays_without_loss_and_an_opaque_webp_becomes_a_jpeg() {
    let drawing = red_and_blue(30, 30);
    let opaque: DynamicImage = DynamicImage::from(drawing.clone()).into_rgba8().into();

    let kept = prepare(png(opaque.clone()), MimeType::Png, LARGE).unwrap();
    let changed = prepare(webp(opaque), MimeType::Webp, LARGE).unwrap();

    assert_eq!(kept.mime_type, MimeType::Png);
    assert_eq!(decoded(&kept), drawing.into());
    assert_eq!(changed.mime_type, MimeType::Jpeg);
}

#[test]
fn grey_and_fine_grained_pictures_are_read() {
    let grey = GrayImage::from_pixel(9, 9, image::Luma([77]));
    let fine = DynamicImage::ImageRgba16(image::ImageBuffer::from_pixel(9, 9, Rgba([77 * 257, 0, 0, 65_535])));
    let mut grey_jpeg = Vec::new();
    JpegEncoder::new(&mut grey_jpeg).encode(&grey, 9, 9, ExtendedColorType::L8).unwrap();

    for (mime, bytes) in [(MimeType::Png, png(grey)), (MimeType::Png, png(fine)), (MimeType::Jpeg, grey_jpeg)] {
        let picture = prepare(bytes, mime, LARGE).unwrap();
        assert!(decoded(&picture).into_rgb8().get_pixel(4, 4)[0].abs_diff(77) < 5);
    }
}

#[test]
fn the_same_file_gives_the_same_bytes() {
    for (mime, bytes) in [
        (MimeType::Jpeg, jpeg_with_metadata(&noise(300, 200), 6)),
        (MimeType::Png, png(noise(300, 200))),
        (MimeType::Webp, webp(noise(300, 200))),
    ] {
        let limits = PictureLimits { max_bytes: 30_000, max_side: 250 };
        let once = prepare(bytes.clone(), mime, limits).unwrap();
        assert_eq!(prepare(bytes, mime, limits), Ok(once));
    }
}

/// A PNG that says how large it is, and then has next to nothing.
fn png_that_says(width: u32, height: u32, depth: u8, color: u8) -> Vec<u8> {
    let sizes = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let header = [b"IHDR", &sizes[..], &[depth, color, 0, 0, 0]].concat();
    let pixels = b"IDAT\x78\x9C\x63\x00\x00\x00\x01\x00\x01";
    let mut bytes = b"\x89PNG\r\n\x1A\n".to_vec();
    for chunk in [&header[..], pixels, b"IEND"] {
        bytes.extend(u32::try_from(chunk.len() - 4).unwrap().to_be_bytes());
        bytes.extend(chunk);
        bytes.extend(crc(chunk).to_be_bytes());
    }
    bytes
}

/// As in the PNG specification, annex D.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |it, _| if it & 1 == 1 { it >> 1 ^ 0xEDB8_8320 } else { it >> 1 })
    })
}

#[test]
fn a_header_that_claims_too_much_is_refused_before_anything_is_decoded() {
    let too_many = |max, actual| Err(PictureError::TooManyPixels { max, actual });
    let too_long = |actual| Err(PictureError::TooLong { max: 20_000, actual });
    let cases = [
        ((60_000, 60_000, 8, 6), too_many(50_000_000, 3_600_000_000)),
        ((8_000, 6_251, 8, 2), too_many(50_000_000, 50_008_000)),
        // 8 bytes a pixel, and 4 more to make 8 bits of 16.
        ((6_000, 4_000, 16, 6), too_many(22_369_621, 24_000_000)),
        ((20_001, 10, 8, 2), too_long(20_001)),
        ((10, 20_001, 8, 2), too_long(20_001)),
    ];
    for ((width, height, depth, color), expected) in cases {
        let bytes = png_that_says(width, height, depth, color);
        assert_eq!(prepare(bytes, MimeType::Png, LARGE), expected);
    }
}

#[test]
fn a_jpeg_and_a_webp_are_measured_by_their_header_too() {
    let mut bytes = jpeg(&red_and_blue(16, 16));
    let frame = bytes.windows(2).position(|it| it == [0xFF, 0xC0]).unwrap();
    bytes[frame + 5..frame + 9].copy_from_slice(&[0xEA, 0x60, 0xEA, 0x60]);
    let refused = prepare(bytes, MimeType::Jpeg, LARGE);
    assert_eq!(refused, Err(PictureError::TooManyPixels { max: 50_000_000, actual: 3_600_000_000 }));

    let canvas = [&12_000_u32.to_le_bytes()[..3], &5_000_u32.to_le_bytes()[..3]].concat();
    let header = [b"VP8X\x0A\0\0\0\0\0\0\0", &canvas[..], b"VP8L\0\0\0\0"].concat();
    let size = u32::try_from(header.len() + 4).unwrap().to_le_bytes();
    let bytes = [b"RIFF", &size[..], b"WEBP", &header].concat();
    let refused = prepare(bytes, MimeType::Webp, LARGE);
    assert_eq!(refused, Err(PictureError::TooManyPixels { max: 33_554_432, actual: 12_001 * 5_001 }));
}

#[test]
fn a_webp_whose_frame_is_larger_than_it_says_is_refused() {
    let frame = |side: u16| {
        let side = side.to_le_bytes();
        [b"VP8 \x0A\0\0\0\x10\0\0\x9D\x01\x2A", &side[..], &side].concat()
    };
    let content = [b"WEBPVP8X\x0A\0\0\0\0\0\0\0\x0F\0\0\x0F\0\0", &frame(16_383)[..]].concat();
    let bytes = [b"RIFF", &u32::try_from(content.len()).unwrap().to_le_bytes()[..], &content].concat();

    let refused = prepare(bytes, MimeType::Webp, LARGE);

    assert_eq!(refused, Err(PictureError::Unreadable("the file says two different sizes".to_owned())));
    assert!(super::webp::frames_fit(&frame(16), (16, 16)));
    assert!(!super::webp::frames_fit(&frame(17), (16, 16)));
}

#[test]
fn a_file_that_breaks_off_is_refused() {
    let picture = noise(64, 48);
    for (mime, bytes) in
        [(MimeType::Jpeg, jpeg(&picture)), (MimeType::Png, png(picture.clone())), (MimeType::Webp, webp(picture))]
    {
        for part in [0, 1, 10, 100, bytes.len() / 2, bytes.len() * 9 / 10] {
            let refused = prepare(bytes[..part].to_vec(), mime, LARGE);
            assert!(matches!(refused, Err(PictureError::Unreadable(_))), "{mime:?} {part}");
        }
    }
}

/// A preview in the EXIF part has an end of its own.
#[test]
fn the_end_of_a_preview_is_not_the_end_of_a_jpeg() {
    let (plain, preview) = (jpeg(&noise(64, 48)), jpeg(&red_and_blue(8, 8)));
    let (start, rest) = plain.split_at(2);
    let whole = [start, &segment(0xE1, &preview), rest].concat();
    let broken = whole[..whole.len() - 100].to_vec();

    assert!(prepare(whole, MimeType::Jpeg, LARGE).is_ok());
    assert!(matches!(prepare(broken, MimeType::Jpeg, LARGE), Err(PictureError::Unreadable(_))));
}

#[test]
fn what_is_behind_the_end_of_a_jpeg_is_left_out() {
    let bytes = [jpeg(&red_and_blue(16, 16)), b"a film of two seconds".to_vec()].concat();
    let picture = prepare(bytes, MimeType::Jpeg, LARGE).unwrap();
    assert!(!contains(&picture.bytes, b"film"));
}

#[test]
fn a_file_of_another_type_is_refused() {
    let files = [
        (MimeType::Jpeg, png(red_and_blue(4, 4))),
        (MimeType::Png, jpeg(&red_and_blue(4, 4))),
        (MimeType::Webp, png(red_and_blue(4, 4))),
        (MimeType::Gif, b"GIF89a".to_vec()),
        (MimeType::Mp4, Vec::new()),
    ];
    for (mime, bytes) in files {
        assert!(matches!(prepare(bytes, mime, LARGE), Err(PictureError::Unreadable(_))), "{mime:?}");
    }
}

#[test]
fn the_size_of_the_result_is_that_of_its_header() {
    let picture = prepare(png(red_and_blue(500, 300)), MimeType::Png, LARGE).unwrap();
    let header = PngDecoder::new(Cursor::new(&picture.bytes)).unwrap().dimensions();
    assert_eq!(header, (picture.width, picture.height));
}

/// Damage of any kind is refused or shows; it stops nothing.
#[test]
fn no_damage_brings_us_down() {
    let picture = noise(12, 10);
    let glass = DynamicImage::from(picture.clone()).into_rgba8();
    let files = [
        (MimeType::Jpeg, jpeg_with_metadata(&picture, 6)),
        (MimeType::Png, png(picture)),
        (MimeType::Webp, webp(glass)),
    ];
    for (mime, bytes) in files {
        for at in 0..bytes.len() {
            for value in [0, 0x7F, 0xFF, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ = prepare(damaged, mime, LARGE);
            }
            let _ = prepare(bytes[..at].to_vec(), mime, LARGE);
        }
    }
}
