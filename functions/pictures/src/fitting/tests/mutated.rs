//! Files of cameras and programs with random damage: a decoder or header reader may refuse or show
//! them, but must end in time and without a panic.
//!
//! The seeds show one image of 24 by 16 pixels, as written by the Python library Pillow. Proptest
//! keeps the failures that it finds in `proptest-regressions` and tries them first from then on.

use std::time::{Duration, Instant};

use domain::media::{MimeType, PictureBounds};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::fitting::{ResizeError, fitted};

/// Names, types and bytes.
const SEEDS: [(&str, MimeType, &[u8]); 13] = [
    ("progressive.jpg", MimeType::Jpeg, include_bytes!("seeds/progressive.jpg")),
    ("subsampled.jpg", MimeType::Jpeg, include_bytes!("seeds/subsampled.jpg")),
    ("grey.jpg", MimeType::Jpeg, include_bytes!("seeds/grey.jpg")),
    ("cmyk.jpg", MimeType::Jpeg, include_bytes!("seeds/cmyk.jpg")),
    ("palette.png", MimeType::Png, include_bytes!("seeds/palette.png")),
    ("bits.png", MimeType::Png, include_bytes!("seeds/bits.png")),
    ("fine.png", MimeType::Png, include_bytes!("seeds/fine.png")),
    ("moving.png", MimeType::Png, include_bytes!("seeds/moving.png")),
    ("lossy.webp", MimeType::Webp, include_bytes!("seeds/lossy.webp")),
    ("lossy-alpha.webp", MimeType::Webp, include_bytes!("seeds/lossy-alpha.webp")),
    ("lossless.webp", MimeType::Webp, include_bytes!("seeds/lossless.webp")),
    ("moving.webp", MimeType::Webp, include_bytes!("seeds/moving.webp")),
    ("moving.gif", MimeType::Gif, include_bytes!("seeds/moving.gif")),
];

const BOUNDS: PictureBounds = PictureBounds::new(10_000, 12);

/// Far longer than any of these takes. A file of few bytes may claim many pixels, within the limit
/// of what is decoded.
const IN_TIME: Duration = Duration::from_mins(1);

#[test]
fn every_seed_is_decoded_or_refused() {
    for (name, mime, bytes) in SEEDS {
        assert_eq!(MimeType::sniff(bytes), Some(mime), "{name}");
        let result = fitted(bytes.to_vec(), mime, BOUNDS);
        if name == "moving.gif" || name == "moving.webp" {
            assert!(matches!(result, Err(ResizeError::Unreadable(_))), "{name}: {result:?}");
        } else {
            assert_eq!(mime.picture_size(bytes), Some((24, 16)), "{name}");
            let picture = result.unwrap();
            assert_eq!((picture.width(), picture.height()), (12, 8), "{name}");
            assert!(picture.mime_type.is_bare_picture(&picture.bytes), "{name}");
        }
    }
}

/// One change of a file.
#[derive(Clone, Debug)]
enum FileMutation {
    Set(Index, u8),
    /// A length or a count becomes extreme.
    Extreme(Index, u32),
    Cut(Index, Index),
    Twice(Index, Index),
    End(Index),
    Insert(Index, Vec<u8>),
    /// A part of another file.
    Graft(Index, Index, Index),
}

impl FileMutation {
    fn to(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let range = |from: &Index, to: &Index| {
            let (one, other) = (from.index(bytes.len()), to.index(bytes.len()));
            one.min(other)..one.max(other)
        };
        match self {
            Self::Set(at, value) => {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            Self::Extreme(at, value) => {
                let at = at.index(bytes.len());
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&value.to_be_bytes()[..end - at]);
            }
            Self::Cut(from, to) => drop(bytes.drain(range(from, to))),
            Self::Twice(from, to) => {
                let again = bytes[range(from, to)].to_vec();
                bytes.extend(again);
            }
            Self::End(at) => bytes.truncate(at.index(bytes.len())),
            Self::Insert(at, more) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
            Self::Graft(seed, from, at) => {
                let other = seed.get(&SEEDS).2;
                let at = at.index(bytes.len());
                bytes.splice(at.., other[from.index(other.len())..].iter().copied());
            }
        }
    }
}

fn damage() -> impl Strategy<Value = FileMutation> {
    let index = any::<Index>;
    let extreme = prop_oneof![Just(0_u32), Just(1), Just(u32::MAX), Just(i32::MAX as u32), Just(0xFFFF), any::<u32>()];
    prop_oneof![
        4 => (index(), any::<u8>()).prop_map(|(at, value)| FileMutation::Set(at, value)),
        2 => (index(), extreme).prop_map(|(at, value)| FileMutation::Extreme(at, value)),
        1 => (index(), index()).prop_map(|(from, to)| FileMutation::Cut(from, to)),
        1 => (index(), index()).prop_map(|(from, to)| FileMutation::Twice(from, to)),
        1 => index().prop_map(FileMutation::End),
        1 => (index(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, more)| FileMutation::Insert(at, more)),
        1 => (index(), index(), index()).prop_map(|(seed, from, at)| FileMutation::Graft(seed, from, at)),
    ]
}

/// PNG has a checksum for each part; without valid ones, no damage would reach the code behind it.
fn fix_checksums(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(length) = bytes.get(at..at + 4).and_then(|it| it.first_chunk()).map(|it| u32::from_be_bytes(*it)) {
        let Some(end) = usize::try_from(length).ok().and_then(|it| (at + 8).checked_add(it)) else { return };
        if bytes.len() < end + 4 {
            return;
        }
        let sum = super::refused::crc(&bytes[at + 4..end]).to_be_bytes();
        bytes[end..end + 4].copy_from_slice(&sum);
        at = end + 4;
    }
}

fn check_no_panic(mime: MimeType, bytes: &[u8]) -> Result<(), TestCaseError> {
    let begun = Instant::now();
    let _ = MimeType::sniff(bytes);
    for mime in MimeType::ALL {
        let size = mime.picture_size(bytes);
        prop_assert!(!mime.is_bare_picture(bytes) || size.is_some());
    }
    if let Ok(picture) = fitted(bytes.to_vec(), mime, BOUNDS) {
        prop_assert!(picture.bytes.len() as u64 <= BOUNDS.max_bytes);
        prop_assert!(picture.width().max(picture.height()) <= BOUNDS.max_side);
        prop_assert!(picture.mime_type.is_bare_picture(&picture.bytes));
    }
    prop_assert!(begun.elapsed() < IN_TIME, "it took {:?}", begun.elapsed());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn damaged_image_never_panics(
        seed in any::<Index>(),
        damages in prop::collection::vec(damage(), 1..6),
        is_summed in any::<bool>(),
    ) {
        let (_, mime, bytes) = *seed.get(&SEEDS);
        let mut bytes = bytes.to_vec();
        for damage in damages {
            damage.to(&mut bytes);
        }
        if is_summed && mime == MimeType::Png {
            fix_checksums(&mut bytes);
        }
        check_no_panic(mime, &bytes)?;
    }

    #[test]
    fn damaged_video_never_panics(
        start in prop::sample::select(vec![
            b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41".to_vec(),
            b"\0\0\0\x14ftypqt  \0\0\x02\0qt  \0\0\0\x08wide".to_vec(),
            b"GIF89a\x01\0\x01\0\x80\0\0".to_vec(),
        ]),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        let mut bytes = start;
        for damage in damages {
            damage.to(&mut bytes);
        }
        let mime = MimeType::sniff(&bytes).unwrap_or(MimeType::Mp4);
        check_no_panic(mime, &bytes)?;
    }
}
