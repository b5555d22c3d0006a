//! The size of a JPEG file. Source of the markers: ITU T.81, table B.1.

use super::super::Pixels;
use super::super::jpeg::{is_frame, size};
use super::exif::is_rotated;
use super::{Parts, ProbeError};

/// More segments than an image has before its frame.
const MAX_SEGMENTS: usize = 1_000;

/// As displayed, after the rotation that the camera stored.
pub(super) fn pixels(file: &Parts) -> Result<Pixels, ProbeError> {
    let (mut at, mut is_rotated_by_exif) = (2, false);
    for _ in 0..MAX_SEGMENTS {
        let [mark, marker, length @ ..] = file.array::<4>(at)?;
        if mark != 0xFF {
            return Err(ProbeError::Unspecified);
        }
        if marker == 0xFF {
            // A fill byte.
            at += 1;
            continue;
        }
        let length = usize::from(u16::from_be_bytes(length)).checked_sub(2).ok_or(ProbeError::Unspecified)?;
        let content = at + 4;
        match marker {
            it if is_frame(it) => {
                let (width, height) = size(file.get(content, length.min(6))?).ok_or(ProbeError::Unspecified)?;
                let stored = Pixels { width, height };
                return Ok(if is_rotated_by_exif { stored.turned() } else { stored });
            }
            // APP1: Exif data, of which there is one segment.
            0xE1 if file.get(content, length.min(6))? == b"Exif\0\0" => {
                is_rotated_by_exif = is_rotated_by_exif || file.get(content, length)?.get(6..).is_some_and(is_rotated);
            }
            // Coded data or the end, before any frame.
            0xD9 | 0xDA => return Err(ProbeError::Unspecified),
            _ => {}
        }
        at = content + length as u64;
    }
    Err(ProbeError::Unspecified)
}
