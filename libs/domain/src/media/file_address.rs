//! Public URLs of files, valid for a limited time, for platforms that fetch files themselves.
//!
//! A URL is short and has no query, because Meta refuses long URLs and those of object storage
//! without fetching them. The path names the file and the expiry and has a MAC of both, so that
//! nothing is stored for it. Deleting a file ends its URLs.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use ring::hmac::{HMAC_SHA256, Key, sign};
use subtle::ConstantTimeEq;

use super::{DerivedPath, MediaPath, MimeType};
use crate::id::UserId;
use crate::token::random_bytes;

/// Characters of a MAC: 132 bits of the 256, in URL-safe base64.
const MAC_LENGTH: usize = 22;

/// The secret that signs and verifies URLs. `Debug` does not show it.
#[derive(Clone)]
pub struct FileKey(Key);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have at least {} characters; generate one with: openssl rand -hex 32", FileKey::MIN_LENGTH)]
pub struct ShortFileSecret;

impl FileKey {
    pub const MIN_LENGTH: usize = 32;

    /// The key has the bytes of the text.
    pub fn new(secret: &str) -> Result<Self, ShortFileSecret> {
        if secret.len() < Self::MIN_LENGTH {
            return Err(ShortFileSecret);
        }
        Ok(Self(Key::new(HMAC_SHA256, secret.as_bytes())))
    }

    /// A key that is valid as long as this process runs.
    pub fn random() -> Self {
        Self(Key::new(HMAC_SHA256, &random_bytes::<32>()))
    }

    fn mac(&self, signed: &str) -> String {
        let mut mac = URL_SAFE_NO_PAD.encode(sign(&self.0, signed.as_bytes()));
        mac.truncate(MAC_LENGTH);
        mac
    }
}

impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileKey(..)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicFile {
    Original(MediaPath),
    Derived(DerivedPath, MimeType),
}

impl PublicFile {
    pub fn bucket_key(&self) -> String {
        match self {
            Self::Original(path) => path.to_string(),
            Self::Derived(path, _) => path.to_string(),
        }
    }

    pub const fn mime_type(&self) -> MimeType {
        match self {
            Self::Original(path) => path.mime(),
            Self::Derived(_, mime_type) => *mime_type,
        }
    }

    /// `{user}/{media id}.{extension}`, or `{user}/{media id}-{hash}.{extension}`.
    fn name(&self) -> String {
        let extension = self.mime_type().extension();
        match self {
            Self::Original(path) => format!("{}/{}.{extension}", path.user(), path.media()),
            Self::Derived(path, _) => format!("{}/{}.{extension}", path.user(), path.name()),
        }
    }

    fn read(name: &str) -> Option<Self> {
        let original = MediaPath::parse(&format!("media/{name}"));
        original.ok().map(Self::Original).or_else(|| Self::parse_derived(name))
    }

    fn parse_derived(name: &str) -> Option<Self> {
        let (user, file) = name.split_once('/')?;
        let (derived, extension) = file.split_once('.')?;
        let mime_type = MimeType::from_extension(extension)?;
        let is_made = matches!(mime_type, MimeType::Jpeg | MimeType::Png);
        let path = DerivedPath::read(UserId::parse(user)?, derived)?;
        is_made.then_some(Self::Derived(path, mime_type))
    }
}

/// The path `/files/{MAC}/{end}/{user}/{name}.{extension}`, where the end is in seconds since 1970.
/// The function in `infra/edge.yaml` parses the same paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAddress {
    pub file: PublicFile,
    /// In whole seconds.
    pub expires_at: DateTime<Utc>,
}

impl FileAddress {
    pub const PREFIX: &str = "/files/";

    /// Every path is shorter, so a longer text is refused unread.
    pub const MAX_BYTES: usize = 120;

    pub fn path(&self, key: &FileKey) -> String {
        let signed = self.signed();
        format!("{}{}/{signed}", Self::PREFIX, key.mac(&signed))
    }

    fn signed(&self) -> String {
        format!("{}/{}", self.expires_at.timestamp(), self.file.name())
    }

