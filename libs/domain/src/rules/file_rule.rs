use serde::{Deserialize, Serialize};

use super::post_rule::distinguishable_sizes;
use crate::media::{
    Attachment, Borders, DocumentFacts, Facts, FileType, MimeType, Pixels, Ratio, VideoCodec, human_size,
};
use crate::options::Options;

/// A rule about the properties of each file. Unknown properties are left to the platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "id", rename_all = "snake_case")]
pub enum FileRule {
    MaxImagePixels {
        /// Width times height.
        max: u64,
    },
    /// Of the shorter side.
    MinImageSide {
        /// In pixels.
        min: u32,
    },
    MaxVideoPixels {
        /// Width times height.
        max: u64,
    },
    /// Whatever the height.
    MaxVideoWidth {
        /// In pixels.
        max: u32,
    },
    /// In frames per second.
    MinFrameRate {
        min: u32,
    },
    /// In frames per second.
    MaxFrameRate {
        max: u32,
    },
    MinDuration {
        /// In seconds.
        min: u32,
    },
    MaxDuration {
        /// In seconds.
        max: u32,
    },
    ImageRatio {
        min: Ratio,
        max: Ratio,
    },
    /// Like `ImageRatio`, unless the post has an option that adds borders to other images.
    ImageRatioOrBorders {
        min: Ratio,
        max: Ratio,
        option: String,
        is: String,
    },
    /// The platform crops all files of a post to the aspect ratio of the first one.
    CroppedToFirst,
    VideoRatio {
        min: Ratio,
        max: Ratio,
    },
    /// A GIF is animated, so unlike other images it is never made smaller.
    MaxGifBytes {
        max: u64,
    },
    VideoCodecs {
        codecs: Vec<VideoCodec>,
    },
    MaxPages {
        max: u32,
    },
    /// A document may be neither encrypted nor damaged.
    ReadableDocuments,
    /// The size to which the service reduces a larger image, so this rule is never violated.
    FittedImageBytes {
        max: u64,
    },
    /// The longer side to which the service reduces a larger image, so this rule is never violated.
    FittedImageSide {
        /// In pixels.
        max: u32,
    },
}

