//! Limits of file sizes, and of the time to upload a file.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{FileType, MimeType};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The largest image that a platform fetches from the service's own URL. A function on Lambda
/// serves it in a response of at most 6 MB, in base64, which takes a third more. No such platform
/// shows more detail: Meta scales images down.
pub const MAX_FETCHED_PICTURE_BYTES: u64 = 4 * MIB;

pub const LINK_LIFETIME: Duration = Duration::from_hours(1);

/// A URL that expires during an upload does not end it. The largest file takes this long at 10 Mbit/s.
const SLOWEST_UPLOAD: TimeDelta = TimeDelta::minutes(15);

/// When a file whose upload was requested at this time has arrived, or never will.
pub fn last_upload_at(requested_at: DateTime<Utc>) -> DateTime<Utc> {
    requested_at + LINK_LIFETIME + SLOWEST_UPLOAD
}

/// The largest files, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MediaLimits {
    pub image: u64,
    pub gif: u64,
    pub video: u64,
    /// Videos that the service fetches. They pass through a function, which has less time than a
    /// user's own upload.
    pub fetched_video: u64,
    pub document: u64,
    /// Total size of a user's files that are not part of a published post.
    pub user_bytes: u64,
    /// Number of a user's files that are not part of a published post.
    pub user_files: u64,
}

impl Default for MediaLimits {
    fn default() -> Self {
        Self {
            image: 20 * MIB,
            gif: 40 * MIB,
            video: GIB,
            fetched_video: 256 * MIB,
            document: 100 * MIB,
            user_bytes: 10 * GIB,
            user_files: 1_000,
        }
    }
}

impl MediaLimits {
    pub fn max_bytes(&self, mime: MimeType, fetched: bool) -> u64 {
        match (mime, mime.file_type()) {
            (MimeType::Gif, _) => self.gif,
            (_, FileType::Image) => self.image,
            (_, FileType::Video) if fetched => self.fetched_video.min(self.video),
            (_, FileType::Video) => self.video,
            (_, FileType::Document) => self.document,
        }
    }
}

/// A size for people: `20 MiB`, `1.5 GiB`, `17 bytes`.
///
/// A fraction is rounded up, so that a file one byte over a limit does not look as large as the
/// limit.
pub fn human_size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        1 => return "1 byte".to_owned(),
        ..KIB => return format!("{bytes} bytes"),
        KIB..MIB => (KIB, "KiB"),
        MIB..GIB => (MIB, "MiB"),
        GIB.. => (GIB, "GiB"),
    };
    let (mut whole, rest) = (bytes / unit, bytes % unit);
    let mut tenths = (rest * 10).div_ceil(unit);
    if tenths == 10 {
        (whole, tenths) = (whole + 1, 0);
    }
    match tenths {
        0 => format!("{whole} {name}"),
        _ => format!("{whole}.{tenths} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_file_type_has_its_own_limit() {
        let limits = MediaLimits::default();
        let size = |mime, fetched| human_size(limits.max_bytes(mime, fetched));
        for fetched in [false, true] {
            for mime in [MimeType::Jpeg, MimeType::Png, MimeType::Webp] {
                assert_eq!(size(mime, fetched), "20 MiB");
            }
            assert_eq!(size(MimeType::Gif, fetched), "40 MiB");
            assert_eq!(size(MimeType::Pdf, fetched), "100 MiB");
        }
        for mime in [MimeType::Mp4, MimeType::Quicktime] {
            assert_eq!(size(mime, false), "1 GiB");
            assert_eq!(size(mime, true), "256 MiB");
        }
    }

    #[test]
    fn limit_of_fetched_videos_is_at_most_that_of_uploads() {
        let limits = MediaLimits { video: MIB, ..MediaLimits::default() };
        assert_eq!(limits.max_bytes(MimeType::Mp4, true), MIB);
    }

    #[test]
    fn human_size_has_a_unit_and_one_decimal() {
        let sizes = [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1_023, "1023 bytes"),
            (KIB, "1 KiB"),
            (MIB + MIB / 2, "1.5 MiB"),
            (20 * MIB, "20 MiB"),
            (20 * MIB + 1, "20.1 MiB"),
            (MIB - 1, "1024 KiB"),
            (GIB, "1 GiB"),
            (u64::MAX, "17179869184 GiB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(human_size(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn one_byte_over_a_whole_limit_reads_larger(mib in 1_u64..1_024) {
            prop_assert_ne!(human_size(mib * MIB + 1), human_size(mib * MIB));
        }
    }
}
