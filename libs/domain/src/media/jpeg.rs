//! The segments that a JPEG file is made of, read without decoding a pixel.
//! Source of the markers: ITU T.81, table B.1.

/// The markers that start a scan and end a picture.
const START_OF_SCAN: u8 = 0xDA;
const END_OF_IMAGE: u8 = 0xD9;
/// Those that start a frame whose pixels can be decoded as they come: baseline
/// and extended sequential.
const SEQUENTIAL: [u8; 2] = [0xC0, 0xC1];
/// Tables of quantization, of Huffman codes, and the restart interval.
const TABLES: [u8; 3] = [0xDB, 0xC4, 0xDD];

/// The longest colour profile that counts as a part of the picture.
const MAX_PROFILE_BYTES: usize = 64 << 10;

/// The row of segments that a JPEG file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Width and height in pixels, as they are stored; `None` when no frame
    /// begins in what was read.
    pub size: Option<(u32, u32)>,
    /// Whether its end is there.
    pub is_whole: bool,
    /// Whether it can be decoded as it comes, and not only once all of its
    /// coefficients are in memory.
    pub in_one_scan: bool,
    /// Whether it is a picture that screens show, and holds nothing else: no
    /// place, no camera, no comment, no preview, nothing behind its end.
    pub is_bare: bool,
}

impl Outline {
    /// Reads a file, or the beginning of one.
    pub fn of(bytes: &[u8]) -> Self {
        let mut found =
            Self { size: None, is_whole: false, in_one_scan: false, is_bare: bytes.starts_with(&[0xFF, 0xD8]) };
        let (mut scans, mut sequential) = (0, false);
        let mut rest = bytes.get(2..).unwrap_or_default();
        while let Some((between, marker, after)) = next_marker(rest) {
            // Coded data lies behind a scan only.
            found.is_bare &= scans > 0 || between == 0;
            if marker == END_OF_IMAGE {
                found.is_whole = true;
                found.in_one_scan = sequential && scans == 1;
                found.is_bare &= after.is_empty() && found.size.is_some();
                return found;
            }
            // Its length includes the two bytes that say it. An end in here
            // is one of a preview.
            let Some(length) = after.first_chunk().map(|it| usize::from(u16::from_be_bytes(*it))) else { break };
            let content = after.get(2..length).unwrap_or_default();
            match marker {
                START_OF_SCAN => scans += 1,
                it if is_frame(it) => {
                    sequential = sequential || SEQUENTIAL.contains(&marker);
                    found.is_bare &= found.size.is_none() && is_shown_by_screens(content);
                    found.size = found.size.or(size(content));
                }
                it => found.is_bare &= TABLES.contains(&it) || is_of_the_picture(it, content),
            }
            rest = after.get(length..).unwrap_or_default();
        }
        Self { is_bare: false, ..found }
    }
}

/// Whether a marker starts a frame: all from `SOF0` to `SOF15` but those of
/// tables and of extensions.
pub(super) fn is_frame(marker: u8) -> bool {
    (0xC0..=0xCF).contains(&marker) && ![0xC4, 0xC8, 0xCC].contains(&marker)
}

/// A frame: precision, height, width, number of components, components.
pub(super) fn size(frame: &[u8]) -> Option<(u32, u32)> {
    let [_, h0, h1, w0, w1, ..] = frame else { return None };
    let side = |high: u8, low: u8| u32::from(u16::from_be_bytes([high, low]));
    Some((side(*w0, *w1), side(*h0, *h1))).filter(|(width, height)| 0 < *width && 0 < *height)
}

/// Grey or in colours, with 8 bits for each: not for printing.
fn is_shown_by_screens(frame: &[u8]) -> bool {
    matches!(frame, [8, _, _, _, _, 1 | 3, ..])
}

/// The name of the format without a preview, or a colour profile.
fn is_of_the_picture(marker: u8, content: &[u8]) -> bool {
    match marker {
        0xE0 => content.starts_with(b"JFIF\0") && content.len() == 14,
        0xE2 => content.starts_with(b"ICC_PROFILE\0") && content.len() <= MAX_PROFILE_BYTES,
        _ => false,
    }
}

/// The next marker that starts a segment or ends the file, how many bytes lie
/// before it, and what is behind it. Between segments lies coded data, where a
/// byte 0xFF is followed by 0, and markers without a segment.
fn next_marker(bytes: &[u8]) -> Option<(usize, u8, &[u8])> {
    let starts = |it: &[u8]| it[0] == 0xFF && !matches!(it[1], 0x00 | 0x01 | 0xD0..=0xD8 | 0xFF);
    let at = bytes.windows(2).position(starts)?;
    Some((at, bytes[at + 1], &bytes[at + 2..]))
}