impl FileRule {
    /// For programs. Stored and shown to clients, so it never changes.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::MaxImagePixels { .. } => "max_image_pixels",
            Self::MinImageSide { .. } => "min_image_side",
            Self::MaxVideoPixels { .. } => "max_video_pixels",
            Self::MaxVideoWidth { .. } => "max_video_width",
            Self::MinFrameRate { .. } => "min_frame_rate",
            Self::MaxFrameRate { .. } => "max_frame_rate",
            Self::MinDuration { .. } => "min_duration",
            Self::MaxDuration { .. } => "max_duration",
            Self::ImageRatio { .. } => "image_ratio",
            Self::ImageRatioOrBorders { .. } => "image_ratio_or_borders",
            Self::CroppedToFirst => "cropped_to_first",
            Self::VideoRatio { .. } => "video_ratio",
            Self::MaxGifBytes { .. } => "max_gif_bytes",
            Self::VideoCodecs { .. } => "video_codecs",
            Self::MaxPages { .. } => "max_pages",
            Self::ReadableDocuments => "readable_documents",
            Self::FittedImageBytes { .. } => "fitted_image_bytes",
            Self::FittedImageSide { .. } => "fitted_image_side",
        }
    }

    pub const fn unit(&self) -> Option<&'static str> {
        match self {
            Self::MaxImagePixels { .. }
            | Self::MinImageSide { .. }
            | Self::MaxVideoPixels { .. }
            | Self::MaxVideoWidth { .. }
            | Self::FittedImageSide { .. } => Some("pixels"),
            Self::MaxGifBytes { .. } | Self::FittedImageBytes { .. } => Some("bytes"),
            Self::MinFrameRate { .. } | Self::MaxFrameRate { .. } => Some("frames_per_second"),
            Self::MinDuration { .. } | Self::MaxDuration { .. } => Some("seconds"),
            Self::MaxPages { .. } => Some("pages"),
            Self::ImageRatio { .. }
            | Self::ImageRatioOrBorders { .. }
            | Self::VideoRatio { .. }
            | Self::CroppedToFirst
            | Self::VideoCodecs { .. }
            | Self::ReadableDocuments => None,
        }
    }

    /// A message for each file that violates the rule, like those of [`Rule`](super::Rule).
    pub(super) fn faults(&self, media: &[Attachment], options: &Options) -> Vec<String> {
        if let Self::ImageRatioOrBorders { option, is, .. } = self
            && options.text(option) == Some(is)
        {
            return Vec::new();
        }
        let affected = (1_usize..).zip(media).filter(|(_, it)| it.mime_type.file_type() == self.file_type());
        if let Self::MaxGifBytes { max } = self {
            let large = affected.filter(|(_, it)| it.mime_type == MimeType::Gif && *max < it.size_bytes);
            return large.map(|(number, it)| gif_size_violation(*max, number, it)).collect();
        }
        let facts = affected.filter_map(|(number, it)| Some((number, it.facts?)));
        facts.filter_map(|(number, facts)| self.fault(number, &facts)).collect()
    }

    pub(super) fn resize_description(&self, file: &Attachment) -> Option<String> {
        // An animated image is not made smaller.
        if file.mime_type.file_type() != FileType::Image || file.mime_type == MimeType::Gif {
            return None;
        }
        match self {
            Self::FittedImageBytes { max } => (*max < file.size_bytes)
                .then(|| format!("{} instead of {}", human_size(*max), human_size(file.size_bytes))),
            Self::FittedImageSide { max } => {
                let side = file.facts?.pixels.map(|it| it.width.max(it.height)).filter(|it| max < it)?;
                Some(format!("{max} pixels on its longer side instead of {side}"))
            }
            _ => None,
        }
    }

    pub(super) fn bordered_size(&self, file: &Attachment, options: &Options) -> Option<Pixels> {
        let Self::ImageRatioOrBorders { min, max, option, is } = self else { return None };
        if file.mime_type.file_type() != FileType::Image || options.text(option) != Some(is) {
            return None;
        }
        let pixels = file.facts?.pixels?;
        let borders = Borders { min: *min, max: *max };
        Some(borders.with_borders(pixels)).filter(|it| *it != pixels)
    }

    const fn file_type(&self) -> FileType {
        match self {
            Self::MaxImagePixels { .. }
            | Self::MinImageSide { .. }
            | Self::ImageRatio { .. }
            | Self::MaxGifBytes { .. }
            | Self::ImageRatioOrBorders { .. }
            | Self::CroppedToFirst
            | Self::FittedImageBytes { .. }
            | Self::FittedImageSide { .. } => FileType::Image,
            Self::MaxVideoPixels { .. }
            | Self::MaxVideoWidth { .. }
            | Self::MinFrameRate { .. }
            | Self::MaxFrameRate { .. }
            | Self::MinDuration { .. }
            | Self::MaxDuration { .. }
            | Self::VideoRatio { .. }
            | Self::VideoCodecs { .. } => FileType::Video,
            Self::MaxPages { .. } | Self::ReadableDocuments => FileType::Document,
        }
    }

    fn fault(&self, number: usize, facts: &Facts) -> Option<String> {
        let file_type = self.file_type().as_str();
        match self {
            Self::MaxImagePixels { max } | Self::MaxVideoPixels { max } => {
                let pixels = facts.pixels.filter(|it| *max < it.count())?;
                let Pixels { width, height } = pixels;
                let count = pixels.count();
                Some(format!(
                    "accepts {file_type}s of at most {max} pixels; file {number} has {count} ({width} × {height})"
                ))
            }
            Self::MinImageSide { min } => {
                let Pixels { width, height } = facts.pixels.filter(|it| it.width.min(it.height) < *min)?;
                Some(format!("accepts images of at least {min} pixels a side; file {number} has {width} × {height}"))
            }
            Self::MaxVideoWidth { max } => {
                let Pixels { width, height } = facts.pixels.filter(|it| *max < it.width)?;
                Some(format!("accepts videos of at most {max} pixels in width; file {number} has {width} × {height}"))
            }
            Self::MinFrameRate { min } => {
                let rate =
                    facts.milli_frames_per_second.filter(|it| it.saturating_add(500) < min.saturating_mul(1_000))?;
                let rate = thousandths(rate.into());
                Some(format!("accepts videos of at least {min} frames per second; file {number} has {rate}"))
            }
            Self::MaxFrameRate { max } => {
                // Tolerates a camera whose clock runs a little fast.
                let rate = facts.milli_frames_per_second.filter(|it| max.saturating_mul(1_000) + 500 < *it)?;
                let rate = thousandths(rate.into());
                Some(format!("accepts videos of at most {max} frames per second; file {number} has {rate}"))
            }
            Self::MinDuration { min } => {
                let runs = facts.duration_ms.filter(|it| *it < u64::from(*min) * 1_000)?;
                Some(format!("accepts videos of at least {min} s; file {number} lasts {} s", thousandths(runs)))
            }
            Self::MaxDuration { max } => {
                let runs = facts.duration_ms.filter(|it| u64::from(*max) * 1_000 < *it)?;
                Some(format!("accepts videos of at most {max} s; file {number} lasts {} s", thousandths(runs)))
            }
            Self::ImageRatio { min, max } | Self::VideoRatio { min, max } => {
                ratio_violation(*min, *max, file_type, number, facts)
            }
            Self::ImageRatioOrBorders { min, max, option, is } => {
                let fault = ratio_violation(*min, *max, file_type, number, facts)?;
                Some(format!("{fault}; crop it, or set the option {option} to {is} to add white borders"))
            }
            Self::VideoCodecs { codecs } => {
                let codec = facts.codec.filter(|it| !codecs.contains(it))?;
                let accepted = codecs.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ");
                Some(format!("accepts videos encoded as {accepted}; file {number} is encoded as {}", codec.as_str()))
            }
            Self::MaxPages { max } => {
                let Some(DocumentFacts::Readable { pages }) = facts.document else { return None };
                (*max < pages).then(|| {
                    format!(
                        "accepts documents of at most {max} pages; file {number} has {pages}; split it, or upload a \
                         shorter one"
                    )
                })
            }
            Self::ReadableDocuments => unreadable_document(number, facts.document?),
            Self::MaxGifBytes { .. }
            | Self::CroppedToFirst
            | Self::FittedImageBytes { .. }
            | Self::FittedImageSide { .. } => None,
        }
    }
}

