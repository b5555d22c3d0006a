//! Images as cameras and programs write them, and ways to inspect the result.

use domain::media::MimeType;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ImageEncoder, Rgb, RgbImage};

use crate::fitting::Picture;

pub(super) const RED: Rgb<u8> = Rgb([220, 20, 20]);
pub(super) const BLUE: Rgb<u8> = Rgb([20, 20, 220]);

/// Text that must not remain in an image.
pub(super) const SECRETS: [&[u8]; 6] = [b"Exif", b"GPS", b"52.5163", b"ns.adobe.com", b"by me, at home", b"Photoshop"];

/// Red on the left, blue on the right.
pub(super) fn red_and_blue(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, _| if x < width / 2 { RED } else { BLUE })
}

/// Noise that does not compress, equal in every run.
pub(super) fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        Rgb([0; 3].map(|_: u8| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        }))
    })
}

pub(super) fn encoded(encoder: impl ImageEncoder, picture: &DynamicImage) -> Result<(), image::ImageError> {
    encoder.write_image(picture.as_bytes(), picture.width(), picture.height(), picture.color().into())
}

pub(super) fn jpeg(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoded(JpegEncoder::new_with_quality(&mut bytes, 95), &picture.clone().into()).unwrap();
    bytes
}

pub(super) fn png(picture: impl Into<DynamicImage>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoded(PngEncoder::new(&mut bytes), &picture.into()).unwrap();
    bytes
}

pub(super) fn webp(picture: impl Into<DynamicImage>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoded(WebPEncoder::new_lossless(&mut bytes), &picture.into()).unwrap();
    bytes
}

/// EXIF with an orientation and a location.
pub(super) fn exif(orientation: u8) -> Vec<u8> {
    let entries: [&[u8]; 2] = [
        &[0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0],
        // GPSLatitude, as no camera would write it.
        &[0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 38],
    ];
    [b"MM\0\x2A\0\0\0\x08\0\x02", entries[0], entries[1], b"\0\0\0\0", b"GPS 52.5163 N"].concat()
}

pub(super) fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 2).unwrap().to_be_bytes();
    [&[0xFF, marker], &length[..], content].concat()
}

/// A JPEG with the metadata of a camera and several programs.
pub(super) fn jpeg_with_metadata(picture: &RgbImage, orientation: u8) -> Vec<u8> {
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

pub(super) fn decoded(picture: &Picture) -> DynamicImage {
    let format = match picture.mime_type {
        MimeType::Jpeg => image::ImageFormat::Jpeg,
        _ => image::ImageFormat::Png,
    };
    let decoded = image::load_from_memory_with_format(&picture.bytes, format).unwrap();
    assert_eq!((decoded.width(), decoded.height()), (picture.width(), picture.height()));
    decoded
}

pub(super) fn is_near(pixel: Rgb<u8>, expected: Rgb<u8>) -> bool {
    pixel.0.iter().zip(expected.0).all(|(it, other)| it.abs_diff(other) < 30)
}

pub(super) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|it| it == part)
}
