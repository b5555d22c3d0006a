//! The types of files, and how the first bytes of a file determine its type.

use serde::{Deserialize, Serialize};

/// Bytes from the start of a file that are needed to recognize its type.
pub const SNIFF_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MimeType {
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/png")]
    Png,
    /// Animated or not.
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
    #[serde(rename = "video/mp4")]
    Mp4,
    #[serde(rename = "video/quicktime")]
    Quicktime,
    #[serde(rename = "application/pdf")]
    Pdf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    /// Includes GIFs.
    Image,
    Video,
    Document,
}

impl FileType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Video => "video",
            Self::Document => "document",
        }
    }
}

impl MimeType {
    /// All types, in the order in which they are shown.
    pub const ALL: [Self; 7] = [Self::Jpeg, Self::Png, Self::Gif, Self::Webp, Self::Mp4, Self::Quicktime, Self::Pdf];

    /// [`MimeType::ALL`] without documents, which fewer platforms accept.
    pub const IMAGES_AND_VIDEOS: [Self; 6] = [Self::Jpeg, Self::Png, Self::Gif, Self::Webp, Self::Mp4, Self::Quicktime];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Mp4 => "video/mp4",
            Self::Quicktime => "video/quicktime",
            Self::Pdf => "application/pdf",
        }
    }

    /// Parses a type that is written exactly like [`MimeType::as_str`].
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == raw)
    }

    /// Without the dot. Each type has its own.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Gif => "gif",
            Self::Webp => "webp",
            Self::Mp4 => "mp4",
            Self::Quicktime => "mov",
            Self::Pdf => "pdf",
        }
    }

    pub(super) fn from_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.extension() == extension)
    }

    pub const fn file_type(self) -> FileType {
        match self {
            Self::Jpeg | Self::Png | Self::Gif | Self::Webp => FileType::Image,
            Self::Mp4 | Self::Quicktime => FileType::Video,
            Self::Pdf => FileType::Document,
        }
    }

    /// The type of a file with these first bytes; `None` when it is not one of [`MimeType::ALL`].
    /// [`SNIFF_BYTES`] bytes are always enough.
    pub fn sniff(first_bytes: &[u8]) -> Option<Self> {
        match first_bytes {
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Self::Png),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Self::Pdf),
            _ => type_from_first_box(first_bytes),
        }
    }

    pub fn matches(self, first_bytes: &[u8]) -> bool {
        Self::sniff(first_bytes) == Some(self)
    }
}

/// The type of an MP4 or `QuickTime` file. Such a file is a sequence of boxes: four bytes of
/// length, four bytes of name, and content. In newer files, the first box names the brand, which
/// determines the type.
fn type_from_first_box(first_bytes: &[u8]) -> Option<MimeType> {
    let (length, rest) = first_bytes.split_first_chunk::<4>()?;
    let (name, content) = rest.split_first_chunk::<4>()?;
    // The length includes the header of the box, so 2 to 7 are impossible. 0 means "until the end
    // of the file", and 1 means "the length follows in eight bytes".
    if (2..8).contains(&u32::from_be_bytes(*length)) {
        return None;
    }
    match name {
        b"ftyp" => brand(*content.first_chunk()?),
        // Older QuickTime files have no brand and start with one of these boxes.
        b"moov" | b"mdat" | b"wide" | b"free" | b"skip" | b"pnot" => Some(MimeType::Quicktime),
        _ => None,
    }
}

