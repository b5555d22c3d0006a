//! Checks of `WebP` files that the decoder makes too late.

/// The name of a chunk with a lossy frame.
const LOSSY: &[u8] = b"VP8 ";
/// Bytes between the name of a chunk and the sizes of its frame: its own size, the frame's tag and
/// a start code. Source: RFC 6386, 9.1.
const TO_SIZES: usize = 4 + 3 + 3;

/// Whether no lossy frame is larger than the image. The decoder allocates a frame before it
/// compares, and a frame has up to 268 million pixels.
///
/// Searches for every occurrence of the chunk's name, so that nothing depends on both parsers
/// seeing the same order of chunks.
pub(super) fn frames_match_size(bytes: &[u8], (width, height): (u32, u32)) -> bool {
    let after_names = bytes.windows(LOSSY.len()).enumerate().filter(|(_, it)| *it == LOSSY);
    let sizes = after_names.filter_map(|(at, _)| bytes.get(at + LOSSY.len() + TO_SIZES..)?.first_chunk());
    let mut frames = sizes.map(|&[w0, w1, h0, h1]: &[u8; 4]| (side(w0, w1), side(h0, h1)));
    // A preview in the metadata would be smaller too.
    frames.all(|(frame_width, frame_height)| frame_width <= width && frame_height <= height)
}

/// 14 bits; the upper two are the scale.
fn side(low: u8, high: u8) -> u32 {
    u32::from(u16::from_le_bytes([low, high]) & 0x3FFF)
}
