//! The reference by which posts name a file, which is also its key in the bucket.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::MimeType;
use crate::id::{MediaId, UserId};

/// `media/{user}/{media id}.{ext}`.
///
/// A file has exactly one path: parsing accepts only the spelling that this type writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MediaPath {
    user: UserId,
    media: MediaId,
    mime: MimeType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("is not a path that POST /media returned")]
pub struct InvalidMediaPath;

impl MediaPath {
    /// Every path is shorter, so a longer text is refused unread.
    pub const MAX_BYTES: usize = 100;

    pub const fn new(user: UserId, media: MediaId, mime: MimeType) -> Self {
        Self { user, media, mime }
    }

    pub fn parse(raw: &str) -> Result<Self, InvalidMediaPath> {
        Self::read(raw).ok_or(InvalidMediaPath)
    }

    fn read(raw: &str) -> Option<Self> {
        if Self::MAX_BYTES < raw.len() {
            return None;
        }
        let (user, file) = raw.strip_prefix("media/")?.split_once('/')?;
        let (media, extension) = file.split_once('.')?;
        Some(Self {
            user: UserId::parse(user)?,
            media: MediaId::parse(media)?,
            mime: MimeType::from_extension(extension)?,
        })
    }

    pub fn folder(user: UserId) -> String {
        format!("media/{user}/")
    }

    pub const fn user(self) -> UserId {
        self.user
    }

    pub const fn media(self) -> MediaId {
        self.media
    }

    pub const fn mime(self) -> MimeType {
        self.mime
    }
}

impl fmt::Display for MediaPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "media/{}/{}.{}", self.user, self.media, self.mime.extension())
    }
}

impl TryFrom<String> for MediaPath {
    type Error = InvalidMediaPath;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        Self::parse(&raw)
    }
}

impl From<MediaPath> for String {
    fn from(path: MediaPath) -> Self {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn path_contains_owner_file_and_type() {
        let path = MediaPath::parse("media/7/42.mov").unwrap();
        assert_eq!((path.user().get(), path.media().get()), (7, 42));
        assert_eq!(path.mime(), MimeType::Quicktime);
    }

    #[test]
    fn only_the_canonical_path_is_parsed() {
        let long = format!("media/7/{}.png", "4".repeat(100));
        let wrong = [
            "",
            "media",
            "media/7",
            "media/7/42",
            "media/7/42.",
            "/media/7/42.png",
            "media/7/42.png/",
            "media//7/42.png",
            "media/07/42.png",
            "media/7/042.png",
            "media/0/42.png",
            "media/-7/42.png",
            "media/+7/42.png",
            "media/7/42.PNG",
            "media/7/42.jpeg",
            "media/7/42.svg",
            "media/7/42.png.png",
            "media/7/../8/42.png",
            "media/7/%34.png",
            "media/7/42.png?x",
            " media/7/42.png",
            "media/7/42.png\n",
            "Media/7/42.png",
            "media/٧/42.png",
            "media/9007199254740992/42.png",
            &long,
        ];
        for raw in wrong {
            assert_eq!(MediaPath::parse(raw), Err(InvalidMediaPath), "{raw}");
        }
    }

    #[test]
    fn stored_path_is_its_text() {
        let path = MediaPath::parse("media/7/42.png").unwrap();
        let stored = serde_json::to_value(path).unwrap();
        assert_eq!(stored, "media/7/42.png");
        assert_eq!(serde_json::from_value::<MediaPath>(stored).unwrap(), path);
        assert!(serde_json::from_str::<MediaPath>("\"media/7/42\"").is_err());
    }

    proptest! {
        #[test]
        fn displayed_path_parses_back(
            user in 1_u64..1 << 53,
            media in 1_u64..1 << 53,
            mime in proptest::sample::select(MimeType::ALL.to_vec()),
        ) {
            let path = MediaPath::new(UserId::new(user).unwrap(), MediaId::new(media).unwrap(), mime);
            prop_assert!(path.to_string().len() <= MediaPath::MAX_BYTES);
            prop_assert_eq!(MediaPath::parse(&path.to_string()), Ok(path));
        }

        #[test]
        fn parsed_path_is_displayed_unchanged(
            raw in "media/[0-9]{1,3}/[0-9]{1,3}\\.(jpe?g|png|gif|webp|mp4|mov|pdf)",
        ) {
            if let Ok(path) = MediaPath::parse(&raw) {
                prop_assert_eq!(path.to_string(), raw);
            }
        }

        #[test]
        fn reading_never_panics(raw in "(media/)?.{0,120}") {
            let _ = MediaPath::parse(&raw);
        }
    }
}
