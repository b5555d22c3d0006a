//! The samples were made by `FFmpeg` 5.1 from its test image, and rotated by it and by `ExifTool`.

use proptest::prelude::*;

use super::super::VideoCodec;
use super::*;

const INDEX_LAST: &[u8] = include_bytes!("samples/index-last.mp4");
const TURNED: &[u8] = include_bytes!("samples/turned.mov");
const IN_FRAGMENTS: &[u8] = include_bytes!("samples/in-fragments.mp4");
const HEVC: &[u8] = include_bytes!("samples/hevc.mp4");
const SOUND_FIRST: &[u8] = include_bytes!("samples/sound-first.mp4");
const JPEG: &[u8] = include_bytes!("samples/turned.jpg");
const PNG: &[u8] = include_bytes!("samples/turned.png");
const WEBP: &[u8] = include_bytes!("samples/turned.webp");
const GIF: &[u8] = b"GIF89a\x20\0\x14\0\x80\0\0";

fn all_samples() -> [(MimeType, &'static [u8]); 9] {
    use MimeType::{Gif, Jpeg, Mp4, Png, Quicktime, Webp};
    [
        (Mp4, INDEX_LAST),
        (Quicktime, TURNED),
        (Mp4, IN_FRAGMENTS),
        (Mp4, HEVC),
        (Mp4, SOUND_FIRST),
        (Jpeg, JPEG),
        (Png, PNG),
        (Webp, WEBP),
        (Gif, GIF),
    ]
}

/// A file with a gap of unread bytes, so that its end lies in another part.
struct SparseFile<'a> {
    bytes: &'a [u8],
    /// Where the gap starts, and its length in bytes.
    gap: (usize, u64),
}

impl SparseFile<'_> {
    fn size(&self) -> u64 {
        self.bytes.len() as u64 + self.gap.1
    }

    fn read(&self, range: Range<u64>) -> Vec<u8> {
        let (cut, gap) = (self.gap.0 as u64, self.gap.1);
        let byte = |at: u64| match at {
            _ if at < cut => self.bytes[usize::try_from(at).unwrap()],
            _ if at < cut + gap => 0,
            _ => self.bytes[usize::try_from(at - gap).unwrap()],
        };
        (range.start..range.end.min(self.size())).map(byte).collect()
    }

    /// The properties, and the number of parts that were read for them.
    fn facts(&self, mime: MimeType) -> (Facts, usize) {
        let mut parts = Parts::new(self.size(), self.read(0..PART_BYTES as u64));
        for parts_read in 1..100 {
            match parts.facts(mime) {
                Ok(facts) => return (facts, parts_read),
                Err(missing) => {
                    assert!(!missing.is_empty() && missing.end <= self.size(), "{missing:?}");
                    assert!(missing.end - missing.start <= PART_BYTES as u64, "{missing:?}");
                    parts.add(missing.start, self.read(missing.clone()));
                }
            }
        }
        panic!("it asks without end")
    }
}

fn facts(mime: MimeType, bytes: &[u8]) -> Facts {
    let (facts, brought) = SparseFile { bytes, gap: (0, 0) }.facts(mime);
    assert_eq!(brought, 1, "small files are read at once");
    facts
}

fn shown(width: u32, height: u32) -> Option<Pixels> {
    Pixels::new(width, height)
}

#[test]
fn video_has_size_duration_frame_rate_and_codec() {
    let plain = Facts {
        pixels: shown(64, 48),
        duration_ms: Some(2_000),
        milli_frames_per_second: Some(25_000),
        codec: Some(VideoCodec::H264),
        document: None,
    };
    assert_eq!(facts(MimeType::Mp4, INDEX_LAST), plain);
    assert_eq!(facts(MimeType::Quicktime, TURNED), Facts { pixels: shown(48, 64), ..plain });
    assert_eq!(facts(MimeType::Mp4, HEVC), Facts { codec: Some(VideoCodec::Hevc), ..plain });
    let sound_first = facts(MimeType::Mp4, SOUND_FIRST);
    assert_eq!(Facts { duration_ms: plain.duration_ms, ..sound_first }, plain);
    assert!(sound_first.duration_ms.unwrap().abs_diff(2_000) < 100, "sound ends a little later");
    let in_fragments = facts(MimeType::Mp4, IN_FRAGMENTS);
    assert_eq!(in_fragments, Facts { duration_ms: None, milli_frames_per_second: None, ..plain });
}

#[test]
fn image_has_its_displayed_size() {
    for (mime, bytes) in [(MimeType::Jpeg, JPEG), (MimeType::Png, PNG), (MimeType::Webp, WEBP)] {
        assert_eq!(facts(mime, bytes), Facts { pixels: shown(20, 32), ..Facts::default() }, "{mime:?}");
    }
    assert_eq!(facts(MimeType::Gif, GIF).pixels, shown(32, 20));
}

#[test]
fn part_far_from_the_start_is_requested() {
    // `ftyp` and `free`, then `mdat` with its length, which is made longer.
    let mdat = INDEX_LAST.windows(4).position(|it| it == b"mdat").unwrap();
    let mut bytes = INDEX_LAST.to_vec();
    let gap = 900_000_000_u32;
    let length = u32::from_be_bytes(*bytes[mdat - 4..].first_chunk().unwrap()) + gap;
    bytes[mdat - 4..mdat].copy_from_slice(&length.to_be_bytes());
    let file = SparseFile { bytes: &bytes, gap: (mdat + 4, gap.into()) };

    let (facts, parts_read) = file.facts(MimeType::Mp4);

    assert_eq!((facts.pixels, facts.duration_ms, parts_read), (shown(64, 48), Some(2_000), 2));
}

#[test]
fn long_metadata_may_precede_the_size() {
    let segment = [&[0xFF, 0xE2, 0xFF, 0xFF][..], &vec![7; 65_533]].concat();
    let bytes = [&JPEG[..2], &segment, &segment, &segment, &JPEG[2..]].concat();

    let (facts, parts_read) = SparseFile { bytes: &bytes, gap: (0, 0) }.facts(MimeType::Jpeg);

    assert_eq!((facts.pixels, parts_read), (shown(20, 32), 4));
}

#[test]
fn short_part_is_not_requested_again() {
    let mut parts = Parts::new(1_000_000, INDEX_LAST[..40].to_vec());
    let missing = parts.facts(MimeType::Mp4).unwrap_err();
    parts.add(missing.start, Vec::new());
    assert_eq!(parts.facts(MimeType::Mp4), Ok(Facts::default()));
}

proptest! {
    #[test]
    fn any_bytes_are_probed_without_a_panic_or_endless_requests(
        (mime, bytes) in proptest::sample::select(all_samples().to_vec()),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<proptest::sample::Index>(),
        gap in prop_oneof![Just(0_u64), 1..1_000_000_u64],
    ) {
        let mut bytes = bytes.to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let file = SparseFile { bytes: &bytes, gap: (cut.index(bytes.len()), gap) };
        let (facts, _) = file.facts(mime);
        prop_assert!(facts.pixels.is_none_or(|it| 0 < it.count()));
    }
}
