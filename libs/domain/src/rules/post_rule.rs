use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Counting, tokens};
use crate::media::{Attachment, FileType, human_size};
use crate::options::Options;

/// A rule of some platforms about a post as a whole: amounts, and combinations. A `max` or `min`
/// next to a `counting` is in its unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "id", rename_all = "snake_case")]
pub enum PostRule {
    /// GIFs count as images.
    MinImages {
        min: u32,
    },
    MinVideos {
        min: u32,
    },
    /// Options that cannot be used in a post with images or videos.
    NotWithMedia {
        options: Vec<String>,
    },
    MaxAllBytes {
        max: u64,
    },
    MinText {
        min: u32,
        counting: Counting,
    },
    /// The limit of the text of a post with images or videos, where it is lower.
    MaxTextWithMedia {
        max: u32,
        counting: Counting,
    },
    /// The limit of the text of a post with a video, where it is lower.
    MaxTextWithVideo {
        max: u32,
        counting: Counting,
    },
    MaxHashtags {
        /// Repeated ones count, too.
        max: u32,
    },
    MaxMentions {
        /// Repeated ones count, too.
        max: u32,
    },
    /// Different links in a post.
    MaxLinks {
        max: u32,
        /// An option whose link counts as well.
        option: Option<String>,
    },
    /// Options that this account requires, unlike other accounts of the platform.
    RequiredOptions {
        options: Vec<String>,
    },
    /// Options that the platform has for other accounts only.
    RefusedOptions {
        options: Vec<String>,
    },
    /// Options about a video, which must be the only file of its post.
    VideoOptions {
        options: Vec<String>,
    },
    ImageOptions {
        options: Vec<String>,
    },
    DocumentOptions {
        options: Vec<String>,
    },
    /// The length of the option `tags`: of all tags together, with a comma between two of them, and quotation marks
    /// around a tag with a space.
    MaxTagLength {
        /// In Unicode code points.
        max: u32,
    },
    /// The text is not shown. This rule is never violated.
    TextNotShown,
    /// The platform shows posts to the account alone until it has audited the operator's app. This rule is never
    /// violated.
    PrivateUntilAudit,
    /// The uploads that the platform accepts a day from all accounts of the deployment together. Further posts wait for
    /// the next day, so this rule is never violated.
    UploadsPerDay {
        max: u32,
    },
    /// Options that a person has to choose for each post, on a page that meets the platform's terms, before agreeing to
    /// them. Our pages ask for the consent; programs ask for it themselves, so this rule is never violated.
    ConsentOptions {
        options: Vec<String>,
    },
    /// Files alone are not accepted.
    TextRequired,
}

