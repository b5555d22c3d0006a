use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::post_rule::{distinguishable_sizes, number};
use super::{Counting, FileRule, PostRule};
use crate::media::{Attachment, FileType, MimeType};
use crate::options::Options;
use crate::rich_text::DisplayText;

/// One rule of a platform for posts. GIFs count as images. A `max` or `min` next to a `counting` is
/// in its unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "id", rename_all = "snake_case")]
pub enum Rule {
    MaxText {
        max: u32,
        counting: Counting,
    },
    /// In UTF-8. Mentions count in full here, whatever they count as for [`Rule::MaxText`].
    MaxTextBytes {
        max: u32,
        short_links: bool,
    },
    MaxContentWarning {
        max: u32,
        counting: Counting,
    },
    /// Images and videos together.
    MaxMedia {
        max: u32,
    },
    MaxImages {
        max: u32,
    },
    MaxVideos {
        max: u32,
    },
    /// A post may not have both images and videos.
    NotMixed,
    /// A GIF must be the only file of its post, because it is shown as a video.
    GifAlone,
    DocumentAlone,
    /// At least one image or video.
    MediaRequired,
    MimeTypes {
        types: Vec<MimeType>,
    },
    MaxImageBytes {
        max: u64,
    },
    MaxVideoBytes {
        max: u64,
    },
    MaxDocumentBytes {
        max: u64,
    },
    MaxAltText {
        max: u32,
        counting: Counting,
    },
    /// Requires an alternative text for each file.
    MinAltText {
        min: u32,
        counting: Counting,
    },
    /// The limit of the alternative text of a video, where it is lower.
    MaxVideoAltText {
        max: u32,
        counting: Counting,
        /// In UTF-8.
        max_bytes: u32,
    },
    #[serde(untagged)]
    OfFiles(FileRule),
    #[serde(untagged)]
    OfPost(PostRule),
}

impl Rule {
    pub const fn max_text(max: u32, counting: Counting) -> Self {
        Self::MaxText { max, counting }
    }

    pub const fn max_text_bytes(max: u32) -> Self {
        Self::MaxTextBytes { max, short_links: false }
    }

    pub const fn max_shown_text_bytes(max: u32) -> Self {
        Self::MaxTextBytes { max, short_links: true }
    }

    pub const fn max_content_warning(max: u32, counting: Counting) -> Self {
        Self::MaxContentWarning { max, counting }
    }

    pub const fn max_media(max: u32) -> Self {
        Self::MaxMedia { max }
    }

    pub const fn max_images(max: u32) -> Self {
        Self::MaxImages { max }
    }

    pub const fn max_videos(max: u32) -> Self {
        Self::MaxVideos { max }
    }

    pub fn mime_types(types: impl Into<Vec<MimeType>>) -> Self {
        Self::MimeTypes { types: types.into() }
    }

    pub const fn max_image_bytes(max: u64) -> Self {
        Self::MaxImageBytes { max }
    }

    pub const fn max_video_bytes(max: u64) -> Self {
        Self::MaxVideoBytes { max }
    }

    pub const fn max_document_bytes(max: u64) -> Self {
        Self::MaxDocumentBytes { max }
    }

    pub const fn max_alt_text(max: u32, counting: Counting) -> Self {
        Self::MaxAltText { max, counting }
    }

    pub const fn min_alt_text(min: u32, counting: Counting) -> Self {
        Self::MinAltText { min, counting }
    }

    pub const fn max_video_alt_text(max: u32, counting: Counting, max_bytes: u32) -> Self {
        Self::MaxVideoAltText { max, counting, max_bytes }
    }

