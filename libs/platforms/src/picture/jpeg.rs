//! What the decoder of JPEG files does not tell.

/// The markers that start a scan and end a picture.
const START_OF_SCAN: u8 = 0xDA;
const END_OF_IMAGE: u8 = 0xD9;
/// Those that start a frame and whose pixels can be decoded as they come:
/// baseline and extended sequential. Source: ITU T.81, table B.1.
const SEQUENTIAL: [u8; 2] = [0xC0, 0xC1];

/// The row of segments that a JPEG file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outline {
    /// Whether its end is there.
    pub(super) is_whole: bool,
    /// Whether it can be decoded as it comes, and not only once all of its
    /// coefficients are in memory.
    pub(super) in_one_scan: bool,
}

impl Outline {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let (mut scans, mut sequential) = (0, false);
        let mut rest = bytes;
        while let Some((marker, after)) = next_marker(rest) {
            match marker {
                END_OF_IMAGE => return Self { is_whole: true, in_one_scan: sequential && scans == 1 },
                START_OF_SCAN => scans += 1,
                _ => sequential = sequential || SEQUENTIAL.contains(&marker),
            }
            // Its length includes the two bytes that say it. An end in here
            // is one of a preview.
            let Some(length) = after.first_chunk().map(|it| usize::from(u16::from_be_bytes(*it))) else {
                break;
            };
            rest = after.get(length..).unwrap_or_default();
        }
        Self { is_whole: false, in_one_scan: false }
    }
}

/// The next marker that starts a segment or ends the file, and what is behind
/// it. Between segments lies coded data, where a byte 0xFF is followed by 0,
/// and markers without a segment.
fn next_marker(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let starts = |it: &[u8]| it[0] == 0xFF && !matches!(it[1], 0x00 | 0x01 | 0xD0..=0xD8 | 0xFF);
    let at = bytes.windows(2).position(starts)?;
    Some((bytes[at + 1], &bytes[at + 2..]))
}
