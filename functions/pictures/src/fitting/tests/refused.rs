//! Files that are not images, or images that are too large.

use domain::media::MimeType;
use image::DynamicImage;

use super::LARGE;
use super::samples::{contains, jpeg, jpeg_with_metadata, noise, png, red_and_blue, segment, webp};
use crate::fitting::webp::frames_match_size;
use crate::fitting::{ResizeError, fitted};

/// A PNG whose header states a size, with next to no data.
fn png_with_header(width: u32, height: u32, depth: u8, color: u8) -> Vec<u8> {
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
pub(super) fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |it, _| if it & 1 == 1 { it >> 1 ^ 0xEDB8_8320 } else { it >> 1 })
    })
}

#[test]
fn header_with_excessive_size_is_refused_before_decoding() {
    let too_many = |max, actual| Err(ResizeError::TooManyPixels { max, actual });
    let too_long = |actual| Err(ResizeError::TooLong { max: 20_000, actual });
    let cases = [
        ((60_000, 60_000, 8, 6), too_many(50_000_000, 3_600_000_000)),
        ((8_000, 6_251, 8, 2), too_many(50_000_000, 50_008_000)),
        // 8 bytes per pixel, and 4 more to convert 16 bits to 8.
        ((6_000, 4_000, 16, 6), too_many(22_369_621, 24_000_000)),
        ((20_001, 10, 8, 2), too_long(20_001)),
        ((10, 20_001, 8, 2), too_long(20_001)),
    ];
    for ((width, height, depth, color), expected) in cases {
        let bytes = png_with_header(width, height, depth, color);
        assert_eq!(fitted(bytes, MimeType::Png, LARGE), expected);
    }
}

#[test]
fn jpeg_and_webp_size_is_checked_in_the_header() {
    let mut bytes = jpeg(&red_and_blue(16, 16));
    let frame = bytes.windows(2).position(|it| it == [0xFF, 0xC0]).unwrap();
    bytes[frame + 5..frame + 9].copy_from_slice(&[0xEA, 0x60, 0xEA, 0x60]);
    let refused = fitted(bytes, MimeType::Jpeg, LARGE);
    assert_eq!(refused, Err(ResizeError::TooManyPixels { max: 50_000_000, actual: 3_600_000_000 }));

    let canvas = [&12_000_u32.to_le_bytes()[..3], &5_000_u32.to_le_bytes()[..3]].concat();
    let header = [b"VP8X\x0A\0\0\0\0\0\0\0", &canvas[..], b"VP8L\0\0\0\0"].concat();
    let size = u32::try_from(header.len() + 4).unwrap().to_le_bytes();
    let bytes = [b"RIFF", &size[..], b"WEBP", &header].concat();
    let refused = fitted(bytes, MimeType::Webp, LARGE);
    assert_eq!(refused, Err(ResizeError::TooManyPixels { max: 33_554_432, actual: 12_001 * 5_001 }));
}

#[test]
fn webp_with_a_frame_larger_than_its_header_is_refused() {
    let frame = |side: u16| {
        let side = side.to_le_bytes();
        [b"VP8 \x0A\0\0\0\x10\0\0\x9D\x01\x2A", &side[..], &side].concat()
    };
    let content = [b"WEBPVP8X\x0A\0\0\0\0\0\0\0\x0F\0\0\x0F\0\0", &frame(16_383)[..]].concat();
    let bytes = [b"RIFF", &u32::try_from(content.len()).unwrap().to_le_bytes()[..], &content].concat();

    let refused = fitted(bytes, MimeType::Webp, LARGE);

    assert_eq!(
        refused,
        Err(ResizeError::Unreadable("the file contains two different sizes; upload another one".to_owned()))
    );
    assert!(frames_match_size(&frame(16), (16, 16)));
    assert!(!frames_match_size(&frame(17), (16, 16)));
}

#[test]
fn truncated_file_is_refused() {
    let picture = noise(64, 48);
    for (mime, bytes) in
        [(MimeType::Jpeg, jpeg(&picture)), (MimeType::Png, png(picture.clone())), (MimeType::Webp, webp(picture))]
    {
        for part in [0, 1, 10, 100, bytes.len() / 2, bytes.len() * 9 / 10] {
            let refused = fitted(bytes[..part].to_vec(), mime, LARGE);
            assert!(matches!(refused, Err(ResizeError::Unreadable(_))), "{mime:?} {part}");
        }
    }
}

/// A preview in the EXIF part has an end marker of its own.
#[test]
fn the_end_of_a_preview_is_not_the_end_of_a_jpeg() {
    let (plain, preview) = (jpeg(&noise(64, 48)), jpeg(&red_and_blue(8, 8)));
    let (start, rest) = plain.split_at(2);
    let whole = [start, &segment(0xE1, &preview), rest].concat();
    let broken = whole[..whole.len() - 100].to_vec();

    assert!(fitted(whole, MimeType::Jpeg, LARGE).is_ok());
    assert!(matches!(fitted(broken, MimeType::Jpeg, LARGE), Err(ResizeError::Unreadable(_))));
}

#[test]
fn data_after_the_end_of_a_jpeg_is_dropped() {
    let bytes = [jpeg(&red_and_blue(16, 16)), b"a film of two seconds".to_vec()].concat();
    let picture = fitted(bytes, MimeType::Jpeg, LARGE).unwrap();
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
        assert!(matches!(fitted(bytes, mime, LARGE), Err(ResizeError::Unreadable(_))), "{mime:?}");
    }
}

/// Damage of any kind is refused or shown; it stops nothing.
#[test]
fn damaged_file_is_refused_or_shown() {
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
                let _ = fitted(damaged, mime, LARGE);
            }
            let _ = fitted(bytes[..at].to_vec(), mime, LARGE);
        }
    }
}
