//! What a platform accepts, as data: checked when a post is scheduled, and
//! shown to writers in the `meta` of a connection.

use serde::{Deserialize, Serialize};

use crate::media::{Attachment, FileType, MimeType, human_size};
use crate::text::PostText;

/// How a platform counts the length of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// Unicode code points.
    CodePoints,
    /// UTF-16 code units.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
}

impl Counting {
    fn length(self, text: &str) -> usize {
        match self {
            Self::CodePoints => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Bytes => text.len(),
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::CodePoints => "characters",
            Self::Utf16 => "UTF-16 units",
            Self::Bytes => "bytes",
        }
    }
}

/// The limits of one account on one platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The platform's name as people know it.
    pub title: String,
    /// How text is counted.
    pub counting: Counting,
    /// The most text.
    pub max_text: usize,
    /// The most pictures, GIFs included.
    pub max_images: usize,
    /// The most videos.
    pub max_videos: usize,
    /// Whether pictures and videos may stand in one post.
    pub mixed: bool,
    /// Whether a post needs a picture or video.
    pub media_required: bool,
    /// The types it takes.
    pub mime_types: Vec<MimeType>,
    /// The largest picture in bytes.
    pub max_image_bytes: u64,
    /// The largest video in bytes.
    pub max_video_bytes: u64,
}

/// Which rule a post breaks. Stable, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleId {
    /// The text is too long.
    MaxText,
    /// Too many pictures.
    MaxImages,
    /// Too many videos.
    MaxVideos,
    /// Pictures beside videos.
    Mixed,
    /// No picture or video.
    MediaRequired,
    /// A type it does not take.
    MimeType,
    /// A file it finds too large.
    MaxBytes,
}

/// A rule that a target breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Which.
    pub rule: RuleId,
    /// The field of the target that is at fault: `content` or `media`.
    pub field: &'static str,
    /// The platform, the limit and the actual figure, for the user.
    pub message: String,
}

impl Rules {
    /// Every rule that these words and files would break.
    pub fn breaches(&self, text: &PostText, media: &[Attachment]) -> Vec<Breach> {
        let mut found = Vec::new();
        let mut breach = |rule, field, message: String| {
            found.push(Breach { rule, field, message: format!("{} {message}", self.title) });
        };

        let length = self.counting.length(text.as_str());
        if self.max_text < length {
            let unit = self.counting.unit();
            let max = self.max_text;
            breach(RuleId::MaxText, "content", format!("takes at most {max} {unit}, this has {length}"));
        }
        let images = media.iter().filter(|it| it.mime_type.file_type() == FileType::Image).count();
        let videos = media.len() - images;
        if self.max_images < images {
            let max = self.max_images;
            breach(RuleId::MaxImages, "media", format!("takes at most {max} images, this has {images}"));
        }
        if self.max_videos < videos {
            let max = self.max_videos;
            breach(RuleId::MaxVideos, "media", format!("takes at most {max} videos, this has {videos}"));
        }
        if !self.mixed && 0 < images && 0 < videos {
            breach(RuleId::Mixed, "media", "takes images or a video, not both".to_owned());
        }
        if self.media_required && media.is_empty() {
            breach(RuleId::MediaRequired, "media", "needs at least 1 image or video, this has 0".to_owned());
        }
        for attachment in media {
            let mime = attachment.mime_type;
            if !self.mime_types.contains(&mime) {
                let taken: Vec<_> = self.mime_types.iter().map(|it| it.as_str()).collect();
                breach(RuleId::MimeType, "media", format!("takes {}, not {}", taken.join(", "), mime.as_str()));
            }
            let max = match mime.file_type() {
                FileType::Image => self.max_image_bytes,
                FileType::Video => self.max_video_bytes,
            };
            if max < attachment.size_bytes {
                let (max, actual) = (human_size(max), human_size(attachment.size_bytes));
                breach(RuleId::MaxBytes, "media", format!("takes files of at most {max}, this has {actual}"));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{an_attachment, rules};

    #[test]
    fn a_breach_names_platform_limit_and_figure() {
        let text = PostText::parse(&"x".repeat(501)).unwrap();
        let breaches = rules().breaches(&text, &[]);
        assert_eq!(breaches.len(), 1);
        assert_eq!(breaches[0].field, "content");
        assert_eq!(breaches[0].message, "Sandbox takes at most 500 characters, this has 501");
    }

    #[test]
    fn every_breach_is_named_at_once() {
        let text = PostText::parse("words").unwrap();
        let large = Attachment { size_bytes: 64 << 20, ..an_attachment(1) };
        let breaches = rules().breaches(&text, &vec![large; 5]);
        let rules: Vec<_> = breaches.iter().map(|it| it.rule).collect();
        assert_eq!(rules[0], RuleId::MaxImages);
        assert_eq!(rules.iter().filter(|it| **it == RuleId::MaxBytes).count(), 5);
    }
}
