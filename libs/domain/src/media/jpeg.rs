//! The segments of a JPEG file, read without decoding a pixel. Source of the markers: ITU T.81,
//! table B.1.

const START_OF_SCAN: u8 = 0xDA;
const END_OF_IMAGE: u8 = 0xD9;
/// Frames that can be decoded sequentially: baseline and extended sequential.
const SEQUENTIAL: [u8; 2] = [0xC0, 0xC1];
/// Quantization tables, Huffman tables, and the restart interval.
const TABLES: [u8; 3] = [0xDB, 0xC4, 0xDD];

/// The longest color profile that counts as a part of the image.
const MAX_PROFILE_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JpegOutline {
    /// Width and height in pixels, as stored; `None` if the bytes contain no frame.
    pub size: Option<(u32, u32)>,
    pub is_whole: bool,
    /// Whether the image can be decoded sequentially, without all coefficients in memory.
    pub in_one_scan: bool,
    /// Whether it is an image for screens and the file contains nothing else: no location, camera,
    /// comment or preview, and nothing after its end.
    pub is_bare: bool,
}

impl JpegOutline {
    pub fn parse(bytes: &[u8]) -> Self {
        let mut outline =
            Self { size: None, is_whole: false, in_one_scan: false, is_bare: bytes.starts_with(&[0xFF, 0xD8]) };
        let (mut scans, mut sequential) = (0, false);
        let mut rest = bytes.get(2..).unwrap_or_default();
        while let Some((between, marker, after)) = next_marker(rest) {
            // Coded data may only follow a scan.
            outline.is_bare &= scans > 0 || between == 0;
            if marker == END_OF_IMAGE {
                outline.is_whole = true;
                outline.in_one_scan = sequential && scans == 1;
                outline.is_bare &= after.is_empty() && outline.size.is_some();
                return outline;
            }
            // The length includes its own two bytes. An end marker in here belongs to a preview.
            let Some(length) = after.first_chunk().map(|it| usize::from(u16::from_be_bytes(*it))) else { break };
            let content = after.get(2..length).unwrap_or_default();
            match marker {
                START_OF_SCAN => scans += 1,
                it if is_frame(it) => {
                    sequential = sequential || SEQUENTIAL.contains(&marker);
                    outline.is_bare &= outline.size.is_none() && is_screen_format(content);
                    outline.size = outline.size.or(size(content));
                }
                it => outline.is_bare &= TABLES.contains(&it) || is_image_segment(it, content),
            }
            rest = after.get(length..).unwrap_or_default();
        }
        Self { is_bare: false, ..outline }
    }
}

/// Whether a marker starts a frame: `SOF0` to `SOF15` without those of tables and extensions.
pub(super) fn is_frame(marker: u8) -> bool {
    (0xC0..=0xCF).contains(&marker) && ![0xC4, 0xC8, 0xCC].contains(&marker)
}

/// A frame has precision, height, width, number of components, components.
pub(super) fn size(frame: &[u8]) -> Option<(u32, u32)> {
    let [_, h0, h1, w0, w1, ..] = frame else { return None };
    let side = |high: u8, low: u8| u32::from(u16::from_be_bytes([high, low]));
    Some((side(*w0, *w1), side(*h0, *h1))).filter(|(width, height)| 0 < *width && 0 < *height)
}

/// Grayscale or three components, with 8 bits each: not for printing.
fn is_screen_format(frame: &[u8]) -> bool {
    matches!(frame, [8, _, _, _, _, 1 | 3, ..])
}

/// A JFIF header without a preview, or a color profile.
fn is_image_segment(marker: u8, content: &[u8]) -> bool {
    match marker {
        0xE0 => content.starts_with(b"JFIF\0") && content.len() == 14,
        0xE2 => content.starts_with(b"ICC_PROFILE\0") && content.len() <= MAX_PROFILE_BYTES,
        _ => false,
    }
}

/// The next marker that starts a segment or ends the file, the number of bytes before it, and the
/// bytes after it. Between segments there is coded data, where a byte 0xFF is followed by 0, and
/// markers without a segment.
fn next_marker(bytes: &[u8]) -> Option<(usize, u8, &[u8])> {
    let starts = |it: &[u8]| it[0] == 0xFF && !matches!(it[1], 0x00 | 0x01 | 0xD0..=0xD8 | 0xFF);
    let at = bytes.windows(2).position(starts)?;
    Some((at, bytes[at + 1], &bytes[at + 2..]))
}