fn brand(brand: [u8; 4]) -> Option<MimeType> {
    match &brand {
        b"qt  " => Some(MimeType::Quicktime),
        // This container also holds images (HEIF, AVIF, Canon's raw format) and audio, which
        // are not videos.
        b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"hevm" | b"hevs" | b"mif1" | b"mif2" | b"msf1"
        | b"avif" | b"avis" | b"crx " | b"M4A " | b"M4B " | b"M4P " => None,
        _ => Some(MimeType::Mp4),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn webp() -> Vec<u8> {
        b"RIFF\x24\x00\x00\x00WEBPVP8 ".to_vec()
    }

    fn boxed(name: &[u8], content: &[u8]) -> Vec<u8> {
        [&[0, 0, 0, 0x20], name, content].concat()
    }

    #[test]
    fn every_type_is_recognized_by_its_first_bytes_only() {
        let samples = [
            (MimeType::Jpeg, b"\xFF\xD8\xFF\xE0\x00\x10JFIF".to_vec()),
            (MimeType::Png, b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR".to_vec()),
            (MimeType::Gif, b"GIF87a".to_vec()),
            (MimeType::Gif, b"GIF89a".to_vec()),
            (MimeType::Webp, webp()),
            (MimeType::Mp4, boxed(b"ftyp", b"isom\0\0\x02\0")),
            (MimeType::Mp4, boxed(b"ftyp", b"mp42\0\0\0\0")),
            (MimeType::Quicktime, boxed(b"ftyp", b"qt  \0\0\x02\0")),
            (MimeType::Quicktime, boxed(b"moov", b"")),
            (MimeType::Quicktime, b"\0\0\0\x08wide\0\0\0\0mdat".to_vec()),
            (MimeType::Quicktime, b"\0\0\0\x01mdat\0\0\0\0\0\x01\0\0".to_vec()),
            (MimeType::Quicktime, boxed(b"free", b"")),
            (MimeType::Pdf, b"%PDF-1.7\n".to_vec()),
        ];
        for (mime, bytes) in samples {
            for other in MimeType::ALL {
                assert_eq!(other.matches(&bytes), other == mime, "{other:?} on {bytes:?}");
            }
        }
    }

    #[test]
    fn unsupported_type_is_not_recognized() {
        let samples: [&[u8]; 9] = [
            b"",
            b"GIF88a",
            b"<!doctype html><html><body>",
            b"<svg xmlns='http://www.w3.org/2000/svg'>",
            b"%PDF1.7",
            b"RIFF\x24\0\0\0WAVEfmt ",
            b"\0\0\0\x20ftypheic\0\0\0\0",
            b"\0\0\0\x20ftypM4A \0\0\0\0",
            b"\0\0\0\x04ftypisom\0\0\0\0",
        ];
        for bytes in samples {
            assert_eq!(MimeType::sniff(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn truncated_file_is_not_recognized() {
        let whole = boxed(b"ftyp", b"isom");
        for length in 0..whole.len() {
            assert_eq!(MimeType::sniff(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn type_has_one_spelling() {
        for mime in MimeType::ALL {
            assert_eq!(MimeType::parse(mime.as_str()), Some(mime));
            assert_eq!(serde_json::to_value(mime).unwrap(), mime.as_str());
            let kind = match mime.as_str().split_once('/').unwrap().0 {
                "application" => "document",
                kind => kind,
            };
            assert_eq!(mime.file_type().as_str(), kind);
            assert_eq!(serde_json::to_value(mime.file_type()).unwrap(), kind);
        }
        for raw in ["", "image/jpg", "IMAGE/PNG", "image/png ", "image/svg+xml", "video/webm"] {
            assert_eq!(MimeType::parse(raw), None, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn the_bytes_after_the_first_ones_change_nothing(
            start in proptest::sample::select(vec![
                b"\xFF\xD8\xFF".to_vec(), b"GIF8".to_vec(), webp(), boxed(b"ftyp", b""), boxed(b"moov", b""),
            ]),
            rest in proptest::collection::vec(any::<u8>(), SNIFF_BYTES..64),
        ) {
            let bytes = [start, rest].concat();
            prop_assert_eq!(MimeType::sniff(&bytes), MimeType::sniff(&bytes[..SNIFF_BYTES]));
        }

        #[test]
        fn later_bytes_of_an_image_do_not_change_its_type(
            rest in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            prop_assert!(MimeType::Webp.matches(&[webp(), rest].concat()));
        }
    }
}
