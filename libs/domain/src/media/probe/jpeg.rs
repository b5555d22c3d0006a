//! The size of a JPEG file. Source of the markers: ITU T.81, table B.1.

use super::super::Pixels;
use super::super::jpeg::{is_frame, size};
use super::exif::is_turned;
use super::{Gap, Parts};

/// More segments than an image has before its frame.
const MAX_SEGMENTS: usize = 1_000;

/// As displayed, after the rotation that the camera stored.
pub(super) fn pixels(file: &Parts) -> Result<Pixels, Gap> {
    let (mut at, mut turned) = (2, false);
    for _ in 0..MAX_SEGMENTS {
        let [mark, marker, length @ ..] = file.array::<4>(at)?;
        if mark != 0xFF {
            return Err(Gap::Unsaid);
        }
        if marker == 0xFF {
            // A fill byte.
            at += 1;
            continue;
        }
        let length = usize::from(u16::from_be_bytes(length)).checked_sub(2).ok_or(Gap::Unsaid)?;
        let content = at + 4;
        match marker {
            it if is_frame(it) => {
                let (width, height) = size(file.get(content, length.min(6))?).ok_or(Gap::Unsaid)?;
                let stored = Pixels { width, height };
                return Ok(if turned { stored.turned() } else { stored });
            }
            // APP1: Exif data, of which there is one segment.
            0xE1 if file.get(content, length.min(6))? == b"Exif\0\0" => {
                turned = turned || file.get(content, length)?.get(6..).is_some_and(is_turned);
            }
            // Coded data or the end, before any frame.
            0xD9 | 0xDA => return Err(Gap::Unsaid),
            _ => {}
        }
        at = content + length as u64;
    }
    Err(Gap::Unsaid)
}