fn gif_size_violation(max: u64, number: usize, gif: &Attachment) -> String {
    let (limit, size) = distinguishable_sizes(max, gif.size_bytes);
    format!("accepts GIFs of at most {limit}; file {number} has {size}; make it smaller, or convert it to a video")
}

fn unreadable_document(number: usize, facts: DocumentFacts) -> Option<String> {
    match facts {
        DocumentFacts::Readable { .. } => None,
        DocumentFacts::Encrypted => Some(format!(
            "accepts documents that open without a password; file {number} is encrypted; save it without encryption \
             and upload it again"
        )),
        DocumentFacts::Damaged => Some(format!(
            "accepts documents whose pages can all be read; file {number} is damaged; export it as a PDF again and \
             upload the new file"
        )),
    }
}

fn ratio_violation(min: Ratio, max: Ratio, file_type: &str, number: usize, facts: &Facts) -> Option<String> {
    let pixels = facts.pixels.filter(|it| min.is_wider_than(*it) || max.is_narrower_than(*it))?;
    let Pixels { width, height } = pixels;
    let limit = if min == max { format!("of {min}") } else { format!("from {min} to {max}") };
    Some(format!("accepts {file_type}s {limit} (width to height); file {number} has {width} × {height} pixels"))
}

fn thousandths(count: u64) -> String {
    let exact = format!("{}.{:03}", count / 1_000, count % 1_000);
    exact.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionValue;
    use crate::rules::{Rule, Rules};
    use crate::testing::{an_attachment, text};

    fn file(mime_type: MimeType, width: u32, height: u32) -> Attachment {
        let facts = Facts { pixels: Pixels::new(width, height), ..Facts::default() };
        Attachment { mime_type, facts: Some(facts), ..an_attachment(1) }
    }

    fn film(duration_ms: u64, rate: u32, codec: VideoCodec) -> Attachment {
        let facts = Facts {
            pixels: Pixels::new(1920, 1080),
            duration_ms: Some(duration_ms),
            milli_frames_per_second: Some(rate),
            codec: Some(codec),
            document: None,
        };
        Attachment { mime_type: MimeType::Mp4, facts: Some(facts), ..an_attachment(1) }
    }

    fn document(facts: DocumentFacts) -> Attachment {
        let facts = Facts { document: Some(facts), ..Facts::default() };
        Attachment { mime_type: MimeType::Pdf, facts: Some(facts), ..an_attachment(1) }
    }

    #[test]
    fn file_properties_are_checked_against_the_limits() {
        let codecs = vec![VideoCodec::H264, VideoCodec::Hevc];
        let (min, max) = (Ratio::hundredths(80), Ratio::hundredths(191));
        let (jpeg, mp4) = (|w, h| file(MimeType::Jpeg, w, h), |w, h| file(MimeType::Mp4, w, h));
        for (rule, fine, wrong, expected) in [
            (
                FileRule::MaxImagePixels { max: 100 },
                vec![jpeg(10, 10), mp4(11, 10)],
                jpeg(11, 10),
                "accepts images of at most 100 pixels; file 3 has 110 (11 × 10)",
            ),
            (
                FileRule::MinImageSide { min: 250 },
                vec![jpeg(250, 4_000), mp4(10, 10)],
                jpeg(4_000, 249),
                "accepts images of at least 250 pixels a side; file 3 has 4000 × 249",
            ),
            (
                FileRule::MaxVideoPixels { max: 100 },
                vec![mp4(10, 10), jpeg(11, 10)],
                mp4(11, 10),
                "accepts videos of at most 100 pixels; file 3 has 110 (11 × 10)",
            ),
            (
                FileRule::MaxVideoWidth { max: 20 },
                vec![mp4(20, 999), jpeg(21, 1)],
                mp4(21, 3),
                "accepts videos of at most 20 pixels in width; file 3 has 21 × 3",
            ),
            (
                FileRule::MinFrameRate { min: 23 },
                vec![film(1, 23_976, VideoCodec::H264), film(1, 22_500, VideoCodec::H264)],
                film(1, 15_000, VideoCodec::H264),
                "accepts videos of at least 23 frames per second; file 3 has 15",
            ),
            (
                FileRule::MaxFrameRate { max: 60 },
                vec![film(1, 60_000, VideoCodec::H264), film(1, 60_200, VideoCodec::H264)],
                film(1, 119_880, VideoCodec::H264),
                "accepts videos of at most 60 frames per second; file 3 has 119.88",
            ),
            (
                FileRule::MinDuration { min: 3 },
                vec![film(3_000, 1, VideoCodec::H264), jpeg(1, 1)],
                film(2_999, 1, VideoCodec::H264),
                "accepts videos of at least 3 s; file 3 lasts 2.999 s",
            ),
            (
                FileRule::MaxDuration { max: 90 },
                vec![film(90_000, 1, VideoCodec::H264), jpeg(1, 1)],
                film(100_000, 1, VideoCodec::H264),
                "accepts videos of at most 90 s; file 3 lasts 100 s",
            ),
            (
                FileRule::ImageRatio { min, max },
                vec![jpeg(4, 5), jpeg(191, 100)],
                jpeg(1080, 1920),
                "accepts images from 4:5 to 1.91:1 (width to height); file 3 has 1080 × 1920 pixels",
            ),
            (
                FileRule::VideoRatio { min: max, max },
                vec![mp4(191, 100), jpeg(1, 9)],
                mp4(192, 100),
                "accepts videos of 1.91:1 (width to height); file 3 has 192 × 100 pixels",
            ),
            (
                FileRule::VideoCodecs { codecs },
                vec![film(1, 1, VideoCodec::Hevc), mp4(1, 1)],
                film(1, 1, VideoCodec::Av1),
                "accepts videos encoded as H.264, HEVC; file 3 is encoded as AV1",
            ),
            (
                FileRule::MaxPages { max: 300 },
                vec![document(DocumentFacts::Readable { pages: 300 }), document(DocumentFacts::Damaged)],
                document(DocumentFacts::Readable { pages: 301 }),
                "accepts documents of at most 300 pages; file 3 has 301; split it, or upload a shorter one",
            ),
            (
                FileRule::ReadableDocuments,
                vec![document(DocumentFacts::Readable { pages: 1 }), jpeg(1, 1)],
                document(DocumentFacts::Encrypted),
                "accepts documents that open without a password; file 3 is encrypted; save it without encryption and \
                 upload it again",
            ),
            (
                FileRule::ReadableDocuments,
                vec![document(DocumentFacts::Readable { pages: 1 }), jpeg(1, 1)],
                document(DocumentFacts::Damaged),
                "accepts documents whose pages can all be read; file 3 is damaged; export it as a PDF again and \
                 upload the new file",
            ),
        ] {
            let unknown = Attachment { facts: None, ..wrong.clone() };
            let rules = Rules::new("Small", [Rule::OfFiles(rule)]);
            let violations = |media: &[Attachment]| rules.breaches(&text("a"), media, &Options::default());
            assert_eq!(violations(&[&fine[..], &[unknown]].concat()), []);
            let [violation] = &violations(&[fine, vec![wrong]].concat())[..] else { panic!("{rules:?}") };
            assert_eq!((violation.message.as_str(), &*violation.field), (&*format!("Small {expected}"), "media"));
        }
    }

    #[test]
    fn gif_is_checked_by_size_only() {
        let rule = Rule::OfFiles(FileRule::MaxGifBytes { max: 15_000_000 });
        let rules = Rules::new("Small", [rule]);
        let attachment = |mime_type, size_bytes| Attachment { mime_type, size_bytes, ..an_attachment(1) };
        let fine = [
            attachment(MimeType::Gif, 15_000_000),
            attachment(MimeType::Png, 20_000_000),
            attachment(MimeType::Mp4, 20_000_000),
        ];
        assert_eq!(rules.breaches(&text("a"), &fine, &Options::default()), []);

        let large = [attachment(MimeType::Png, 1), attachment(MimeType::Gif, 20 << 20)];
        let [violation] = &rules.breaches(&text("a"), &large, &Options::default())[..] else { panic!("{rules:?}") };

        let expected =
            "Small accepts GIFs of at most 14.4 MiB; file 2 has 20 MiB; make it smaller, or convert it to a video";
        assert_eq!(
            (violation.message.as_str(), &*violation.field, violation.rule),
            (expected, "media", "max_gif_bytes")
        );
    }

    #[test]
    fn image_outside_the_ratio_may_get_borders() {
        let (min, max) = (Ratio::hundredths(80), Ratio::hundredths(191));
        let (option, is) = ("fit".to_owned(), "borders".to_owned());
        let rules =
            Rules::new("Small", [Rule::OfFiles(FileRule::ImageRatioOrBorders { min, max, option, is: is.clone() })]);
        let violations = |options: &Options| {
            let files = [file(MimeType::Jpeg, 4, 5), file(MimeType::Png, 1080, 1920), file(MimeType::Mp4, 9, 16)];
            rules.breaches(&text("a"), &files, options).into_iter().map(|it| it.message).collect::<Vec<_>>()
        };
        let expected = "Small accepts images from 4:5 to 1.91:1 (width to height); file 2 has 1080 × 1920 pixels; crop it, or \
                    set the option fit to borders to add white borders";
        assert_eq!(violations(Options::NONE), [expected]);
        let borders = [("fit".to_owned(), OptionValue::Text(is))].into_iter().collect();
        assert_eq!(violations(&borders), Vec::<String>::new());
    }

    #[test]
    fn image_that_is_made_smaller_is_no_violation() {
        let (side, bytes) = (FileRule::FittedImageSide { max: 100 }, FileRule::FittedImageBytes { max: 1 << 20 });
        let large = Attachment { size_bytes: 2 << 20, ..file(MimeType::Png, 20, 101) };
        assert_eq!(side.resize_description(&large).unwrap(), "100 pixels on its longer side instead of 101");
        assert_eq!(bytes.resize_description(&large).unwrap(), "1 MiB instead of 2 MiB");
        for rule in [side, bytes] {
            assert_eq!(rule.resize_description(&file(MimeType::Png, 100, 100)), None);
            assert_eq!(rule.resize_description(&Attachment { mime_type: MimeType::Gif, ..large.clone() }), None);
            assert!(rule.faults(std::slice::from_ref(&large), Options::NONE).is_empty());
        }
    }

    #[test]
    fn file_rules_are_stored_among_other_rules() {
        let rules = [
            Rule::OfFiles(FileRule::MaxDuration { max: 90 }),
            Rule::OfFiles(FileRule::ImageRatio { min: Ratio::hundredths(80), max: Ratio::hundredths(191) }),
            Rule::max_media(4),
        ];
        let stored = serde_json::to_value(&rules).unwrap();
        assert_eq!(stored[0], serde_json::json!({"id": "max_duration", "max": 90}));
        assert_eq!(stored[1], serde_json::json!({"id": "image_ratio", "min": 80, "max": 191}));
        assert_eq!(serde_json::from_value::<[Rule; 3]>(stored).unwrap(), rules);
    }

    #[test]
    fn ratios_are_displayed_as_common_names() {
        for (hundredths, expected) in
            [(80, "4:5"), (100, "1:1"), (191, "1.91:1"), (178, "16:9"), (1000, "10:1"), (1, "0.01:1")]
        {
            assert_eq!(Ratio::hundredths(hundredths).to_string(), expected);
        }
    }
}