impl PostRule {
    /// For programs. Stored and shown to clients, so it never changes.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::MinImages { .. } => "min_images",
            Self::MinVideos { .. } => "min_videos",
            Self::NotWithMedia { .. } => "not_with_media",
            Self::MaxAllBytes { .. } => "max_all_bytes",
            Self::MinText { .. } => "min_text",
            Self::MaxTextWithMedia { .. } => "max_text_with_media",
            Self::MaxTextWithVideo { .. } => "max_text_with_video",
            Self::MaxHashtags { .. } => "max_hashtags",
            Self::MaxMentions { .. } => "max_mentions",
            Self::MaxLinks { .. } => "max_links",
            Self::RequiredOptions { .. } => "required_options",
            Self::RefusedOptions { .. } => "refused_options",
            Self::VideoOptions { .. } => "video_options",
            Self::ImageOptions { .. } => "image_options",
            Self::DocumentOptions { .. } => "document_options",
            Self::MaxTagLength { .. } => "max_tag_length",
            Self::TextNotShown => "text_not_shown",
            Self::PrivateUntilAudit => "private_until_audit",
            Self::UploadsPerDay { .. } => "uploads_per_day",
            Self::ConsentOptions { .. } => "consent_options",
            Self::TextRequired => "text_required",
        }
    }

    pub(super) fn field(&self, given: &Options) -> Cow<'static, str> {
        let field = match self {
            Self::MinImages { .. } | Self::MinVideos { .. } | Self::NotWithMedia { .. } | Self::MaxAllBytes { .. } => {
                "media"
            }
            Self::RequiredOptions { .. }
            | Self::RefusedOptions { .. }
            | Self::VideoOptions { .. }
            | Self::ImageOptions { .. }
            | Self::DocumentOptions { .. } => {
                return self.option(given).map_or("options".into(), |it| format!("options.{it}").into());
            }
            Self::MaxTagLength { .. } => "options.tags",
            _ => "content",
        };
        field.into()
    }

    fn option(&self, given: &Options) -> Option<&str> {
        let (names, is_fault): (_, fn(bool) -> bool) = match self {
            Self::RequiredOptions { options } => (options, |is_given| !is_given),
            Self::RefusedOptions { options }
            | Self::VideoOptions { options }
            | Self::ImageOptions { options }
            | Self::DocumentOptions { options } => (options, |is_given| is_given),
            _ => return None,
        };
        names.iter().map(String::as_str).find(|it| is_fault(given.get(it).is_some()))
    }

    pub(super) fn text_limit(&self, media: &[Attachment]) -> Option<(u32, Counting, &'static str)> {
        let has = |wanted| media.iter().any(|it| it.mime_type.file_type() == wanted);
        match self {
            Self::MaxTextWithMedia { .. } if media.is_empty() => None,
            Self::MaxTextWithMedia { max, counting } => {
                let with = if has(FileType::Document) { "a document" } else { "images or videos" };
                Some((*max, *counting, with))
            }
            Self::MaxTextWithVideo { max, counting } => has(FileType::Video).then_some((*max, *counting, "a video")),
            _ => None,
        }
    }

    pub(super) fn fault(&self, text: &str, media: &[Attachment], options: &Options) -> Option<String> {
        let count_of_type = |wanted| media.iter().filter(|it| it.mime_type.file_type() == wanted).count() as u64;
        match self {
            Self::MinImages { min } => min_violation(*min, count_of_type(FileType::Image), "image"),
            Self::MinVideos { min } => min_violation(*min, count_of_type(FileType::Video), "video"),
            Self::NotWithMedia { options: names } => {
                let name = names.iter().find(|it| options.get(it).is_some()).filter(|_| !media.is_empty())?;
                let files = number(media.len() as u64, "file");
                Some(format!("accepts {name} or images and videos in one post, not both; this has {name} and {files}"))
            }
            Self::MaxAllBytes { max } => {
                let all = media.iter().map(|it| it.size_bytes).fold(0, u64::saturating_add);
                (*max < all).then(|| {
                    let (limit, size) = distinguishable_sizes(*max, all);
                    format!("accepts images and videos of at most {limit} together; these have {size}")
                })
            }
            Self::MinText { min, counting } => {
                let (length, units) = (counting.length(text), counting.unit.noun());
                let remark = || counting.counting_note(text);
                (length < (*min).into()).then(|| format!("needs at least {min} {units}{}; this has {length}", remark()))
            }
            Self::MaxTextWithMedia { .. } | Self::MaxTextWithVideo { .. } => {
                let (max, counting, with) = self.text_limit(media)?;
                text_length_violation(max, counting, text, with)
            }
            Self::MaxHashtags { max } => max_violation(*max, tokens::hashtags(text) as u64, "hashtag"),
            Self::MaxMentions { max } => max_violation(*max, tokens::mentions(text) as u64, "mention"),
            Self::MaxLinks { max, option } => {
                let mut links: BTreeSet<&str> = tokens::links(text).map(|it| &text[it]).collect();
                links.extend(option.as_ref().and_then(|it| options.text(it)));
                max_violation(*max, links.len() as u64, "different link")
            }
            Self::RequiredOptions { .. } => {
                self.option(options).map(|it| format!("needs the option {it} for this account"))
            }
            Self::RefusedOptions { .. } => {
                self.option(options).map(|it| format!("does not accept the option {it} here; leave it out"))
            }
            Self::VideoOptions { .. } => {
                let name = self.option(options).filter(|_| media.len() != 1 || count_of_type(FileType::Video) == 0)?;
                Some(format!("accepts the option {name} only if a video is the only file; leave the option out"))
            }
            Self::ImageOptions { .. } => {
                let name = self.option(options).filter(|_| count_of_type(FileType::Image) == 0)?;
                Some(format!("accepts the option {name} only with images; leave the option out"))
            }
            Self::DocumentOptions { .. } => {
                let name = self.option(options).filter(|_| count_of_type(FileType::Document) == 0)?;
                Some(format!("accepts the option {name} only with a document; leave the option out"))
            }
            Self::MaxTagLength { max } => {
                let quoted = |it: &String| it.chars().count() + if it.contains(' ') { 2 } else { 0 };
                let tags = options.list("tags");
                let length = tags.iter().map(quoted).sum::<usize>() + tags.len().saturating_sub(1);
                (u64::from(*max) < length as u64)
                    .then(|| format!("accepts tags of at most {max} characters together; these have {length}"))
            }
            Self::TextNotShown | Self::PrivateUntilAudit | Self::UploadsPerDay { .. } | Self::ConsentOptions { .. } => {
                None
            }
            // Without files, every post has a text.
            Self::TextRequired => {
                (text.is_empty() && !media.is_empty()).then(|| "does not accept files alone; add a text".to_owned())
            }
        }
    }
}