    /// For programs. Stored and shown to clients, so it never changes.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::MaxText { .. } => "max_text",
            Self::MaxTextBytes { .. } => "max_text_bytes",
            Self::MaxContentWarning { .. } => "max_content_warning",
            Self::MaxMedia { .. } => "max_media",
            Self::MaxImages { .. } => "max_images",
            Self::MaxVideos { .. } => "max_videos",
            Self::NotMixed => "not_mixed",
            Self::GifAlone => "gif_alone",
            Self::DocumentAlone => "document_alone",
            Self::MediaRequired => "media_required",
            Self::MimeTypes { .. } => "mime_types",
            Self::MaxImageBytes { .. } => "max_image_bytes",
            Self::MaxVideoBytes { .. } => "max_video_bytes",
            Self::MaxDocumentBytes { .. } => "max_document_bytes",
            Self::OfFiles(rule) => rule.id(),
            Self::OfPost(rule) => rule.id(),
            Self::MaxAltText { .. } => "max_alt_text",
            Self::MinAltText { .. } => "min_alt_text",
            Self::MaxVideoAltText { .. } => "max_video_alt_text",
        }
    }

    pub(super) fn field(&self, options: &Options) -> Cow<'static, str> {
        let field = match self {
            Self::MaxText { .. } | Self::MaxTextBytes { .. } => "content",
            Self::MaxContentWarning { .. } => "options.content_warning",
            Self::OfPost(rule) => return rule.field(options),
            _ => "media",
        };
        field.into()
    }

    pub(super) fn text_limit(&self, media: &[Attachment]) -> Option<(u32, Counting)> {
        match self {
            Self::MaxText { max, counting } => Some((*max, *counting)),
            Self::OfPost(rule) => rule.text_limit(media).map(|(max, counting, _)| (max, counting)),
            _ => None,
        }
    }

    /// The messages about this text and these files, each with the limit and the actual value, to
    /// follow the platform's name. There is one for the post, or one for each file with an error.
    pub(super) fn faults(&self, text: &str, media: &[Attachment], options: &Options) -> Vec<String> {
        let images = || files_of_type(media, FileType::Image).count() as u64;
        let videos = || files_of_type(media, FileType::Video).count() as u64;
        let violation = match self {
            Self::MaxText { max, counting } => {
                let warning = counting.warning_length(options);
                let length = counting.length(text) + warning;
                let with = if warning == 0 { "" } else { ", the content warning included" };
                let limit = || format!("{max} {}{}{with}", counting.unit.noun(), counting.counting_note(text));
                limit_violation(*max, length, limit)
            }
            Self::MaxTextBytes { max, short_links } => {
                let length = if *short_links { DisplayText::new(text).text.len() } else { text.len() };
                limit_violation(*max, length as u64, || number((*max).into(), "byte"))
            }
            Self::MaxContentWarning { max, counting } => {
                let length = counting.length(options.text("content_warning").unwrap_or_default());
                limit_violation(*max, length, || format!("{max} {} as a content warning", counting.unit.noun()))
            }
            Self::MaxMedia { max: 1 } => limit_violation(1, media.len() as u64, || "1 image or video".to_owned()),
            Self::MaxMedia { max } => {
                limit_violation(*max, media.len() as u64, || format!("{max} images and videos together"))
            }
            Self::MaxImages { max } => limit_violation(*max, images(), || number((*max).into(), "image")),
            Self::MaxVideos { max } => limit_violation(*max, videos(), || number((*max).into(), "video")),
            Self::NotMixed => (0 < images() && 0 < videos()).then(|| {
                let (images, videos) = (number(images(), "image"), number(videos(), "video"));
                format!("accepts images or videos in one post, not both; this has {images} and {videos}")
            }),
            Self::GifAlone => {
                let has_other_files = 1 < media.len() && media.iter().any(|it| it.mime_type == MimeType::Gif);
                has_other_files
                    .then(|| format!("accepts a GIF as the only file of a post; this has {} files", media.len()))
            }
            Self::DocumentAlone => {
                let has_other_files = 1 < media.len() && files_of_type(media, FileType::Document).next().is_some();
                has_other_files
                    .then(|| format!("accepts a document as the only file of a post; this has {} files", media.len()))
            }
            Self::MediaRequired => media.is_empty().then(|| "needs at least 1 image or video; this has 0".to_owned()),
            Self::MimeTypes { types } => return mime_type_violations(types, media),
            Self::OfFiles(rule) => return rule.faults(media, options),
            Self::OfPost(rule) => rule.fault(text, media, options),
            Self::MaxImageBytes { max } => {
                return size_violations(*max, "images", files_of_type(media, FileType::Image));
            }
            Self::MaxVideoBytes { max } => {
                return size_violations(*max, "videos", files_of_type(media, FileType::Video));
            }
            Self::MaxDocumentBytes { max } => {
                return size_violations(*max, "documents", files_of_type(media, FileType::Document));
            }
            Self::MaxAltText { max, counting } => return long_alt_text_violations(*max, *counting, None, media),
            Self::MinAltText { min, counting } => return short_alt_text_violations(*min, *counting, media),
            Self::MaxVideoAltText { max, counting, max_bytes } => {
                return long_alt_text_violations(*max, *counting, Some(*max_bytes), media);
            }
        };
        violation.into_iter().collect()
    }
}

