//! The sizes of PNG, `WebP` and GIF files. Sources: the PNG specification, third edition, chapters
//! 5 and 11; RFC 9649; the `GIF89a` specification, 18.

use super::super::{MimeType, Pixels};
use super::exif::is_rotated;
use super::{Parts, ProbeError};

/// Bytes from the start that contain the size.
const HEAD_BYTES: u64 = 64;

/// More chunks than an image has before its data.
const MAX_CHUNKS: usize = 1_000;

pub(super) fn png(file: &Parts) -> Result<Pixels, ProbeError> {
    let stored = size_from_header(file, MimeType::Png)?;
    let mut at = 8;
    for _ in 0..MAX_CHUNKS {
        let Ok(head) = file.array::<8>(at) else { break };
        let (length, name) = head.split_at(4);
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]);
        match name {
            // The orientation comes before the image data.
            b"IDAT" | b"IEND" => break,
            b"eXIf" => return Ok(rotated_by_exif(file, stored, at + 8, length)),
            _ => at += 12 + u64::from(length),
        }
    }
    Ok(stored)
}

pub(super) fn webp(file: &Parts) -> Result<Pixels, ProbeError> {
    let stored = size_from_header(file, MimeType::Webp)?;
    let extended: [u8; 9] = file.array(12)?;
    // The flag of an Exif chunk, which comes last.
    if &extended[..4] != b"VP8X" || extended[8] & 0b1000 == 0 {
        return Ok(stored);
    }
    let mut at = 12;
    for _ in 0..MAX_CHUNKS {
        let head: [u8; 8] = match file.array(at) {
            Ok(head) => head,
            Err(missing @ ProbeError::Missing(_)) => return Err(missing),
            Err(ProbeError::Unspecified) => break,
        };
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        if &head[..4] == b"EXIF" {
            return Ok(rotated_by_exif(file, stored, at + 8, length));
        }
        at += 8 + u64::from(length) + u64::from(length % 2);
    }
    Ok(stored)
}

pub(super) fn gif(file: &Parts) -> Result<Pixels, ProbeError> {
    let [w0, w1, h0, h1] = file.array(6)?;
    Pixels::new(u16::from_le_bytes([w0, w1]).into(), u16::from_le_bytes([h0, h1]).into()).ok_or(ProbeError::Unspecified)
}

fn size_from_header(file: &Parts, mime: MimeType) -> Result<Pixels, ProbeError> {
    let length = file.size_bytes.min(HEAD_BYTES);
    let head = file.get(0, usize::try_from(length).unwrap_or(0))?;
    let (width, height) = mime.picture_size(head).ok_or(ProbeError::Unspecified)?;
    Ok(Pixels { width, height })
}

/// Orientation that is not in the parts at hand is not worth another read: few images of these
/// types are rotated.
fn rotated_by_exif(file: &Parts, stored: Pixels, start: u64, length: u32) -> Pixels {
    let tiff = usize::try_from(length).ok().and_then(|it| file.get(start, it).ok());
    // Some writers keep the prefix that JPEG requires.
    let tiff = tiff.map(|it| it.strip_prefix(b"Exif\0\0").unwrap_or(it));
    if tiff.is_some_and(is_rotated) { stored.turned() } else { stored }
}
