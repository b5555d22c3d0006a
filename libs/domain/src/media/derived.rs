//! Pictures made from other pictures: within which bounds, and where they are.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::MediaPath;
use crate::id::UserId;

/// What a platform takes of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PictureBounds {
    /// The largest file.
    pub max_bytes: u64,
    /// The longest side, in pixels.
    pub max_side: u32,
}

/// A picture to be made: this file within these bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PictureRequest {
    /// What was uploaded. It never changes.
    pub file: MediaPath,
    /// What is to come of it.
    pub bounds: PictureBounds,
}

/// Where what came of a [`PictureRequest`] is: `derived/{user}/{hash}`. It
/// follows from the request, so that whoever asks and whoever answers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DerivedPath {
    user: UserId,
    hash: [u8; 32],
}

/// What a file is made with. Another number makes every picture anew.
const EDITION: u32 = 1;

impl PictureRequest {
    /// Where its answer is.
    pub fn answered_at(&self) -> DerivedPath {
        let PictureBounds { max_bytes, max_side } = self.bounds;
        let asked = format!("{EDITION}\n{}\n{max_bytes}\n{max_side}", self.file);
        DerivedPath { user: self.file.user(), hash: Sha256::digest(asked).into() }
    }
}

impl fmt::Display for DerivedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "derived/{}/", self.user)?;
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(file: &str, max_bytes: u64, max_side: u32) -> PictureRequest {
        PictureRequest { file: MediaPath::parse(file).unwrap(), bounds: PictureBounds { max_bytes, max_side } }
    }

    #[test]
    fn the_same_file_and_bounds_are_answered_at_one_place_and_others_elsewhere() {
        let asked = request("media/7/42.png", 1_000_000, 4_000);
        let place = asked.answered_at().to_string();

        let name = place.strip_prefix("derived/7/").unwrap();
        assert!(name.len() == 64 && name.bytes().all(|it| it.is_ascii_hexdigit()), "{place}");
        assert_eq!(asked.answered_at().to_string(), place);
        for other in [
            request("media/7/42.jpg", 1_000_000, 4_000),
            request("media/7/43.png", 1_000_000, 4_000),
            request("media/8/42.png", 1_000_000, 4_000),
            request("media/7/42.png", 2_000_000, 4_000),
            request("media/7/42.png", 1_000_000, 4_001),
            request("media/7/42.png", 100_000, 14_000),
        ] {
            assert_ne!(other.answered_at().to_string(), place, "{other:?}");
        }
    }

    #[test]
    fn a_request_reads_back_as_it_was_sent() {
        let asked = request("media/7/42.webp", 1, 2);
        let sent = serde_json::to_string(&asked).unwrap();
        assert_eq!(sent, r#"{"file":"media/7/42.webp","bounds":{"max_bytes":1,"max_side":2}}"#);
        assert_eq!(serde_json::from_str::<PictureRequest>(&sent).unwrap(), asked);
    }
}