    /// Verifies a path exactly as it was requested: not decoded, with its query if it has one.
    /// `None` if it was not made with this key, has another spelling, or has expired.
    pub fn verify(path: &str, key: &FileKey, now: DateTime<Utc>) -> Option<Self> {
        if Self::MAX_BYTES < path.len() {
            return None;
        }
        let (mac, signed) = path.strip_prefix(Self::PREFIX)?.split_once('/')?;
        if !bool::from(key.mac(signed).as_bytes().ct_eq(mac.as_bytes())) {
            return None;
        }
        let (end, name) = signed.split_once('/')?;
        let expires_at = DateTime::from_timestamp(end.parse().ok()?, 0)?;
        let address = Self { file: PublicFile::read(name)?, expires_at };
        (address.signed() == signed && now < expires_at).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::id::MediaId;
    use crate::media::{PictureBounds, PictureRequest};
    use crate::testing::noon;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn key() -> FileKey {
        FileKey::new(SECRET).unwrap()
    }

    fn original(raw: &str) -> PublicFile {
        PublicFile::Original(MediaPath::parse(raw).unwrap())
    }

    fn derived(raw: &str, mime_type: MimeType) -> PublicFile {
        let file = MediaPath::parse(raw).unwrap();
        PublicFile::Derived(PictureRequest { file, bounds: PictureBounds::new(1, 2) }.answered_at(), mime_type)
    }

    fn in_an_hour(file: PublicFile) -> FileAddress {
        FileAddress { file, expires_at: noon() + TimeDelta::hours(1) }
    }

    #[test]
    fn path_is_short_and_ends_in_the_extension() {
        let path = in_an_hour(original("media/7/42.mp4")).path(&key());
        assert!(path.starts_with("/files/") && path.ends_with("/7/42.mp4"), "{path}");

        let path = in_an_hour(derived("media/9007199254740991/42.webp", MimeType::Jpeg)).path(&key());
        assert!(path.len() <= FileAddress::MAX_BYTES, "{path}");
        assert_eq!(path.rsplit('.').next(), Some("jpg"));
        assert!(path.bytes().all(|it| it.is_ascii_alphanumeric() || b"/-_.".contains(&it)), "{path}");
    }

    #[test]
    fn mac_matches_openssl() {
        // printf 1790000000/7/42.png | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
        // -binary
        let address = FileAddress {
            file: original("media/7/42.png"),
            expires_at: DateTime::from_timestamp(1_790_000_000, 0).unwrap(),
        };
        assert_eq!(address.path(&key()), "/files/1NrfPaJsLGP0-3Eo9TrAMf/1790000000/7/42.png");
    }

    #[test]
    fn path_is_valid_until_it_expires() {
        for file in [
            original("media/7/42.png"),
            original("media/7/42.mov"),
            derived("media/7/42.png", MimeType::Png),
            derived("media/7/42.png", MimeType::Jpeg),
        ] {
            let address = in_an_hour(file);
            let path = address.path(&key());
            let last = address.expires_at - TimeDelta::milliseconds(1);
            assert_eq!(FileAddress::verify(&path, &key(), noon()), Some(address));
            assert_eq!(FileAddress::verify(&path, &key(), last), Some(address));
            assert_eq!(FileAddress::verify(&path, &key(), address.expires_at), None);
        }
        assert_eq!(original("media/7/42.png").bucket_key(), "media/7/42.png");
        assert!(derived("media/7/42.png", MimeType::Png).bucket_key().starts_with("derived/7/42-"));
    }

    #[test]
    fn mac_covers_file_expiry_and_key() {
        let path = in_an_hour(original("media/7/42.png")).path(&key());
        let [mac, end] = [path[7..29].to_owned(), path[30..40].to_owned()];
        let other = FileKey::new("another secret of 32 characters.").unwrap();
        assert_eq!(FileAddress::verify(&path, &other, noon()), None);
        let later = end.parse::<u64>().unwrap() + 1;
        for forged in [
            format!("/files/{mac}/{end}/7/43.png"),
            format!("/files/{mac}/{end}/8/42.png"),
            format!("/files/{mac}/{end}/7/42.jpg"),
            format!("/files/{mac}/{later}/7/42.png"),
            format!("/files/{}/{end}/7/42.png", &mac[..21]),
            format!("/files//{end}/7/42.png"),
            format!("/files/{end}/7/42.png"),
        ] {
            assert_eq!(FileAddress::verify(&forged, &key(), noon()), None, "{forged}");
        }
    }

    /// Even a text with a valid MAC opens no file if the service would not write it like this.
    #[test]
    fn signed_text_that_is_not_a_path_is_refused() {
        let end = (noon() + TimeDelta::hours(1)).timestamp();
        for name in [
            "7/../8/42.png",
            "7/42.png?x",
            "7/42.PNG",
            "7/042.png",
            "07/42.png",
            "7/42",
            "7/%34.png",
            "7/42.png/",
            "7/42-0123456789abcdef0123456789abcdef.gif",
            "7/42-0123456789abcdef0123456789ABCDEF.png",
            "7/042-0123456789abcdef0123456789abcdef.png",
            "7/0123456789abcdef0123456789abcdef.png",
            "7/42-0123456789abcdef.png",
            "",
            "/",
            "//",
        ] {
            let signed = format!("{end}/{name}");
            let path = format!("/files/{}/{signed}", key().mac(&signed));
            assert_eq!(FileAddress::verify(&path, &key(), noon()), None, "{name}");
        }
        for end in [format!("+{end}"), format!("0{end}"), format!("{end}.0"), String::new()] {
            let signed = format!("{end}/7/42.png");
            let path = format!("/files/{}/{signed}", key().mac(&signed));
            assert_eq!(FileAddress::verify(&path, &key(), noon()), None, "{end}");
        }
        let long = format!("{end}/7/42.png{}", "x".repeat(100));
        assert_eq!(FileAddress::verify(&format!("/files/{}/{long}", key().mac(&long)), &key(), noon()), None);
    }

    #[test]
    fn key_is_not_shown_and_short_secret_is_refused() {
        assert_eq!(format!("{:?}", key()), "FileKey(..)");
        let short = FileKey::new(&SECRET[1..]).unwrap_err();
        assert!(short.to_string().contains("at least 32 characters"), "{short}");
    }

    fn files() -> impl Strategy<Value = PublicFile> {
        let ids = (1_u64..1 << 53, 1_u64..1 << 53);
        (ids, proptest::sample::select(MimeType::ALL.to_vec()), any::<(u64, u32, bool)>()).prop_map(
            |((user, media), mime, (max_bytes, max_side, is_derived))| {
                let file = MediaPath::new(UserId::new(user).unwrap(), MediaId::new(media).unwrap(), mime);
                if !is_derived {
                    return PublicFile::Original(file);
                }
                let derived_type = if max_side % 2 == 0 { MimeType::Png } else { MimeType::Jpeg };
                let bounds = PictureBounds::new(max_bytes, max_side);
                PublicFile::Derived(PictureRequest { file, bounds }.answered_at(), derived_type)
            },
        )
    }

    proptest! {
        #[test]
        fn created_path_verifies(file in files(), seconds in 1_i64..1 << 32) {
            let expires_at = DateTime::from_timestamp(seconds, 0).unwrap();
            let (address, key) = (FileAddress { file, expires_at }, FileKey::random());
            let path = address.path(&key);
            prop_assert!(path.len() <= FileAddress::MAX_BYTES);
            prop_assert_eq!(FileAddress::verify(&path, &key, expires_at - TimeDelta::seconds(1)), Some(address));
            prop_assert_eq!(FileAddress::verify(&path, &key, expires_at), None);
            prop_assert_eq!(FileAddress::verify(&path, &FileKey::random(), noon()), None);
        }

        /// There is one spelling: a change of any character makes a path invalid.
        #[test]
        fn path_with_a_changed_character_is_refused(
            file in files(), at in any::<proptest::sample::Index>(), other in any::<char>(), insert in any::<bool>(),
        ) {
            let address = in_an_hour(file);
            let path: Vec<char> = address.path(&key()).chars().collect();
            let mut changed = path.clone();
            let at = at.index(path.len());
            if insert { changed.insert(at, other) } else { changed[at] = other }
            prop_assume!(changed != path);
            let changed: String = changed.into_iter().collect();
            prop_assert_eq!(FileAddress::verify(&changed, &key(), noon()), None);
        }

        #[test]
        fn reading_never_panics(raw in "(/files/)?.{0,140}") {
            let _ = FileAddress::verify(&raw, &key(), noon());
        }
    }
}