fn files_of_type(media: &[Attachment], file_type: FileType) -> impl Iterator<Item = &Attachment> {
    media.iter().filter(move |it| it.mime_type.file_type() == file_type)
}

fn limit_violation(max: u32, actual: u64, limit: impl FnOnce() -> String) -> Option<String> {
    (u64::from(max) < actual).then(|| format!("accepts at most {}; this has {actual}", limit()))
}

/// With `of_videos`, checks videos only, and also limits the bytes of each text.
fn long_alt_text_violations(max: u32, counting: Counting, of_videos: Option<u32>, media: &[Attachment]) -> Vec<String> {
    let is_affected = |it: &Attachment| {
        of_videos.is_none() || it.mime_type.file_type() == FileType::Video || it.mime_type == MimeType::Gif
    };
    let what = if of_videos.is_some() { "alt texts of videos" } else { "alt texts" };
    let alt_texts = (1..).zip(media).filter(|(_, it)| is_affected(it));
    let alt_texts = alt_texts.filter_map(|(number, it): (usize, _)| Some((number, it.alt_text.as_ref()?.as_str())));
    let violation = |(number, alt_texts): (usize, &str)| {
        let (length, bytes) = (counting.length(alt_texts), alt_texts.len() as u64);
        let units = counting.unit.noun();
        if u64::from(max) < length {
            return Some(format!(
                "accepts {what} of at most {max} {units}; the alt text of file {number} has {length}"
            ));
        }
        let max_bytes = of_videos.filter(|it| u64::from(*it) < bytes)?;
        Some(format!("accepts {what} of at most {max_bytes} bytes; the alt text of file {number} has {bytes}"))
    };
    alt_texts.filter_map(violation).collect()
}

fn short_alt_text_violations(min: u32, counting: Counting, media: &[Attachment]) -> Vec<String> {
    let violation = |(number, file): (usize, &Attachment)| {
        let length = file.alt_text.as_ref().map_or(0, |it| counting.length(it.as_str()));
        let actual = || match file.alt_text {
            Some(_) => format!("the alt text of file {number} has {length}"),
            None => format!("file {number} has none"),
        };
        let units = counting.unit.noun();
        (length < min.into()).then(|| format!("needs alt texts of at least {min} {units}; {}", actual()))
    };
    (1..).zip(media).filter_map(violation).collect()
}

fn mime_type_violations(types: &[MimeType], media: &[Attachment]) -> Vec<String> {
    let accepted = || types.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ");
    let unaccepted = media.iter().map(|it| it.mime_type).filter(|it| !types.contains(it));
    unaccepted.map(|it| format!("accepts {}, not {}", accepted(), it.as_str())).collect()
}

fn size_violations<'m>(max: u64, what: &str, media: impl Iterator<Item = &'m Attachment>) -> Vec<String> {
    let large = media.map(|it| it.size_bytes).filter(|it| max < *it);
    large
        .map(|it| {
            let (limit, size) = distinguishable_sizes(max, it);
            format!("accepts {what} of at most {limit}; this has {size}")
        })
        .collect()
}
