//! What is derived from uploads, images and facts of documents: how it is requested, and its keys in the bucket.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{MediaPath, MimeType, Pixels, Ratio};
use crate::id::{MediaId, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PictureBounds {
    pub max_bytes: u64,
    /// The longest side, in pixels.
    pub max_side: u32,
    pub types: PictureTypes,
    /// The aspect ratios beyond which white borders are added; `None` adds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borders: Option<Borders>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PictureTypes {
    /// JPEG, or PNG where that is better.
    JpegOrPng,
    /// JPEG only; transparent areas become white.
    Jpeg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Borders {
    pub min: Ratio,
    pub max: Ratio,
}

impl PictureBounds {
    pub const fn new(max_bytes: u64, max_side: u32) -> Self {
        Self { max_bytes, max_side, types: PictureTypes::JpegOrPng, borders: None }
    }

    #[must_use]
    pub const fn jpeg(self) -> Self {
        Self { types: PictureTypes::Jpeg, ..self }
    }

    #[must_use]
    pub const fn with_borders(self, borders: Borders) -> Self {
        Self { borders: Some(borders), ..self }
    }

    /// Whether an image of this type and size needs no change, as far as these two determine it.
    pub fn are_met_by(&self, mime_type: MimeType, pixels: Pixels) -> bool {
        let is_of_types = match self.types {
            PictureTypes::JpegOrPng => matches!(mime_type, MimeType::Jpeg | MimeType::Png),
            PictureTypes::Jpeg => mime_type == MimeType::Jpeg,
        };
        is_of_types && pixels.width.max(pixels.height) <= self.max_side && self.canvas(pixels) == pixels
    }

    pub fn canvas(&self, pixels: Pixels) -> Pixels {
        self.borders.map_or(pixels, |it| it.with_borders(pixels))
    }
}

impl Borders {
    /// The size of an image with its borders: the smallest that is within the ratios.
    pub fn with_borders(self, pixels: Pixels) -> Pixels {
        let Pixels { width, height } = pixels;
        if self.min.is_wider_than(pixels) {
            Pixels { width: self.min.width_for(height), height }
        } else if self.max.is_narrower_than(pixels) {
            Pixels { width, height: self.max.height_for(width) }
        } else {
            pixels
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PictureRequest {
    /// The uploaded file, which never changes.
    pub file: MediaPath,
    pub bounds: PictureBounds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentRequest {
    pub document: MediaPath,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FileRequest {
    Picture(PictureRequest),
    Document(DocumentRequest),
}

impl FileRequest {
    pub const fn file(&self) -> MediaPath {
        match self {
            Self::Picture(request) => request.file,
            Self::Document(request) => request.document,
        }
    }
}

/// The key of a request's result in the bucket: `derived/{user}/{media id}-{hash}`. It follows from the
/// request, so that the function that asks and the function that responds agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DerivedPath {
    user: UserId,
    media: MediaId,
    /// The first half of a SHA-256, to keep public URLs short.
    hash: [u8; 16],
}

impl DerivedPath {
    fn new(file: MediaPath, hash_input: &str) -> Self {
        let digest = Sha256::digest(hash_input);
        Self { user: file.user(), media: file.media(), hash: std::array::from_fn(|at| digest[at]) }
    }

    pub fn prefix(file: MediaPath) -> String {
        format!("derived/{}/{}-", file.user(), file.media())
    }

    pub const fn user(self) -> UserId {
        self.user
    }

    /// The last part of the key: the id of the file, a dash and 32 lower-case hexadecimal digits.
    pub fn name(self) -> String {
        format!("{}-{:032x}", self.media, u128::from_be_bytes(self.hash))
    }

    pub(super) fn read(user: UserId, name: &str) -> Option<Self> {
        let (media, hash) = name.split_once('-')?;
        let is_hash = hash.len() == 32 && hash.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        let hash = u128::from_str_radix(hash, 16).ok().filter(|_| is_hash)?;
        Some(Self { user, media: MediaId::parse(media)?, hash: hash.to_be_bytes() })
    }
}

/// Part of the hash: a new number makes every image again.
const EDITION: u32 = 1;

impl PictureRequest {
    pub fn answered_at(&self) -> DerivedPath {
        let PictureBounds { max_bytes, max_side, types, borders } = self.bounds;
        let mut hash_input = format!("{EDITION}\n{}\n{max_bytes}\n{max_side}", self.file);
        if types == PictureTypes::Jpeg {
            hash_input.push_str("\njpeg");
        }
        if let Some(Borders { min, max }) = borders {
            let _ = write!(hash_input, "\nborders {} {}", min.in_hundredths(), max.in_hundredths());
        }
        DerivedPath::new(self.file, &hash_input)
    }
}

/// Part of the hash: a new number makes every document be inspected again.
const INSPECTION_EDITION: u32 = 1;

impl DocumentRequest {
    pub fn answered_at(&self) -> DerivedPath {
        DerivedPath::new(self.document, &format!("document {INSPECTION_EDITION}\n{}", self.document))
    }
}

impl fmt::Display for DerivedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "derived/{}/{}", self.user, self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BORDERS: Borders = Borders { min: Ratio::hundredths(80), max: Ratio::hundredths(191) };

    fn request(file: &str, max_bytes: u64, max_side: u32) -> PictureRequest {
        PictureRequest { file: MediaPath::parse(file).unwrap(), bounds: PictureBounds::new(max_bytes, max_side) }
    }

    #[test]
    fn derived_key_depends_on_file_and_bounds() {
        let original = request("media/7/42.png", 1_000_000, 4_000);
        let path = original.answered_at().to_string();

        assert!(path.starts_with(&DerivedPath::prefix(original.file)), "{path}");
        let hash = path.strip_prefix("derived/7/42-").unwrap();
        assert!(hash.len() == 32 && hash.bytes().all(|it| it.is_ascii_hexdigit()), "{path}");
        assert_eq!(original.answered_at().to_string(), path);
        for other in [
            request("media/7/42.jpg", 1_000_000, 4_000),
            request("media/7/43.png", 1_000_000, 4_000),
            request("media/8/42.png", 1_000_000, 4_000),
            request("media/7/42.png", 2_000_000, 4_000),
            request("media/7/42.png", 1_000_000, 4_001),
            request("media/7/42.png", 100_000, 14_000),
        ] {
            assert_ne!(other.answered_at().to_string(), path, "{other:?}");
        }
    }

    #[test]
    fn request_deserializes_back() {
        let plain = request("media/7/42.webp", 1, 2);
        let sent = serde_json::to_string(&plain).unwrap();
        assert_eq!(sent, r#"{"file":"media/7/42.webp","bounds":{"max_bytes":1,"max_side":2,"types":"jpeg_or_png"}}"#);
        assert_eq!(serde_json::from_str::<PictureRequest>(&sent).unwrap(), plain);

        let with_options = PictureRequest { bounds: plain.bounds.jpeg().with_borders(BORDERS), ..plain };
        let sent = serde_json::to_string(&with_options).unwrap();
        assert!(sent.contains(r#""types":"jpeg","borders":{"min":80,"max":191}"#), "{sent}");
        assert_eq!(serde_json::from_str::<PictureRequest>(&sent).unwrap(), with_options);
    }

    #[test]
    fn requests_for_pictures_and_documents_are_distinguished() {
        let document = DocumentRequest { document: MediaPath::parse("media/7/42.pdf").unwrap() };
        for request in [FileRequest::Picture(request("media/7/42.png", 1, 2)), FileRequest::Document(document)] {
            let sent = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<FileRequest>(&sent).unwrap(), request);
        }
    }

    #[test]
    fn documents_of_different_paths_have_different_keys() {
        let key = |raw: &str| DocumentRequest { document: MediaPath::parse(raw).unwrap() }.answered_at().to_string();
        assert!(key("media/7/42.pdf").starts_with("derived/7/42-"));
        assert_ne!(key("media/7/42.pdf"), key("media/7/43.pdf"));
    }

    #[test]
    fn derived_key_depends_on_type_and_borders() {
        let plain = request("media/7/42.png", 1_000_000, 4_000);
        let bounds = plain.bounds;
        let wider = Borders { max: Ratio::hundredths(200), ..BORDERS };
        let others = [bounds.jpeg(), bounds.with_borders(BORDERS), bounds.jpeg().with_borders(BORDERS)];
        let paths: std::collections::BTreeSet<_> = [bounds, bounds.with_borders(wider)]
            .into_iter()
            .chain(others)
            .map(|bounds| PictureRequest { bounds, ..plain }.answered_at().to_string())
            .collect();
        assert_eq!(paths.len(), 5);
    }

    #[test]
    fn borders_extend_an_image_to_the_nearest_ratio() {
        let bounds = PictureBounds::new(1, 10_000).with_borders(BORDERS);
        let canvas = |width, height| {
            let Pixels { width, height } = bounds.canvas(Pixels { width, height });
            (width, height)
        };
        assert_eq!(canvas(1080, 1920), (1536, 1920));
        assert_eq!(canvas(2000, 1000), (2000, 1048));
        assert_eq!(canvas(801, 1002), (802, 1002));
        for (width, height) in [(4, 5), (191, 100), (1, 1), (1080, 1350)] {
            assert_eq!(canvas(width, height), (width, height));
        }
        for (width, height) in [(1, 20_000), (20_000, 1), (u32::MAX, 1), (1, u32::MAX), (7, 9)] {
            let around = bounds.canvas(Pixels { width, height });
            assert!(width <= around.width && height <= around.height, "{width} {height}");
            assert_eq!(bounds.canvas(around), around, "{width} {height}");
        }
    }

    #[test]
    fn image_within_its_bounds_needs_no_change() {
        let bounds = PictureBounds::new(1, 100);
        let is_within =
            |bounds: PictureBounds, mime_type, width, height| bounds.are_met_by(mime_type, Pixels { width, height });
        assert!(is_within(bounds, MimeType::Png, 100, 1) && !is_within(bounds, MimeType::Png, 101, 1));
        assert!(is_within(bounds.jpeg(), MimeType::Jpeg, 100, 1) && !is_within(bounds.jpeg(), MimeType::Png, 100, 1));
        assert!(!is_within(bounds, MimeType::Webp, 1, 1) && !is_within(bounds, MimeType::Gif, 1, 1));
        let bordered = bounds.with_borders(BORDERS);
        assert!(is_within(bordered, MimeType::Png, 80, 100) && !is_within(bordered, MimeType::Png, 79, 100));
    }
}