fn min_violation(min: u32, actual: u64, noun: &str) -> Option<String> {
    (actual < min.into()).then(|| format!("needs at least {}; this has {actual}", number(min.into(), noun)))
}

fn max_violation(max: u32, actual: u64, noun: &str) -> Option<String> {
    (u64::from(max) < actual).then(|| format!("accepts at most {}; this has {actual}", number(max.into(), noun)))
}

fn text_length_violation(max: u32, counting: Counting, text: &str, with: &str) -> Option<String> {
    let (length, units) = (counting.length(text), counting.unit.noun());
    let remark = || counting.counting_note(text);
    (u64::from(max) < length)
        .then(|| format!("accepts at most {max} {units} with {with}{}; this has {length}", remark()))
}

pub(super) fn number(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A limit and a size beyond it. Fractions are rounded up, so both can look the same; then both are
/// in exact bytes.
pub(super) fn distinguishable_sizes(max: u64, size: u64) -> (String, String) {
    match (human_size(max), human_size(size)) {
        (limit, shown) if limit == shown => (number(max, "byte"), number(size, "byte")),
        different => different,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::MimeType;
    use crate::options::OptionValue;
    use crate::testing::an_attachment;

    fn fault(rule: &PostRule, text: &str, media: &[Attachment]) -> Option<String> {
        rule.fault(text, media, Options::NONE)
    }

    fn video() -> Attachment {
        Attachment { mime_type: MimeType::Mp4, ..an_attachment(1) }
    }

    #[test]
    fn post_may_need_images_or_videos() {
        let (image, one) = (an_attachment(1), PostRule::MinVideos { min: 1 });
        let two = PostRule::MinImages { min: 2 };
        assert_eq!(fault(&one, "a", &[video()]), None);
        assert_eq!(fault(&one, "a", std::slice::from_ref(&image)).unwrap(), "needs at least 1 video; this has 0");
        assert_eq!(fault(&two, "a", &[image.clone(), image.clone()]), None);
        assert_eq!(fault(&two, "a", &[image, video()]).unwrap(), "needs at least 2 images; this has 1");
    }

    #[test]
    fn files_may_be_too_large_together() {
        let rule = PostRule::MaxAllBytes { max: 5 << 20 };
        let attachment = |size_bytes| Attachment { size_bytes, ..an_attachment(1) };
        assert_eq!(fault(&rule, "a", &[]), None);
        assert_eq!(fault(&rule, "a", &[attachment(2 << 20), attachment(3 << 20)]), None);
        let expected = "accepts images and videos of at most 5 MiB together; these have 6 MiB";
        assert_eq!(fault(&rule, "a", &[attachment(3 << 20), attachment(3 << 20)]).unwrap(), expected);
        let (rule, expected) =
            (PostRule::MaxAllBytes { max: 5_300_000 }, "accepts images and videos of at most 5300000 bytes");
        assert_eq!(
            fault(&rule, "a", &[attachment(5_300_001)]).unwrap(),
            format!("{expected} together; these have 5300001 bytes")
        );
    }

    #[test]
    fn text_with_media_may_have_a_lower_limit() {
        let counting = Counting::utf16();
        let (media, of_video) =
            (PostRule::MaxTextWithMedia { max: 3, counting }, PostRule::MaxTextWithVideo { max: 2, counting });
        assert_eq!(fault(&media, "long enough", &[]), None);
        assert_eq!(fault(&media, "abc", &[an_attachment(1)]), None);
        let expected = "accepts at most 3 UTF-16 units with images or videos; this has 4";
        assert_eq!(fault(&media, "🎉🎉", &[an_attachment(1)]).unwrap(), expected);
        let document = Attachment { mime_type: MimeType::Pdf, ..an_attachment(1) };
        let expected = "accepts at most 3 UTF-16 units with a document; this has 4";
        assert_eq!(fault(&media, "abcd", &[document]).unwrap(), expected);
        assert_eq!(fault(&of_video, "abc", &[an_attachment(1)]), None);
        let expected = "accepts at most 2 UTF-16 units with a video; this has 3";
        assert_eq!(fault(&of_video, "abc", &[an_attachment(1), video()]).unwrap(), expected);
    }

    #[test]
    fn text_may_be_too_short() {
        let rule = PostRule::MinText { min: 3, counting: Counting::code_points() };
        assert_eq!(fault(&rule, "abc", &[]), None);
        assert_eq!(fault(&rule, "ab", &[]).unwrap(), "needs at least 3 characters; this has 2");
    }

    #[test]
    fn tags_have_a_length_together() {
        let tags = |tags: &[&str]| -> Options {
            let tags = OptionValue::List(tags.iter().map(|it| (*it).to_owned()).collect());
            [("tags".to_owned(), tags)].into_iter().collect()
        };
        let rule = PostRule::MaxTagLength { max: 9 };
        assert_eq!(rule.fault("a", &[], &tags(&["boat", "quay"])), None);
        let expected = "accepts tags of at most 9 characters together; these have 11";
        assert_eq!(rule.fault("a", &[], &tags(&["boat", "at 1"])).unwrap(), expected);
    }

    #[test]
    fn files_may_need_a_text() {
        let rule = PostRule::TextRequired;
        assert_eq!(fault(&rule, "a", &[video()]), None);
        assert_eq!(fault(&rule, "", &[video()]).unwrap(), "does not accept files alone; add a text");
    }

    #[test]
    fn hashtags_mentions_and_links_are_counted() {
        let text = "#one #two @me @you a.de a.de https://b.de/#x";
        for (rule, expected) in [
            (PostRule::MaxHashtags { max: 1 }, "accepts at most 1 hashtag; this has 2"),
            (PostRule::MaxMentions { max: 0 }, "accepts at most 0 mentions; this has 2"),
            (PostRule::MaxLinks { max: 1, option: None }, "accepts at most 1 different link; this has 2"),
        ] {
            assert_eq!(fault(&rule, text, &[]).unwrap(), expected);
        }
        for rule in [
            PostRule::MaxHashtags { max: 2 },
            PostRule::MaxMentions { max: 2 },
            PostRule::MaxLinks { max: 2, option: None },
        ] {
            assert_eq!(fault(&rule, text, &[]), None);
        }
    }

    #[test]
    fn option_counts_as_part_of_the_post() {
        let link = |it: &str| [("link".to_owned(), OptionValue::Text(it.to_owned()))].into_iter().collect::<Options>();
        let links = PostRule::MaxLinks { max: 1, option: Some("link".to_owned()) };
        assert_eq!(links.fault("https://a.de", &[], &link("https://a.de")), None);
        let expected = "accepts at most 1 different link; this has 2";
        assert_eq!(links.fault("https://a.de", &[], &link("https://b.de")).unwrap(), expected);

        let exclusive = PostRule::NotWithMedia { options: vec!["poll".to_owned(), "link".to_owned()] };
        assert_eq!(exclusive.fault("a", &[], &link("https://a.de")), None);
        assert_eq!(fault(&exclusive, "a", &[video()]), None);
        let expected = "accepts link or images and videos in one post, not both; this has link and 1 file";
        assert_eq!(exclusive.fault("a", &[video()], &link("https://a.de")).unwrap(), expected);
    }

    #[test]
    fn video_option_needs_a_video() {
        let rule = PostRule::VideoOptions { options: vec!["cover_ms".to_owned()] };
        let given = [("cover_ms".to_owned(), OptionValue::Number(1))].into_iter().collect::<Options>();
        assert_eq!(rule.fault("a", &[video()], &given), None);
        assert_eq!(fault(&rule, "a", &[an_attachment(1)]), None);
        let expected = "accepts the option cover_ms only if a video is the only file; leave the option out";
        for media in [vec![], vec![an_attachment(1)], vec![video(), video()]] {
            assert_eq!(rule.fault("a", &media, &given).unwrap(), expected);
        }
        assert_eq!(rule.field(&given), "options.cover_ms");
    }

    #[test]
    fn image_option_needs_an_image() {
        let rule = PostRule::ImageOptions { options: vec!["title".to_owned()] };
        let given = [("title".to_owned(), OptionValue::Text("Tides".to_owned()))].into_iter().collect::<Options>();
        assert_eq!(rule.fault("a", &[an_attachment(1)], &given), None);
        assert_eq!(fault(&rule, "a", &[video()]), None);
        let expected = "accepts the option title only with images; leave the option out";
        assert_eq!(rule.fault("a", &[video()], &given).unwrap(), expected);
        assert_eq!(rule.field(&given), "options.title");
    }

    #[test]
    fn document_option_needs_a_document() {
        let rule = PostRule::DocumentOptions { options: vec!["document_title".to_owned()] };
        let title = OptionValue::Text("Plan".to_owned());
        let given = [("document_title".to_owned(), title)].into_iter().collect::<Options>();
        let document = Attachment { mime_type: MimeType::Pdf, ..an_attachment(1) };
        assert_eq!(rule.fault("a", &[document], &given), None);
        assert_eq!(fault(&rule, "a", &[an_attachment(1)]), None);
        let expected = "accepts the option document_title only with a document; leave the option out";
        for media in [vec![], vec![an_attachment(1)]] {
            assert_eq!(rule.fault("a", &media, &given).unwrap(), expected);
        }
        assert_eq!(rule.field(&given), "options.document_title");
    }

    #[test]
    fn account_may_require_an_option_that_others_refuse() {
        let options = || vec!["a".to_owned(), "b".to_owned()];
        let (needs, refuses) =
            (PostRule::RequiredOptions { options: options() }, PostRule::RefusedOptions { options: options() });
        let given = |names: &[&str]| {
            names.iter().map(|it| ((*it).to_owned(), OptionValue::Text("x".to_owned()))).collect::<Options>()
        };
        let violation = |rule: &PostRule, names: &[&str]| {
            let given = given(names);
            Some((rule.field(&given).into_owned(), rule.fault("text", &[], &given)?))
        };
        let expected = |field: &str, message: &str| Some((field.to_owned(), message.to_owned()));

        assert_eq!(violation(&needs, &["a", "b"]), None);
        assert_eq!(violation(&needs, &["a"]), expected("options.b", "needs the option b for this account"));
        assert_eq!(violation(&refuses, &[]), None);
        let message = "does not accept the option b here; leave it out";
        assert_eq!(violation(&refuses, &["b"]), expected("options.b", message));
    }
}
