//! Properties of an image, read without decoding it. Every length in a file is checked against the
//! bytes that are there, so that the cost is proportional to the size of the file.

use super::jpeg::JpegOutline;
use super::{MimeType, png, webp};

/// Bytes from the start of an image that are read for its size. A JPEG may have more metadata
/// before the size, but most have less.
pub const HEADER_BYTES: usize = 64 << 10;

impl MimeType {
    /// Width and height in pixels, from the first bytes of an image of this type; `None` when they
    /// do not contain the size, or when the image cannot be made to fit. [`HEADER_BYTES`] are
    /// enough for most files.
    pub fn picture_size(self, first_bytes: &[u8]) -> Option<(u32, u32)> {
        match self {
            Self::Jpeg => self.matches(first_bytes).then(|| JpegOutline::parse(first_bytes).size).flatten(),
            Self::Png => png::size(first_bytes),
            Self::Webp => webp::size(first_bytes),
            Self::Gif | Self::Mp4 | Self::Quicktime | Self::Pdf => None,
        }
    }

    /// Whether a file of this type contains one still image and nothing else: no location, camera,
    /// comment or preview, and nothing after its end. True only for some JPEG and PNG files.
    pub fn is_bare_picture(self, bytes: &[u8]) -> bool {
        match self {
            Self::Jpeg => JpegOutline::parse(bytes).is_bare,
            Self::Png => png::is_bare(bytes),
            Self::Webp | Self::Gif | Self::Mp4 | Self::Quicktime | Self::Pdf => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len() + 2).unwrap().to_be_bytes();
        [&[0xFF, marker], &length[..], content].concat()
    }

    fn jpeg(more: &[u8], behind: &[u8]) -> Vec<u8> {
        let frame = [8, 0, 200, 1, 44, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0];
        [
            &[0xFF, 0xD8],
            &segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0")[..],
            more,
            &segment(0xDB, &[0; 65]),
            &segment(0xC0, &frame),
            &segment(0xC4, &[0; 20]),
            &segment(0xDA, &[1, 1, 0, 0, 63, 0]),
            b"coded \xFF\0 data \xFF\xD0 and more",
            &[0xFF, 0xD9],
            behind,
        ]
        .concat()
    }

    fn chunk(name: &str, content: &[u8]) -> Vec<u8> {
        let named = [name.as_bytes(), content].concat();
        let length = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&length[..], &named, &crc32fast::hash(&named).to_be_bytes()].concat()
    }

    fn png(more: &[u8], behind: &[u8]) -> Vec<u8> {
        let header = [&300_u32.to_be_bytes()[..], &200_u32.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
        let parts = [chunk("IHDR", &header), more.to_vec(), chunk("IDAT", b"pixels"), chunk("IEND", b"")].concat();
        [b"\x89PNG\r\n\x1A\n", &parts[..], behind].concat()
    }

    fn webp(name: &str, content: &[u8]) -> Vec<u8> {
        [b"RIFF\x30\0\0\0WEBP", name.as_bytes(), b"\x20\0\0\0", content].concat()
    }

    fn webps() -> [Vec<u8>; 3] {
        let bits = (299_u32 + (199 << 14)).to_le_bytes();
        [
            webp("VP8 ", &[0x10, 0, 0, 0x9D, 1, 0x2A, 44, 0x41, 200, 0]),
            webp("VP8L", &[&[0x2F], &bits[..]].concat()),
            webp("VP8X", &[0, 0, 0, 0, 43, 1, 0, 199, 0, 0]),
        ]
    }

    #[test]
    fn image_size_is_read_from_the_header() {
        assert_eq!(MimeType::Jpeg.picture_size(&jpeg(b"", b"")), Some((300, 200)));
        assert_eq!(MimeType::Png.picture_size(&png(b"", b"")), Some((300, 200)));
        for file in webps() {
            assert_eq!(MimeType::Webp.picture_size(&file), Some((300, 200)), "{file:?}");
        }
        assert_eq!(MimeType::Gif.picture_size(b"GIF89a\x01\0\x01\0"), None);
        assert_eq!(MimeType::Png.picture_size(&jpeg(b"", b"")), None);
        assert_eq!(MimeType::Jpeg.picture_size(&png(b"", b"")), None);
    }

    #[test]
    fn only_an_image_without_extra_data_is_bare() {
        let profile = segment(0xE2, b"ICC_PROFILE\0\x01\x01a profile");
        for more in [&b""[..], &profile] {
            assert!(MimeType::Jpeg.is_bare_picture(&jpeg(more, b"")));
        }
        let camera = segment(0xE1, b"Exif\0\0MM\0\x2A");
        let preview = segment(0xE0, b"JFXX\0\x10");
        for (more, behind) in [
            (&camera[..], &b""[..]),
            (&preview, b""),
            (&segment(0xFE, b"by me"), b""),
            (&segment(0xED, b"Photoshop 3.0\0"), b""),
            (b"hidden", b""),
            (b"", b"a film"),
        ] {
            assert!(!MimeType::Jpeg.is_bare_picture(&jpeg(more, behind)), "{more:?}");
        }

        assert!(MimeType::Png.is_bare_picture(&png(&chunk("gAMA", &[0; 4]), b"")));
        for (more, behind) in [
            (chunk("tEXt", b"by me"), &b""[..]),
            (chunk("eXIf", b"MM\0\x2A"), b""),
            (chunk("acTL", &[0; 8]), b""),
            (Vec::new(), b"more"),
        ] {
            assert!(!MimeType::Png.is_bare_picture(&png(&more, behind)), "{more:?}");
        }
        for file in webps() {
            assert!(!MimeType::Webp.is_bare_picture(&file));
        }
    }

    #[test]
    fn truncated_or_damaged_image_is_not_bare() {
        for (mime, whole) in [(MimeType::Jpeg, jpeg(b"", b"")), (MimeType::Png, png(b"", b""))] {
            for length in 0..whole.len() {
                assert!(!mime.is_bare_picture(&whole[..length]), "{mime:?} {length}");
                let _ = mime.picture_size(&whole[..length]);
            }
        }
        let whole = png(b"", b"");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            assert!(!MimeType::Png.is_bare_picture(&damaged), "{at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(
            mime in proptest::sample::select(MimeType::ALL.to_vec()),
            start in proptest::sample::select(vec![
                Vec::new(), jpeg(b"", b""), png(b"", b""), webps()[0].clone(), webps()[1].clone(), webps()[2].clone(),
            ]),
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8),
            rest in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut bytes = [start, rest].concat();
            for (at, value) in changes {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = value;
                }
            }
            let size = mime.picture_size(&bytes);
            prop_assert!(size.is_none_or(|(width, height)| 0 < width && 0 < height));
            prop_assert!(!mime.is_bare_picture(&bytes) || size.is_some());
            let _ = MimeType::sniff(&bytes);
        }
    }
}
