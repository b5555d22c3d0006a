//! The chunks of a PNG file, read without decompressing a pixel. Source: the PNG specification,
//! third edition, chapters 5 and 11.

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1A\n";

/// The chunks that a still image and its colors need. Others are text, times, locations, and frames
/// of an animation.
const OF_THE_PICTURE: [&[u8; 4]; 12] =
    [b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"bKGD", b"pHYs"];

pub(super) fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let (name, header) = bytes.strip_prefix(SIGNATURE)?.get(4..)?.split_first_chunk::<4>()?;
    let (width, header) = header.split_first_chunk().filter(|_| name == b"IHDR")?;
    let height = header.first_chunk()?;
    let size = (u32::from_be_bytes(*width), u32::from_be_bytes(*height));
    Some(size).filter(|(width, height)| 0 < *width && 0 < *height)
}

/// Whether a file is complete, undamaged, and contains a still image and nothing else.
pub(super) fn is_bare(bytes: &[u8]) -> bool {
    let Some(mut rest) = bytes.strip_prefix(SIGNATURE) else { return false };
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let Ok(length) = usize::try_from(u32::from_be_bytes(*length)) else { return false };
        let Some((chunk, after)) = length.checked_add(4).and_then(|it| after.split_at_checked(it)) else {
            return false;
        };
        let Some((sum, after)) = after.split_first_chunk::<4>() else { return false };
        let is_known = OF_THE_PICTURE.iter().any(|it| chunk.starts_with(*it));
        if !is_known || crc32fast::hash(chunk) != u32::from_be_bytes(*sum) {
            return false;
        }
        if chunk == b"IEND" {
            return after.is_empty() && size(bytes).is_some();
        }
        rest = after;
    }
    false
}
