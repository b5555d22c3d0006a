//! A server's description of itself: its software and its limits.

use domain::media::{AltText, MimeType};
use domain::rules::{Counting, FileRule, Rule, Rules};
use domain::text::PostText;
use serde_json::{Value, json};

use super::software::Software;

// The limits of Mastodon as installed.
const CHARACTERS: u64 = 500;
const URL_CHARACTERS: u64 = 23;
const MEDIA: u64 = 4;
const IMAGE_BYTES: u64 = 16 << 20;
const VIDEO_BYTES: u64 = 99 << 20;
const DESCRIPTION: u64 = 10_000;

/// The description, from either version of the call.
#[derive(Debug)]
pub(super) struct Instance {
    answer: Value,
    pub(super) software: Software,
}

impl Instance {
    /// `None` if this is no instance: it names no software.
    pub(super) fn read(answer: Value) -> Option<Self> {
        let version = answer.get("version")?.as_str()?;
        let source_url = answer.get("source_url").and_then(Value::as_str).unwrap_or_default();
        let software = Software::detect(version, source_url);
        Some(Self { answer, software })
    }

    /// The domain of the server's accounts. Some servers state a URL here.
    pub(super) fn domain(&self) -> Option<&str> {
        let field = |name| self.answer.get(name).and_then(Value::as_str);
        field("domain").or_else(|| field("uri"))
    }

    /// `host` is the title of a server with unknown software.
    pub(super) fn rules(&self, host: &str) -> Rules {
        let software = self.software;
        let version = self.answer.get("version").and_then(Value::as_str).unwrap_or_default();
        let characters = self.statuses("max_characters").or_else(|| self.number("/max_toot_chars"));
        // This service accepts no longer text.
        let characters = characters.unwrap_or(CHARACTERS).min(PostText::MAX_CHARS as u64);
        let url = self.statuses("characters_reserved_per_url").unwrap_or(URL_CHARACTERS);
        let mut rules = vec![Rule::max_text(count(characters), software.counting(version, count(url)))];
        let warning = software.longest_warning();
        rules.extend(warning.map(|it| Rule::max_content_warning(it, Counting::code_points())));
        rules.extend(self.most_media().map(|it| Rule::max_media(count(it))));
        if !software.takes_videos() {
            rules.push(Rule::max_videos(1));
        }
        if !software.mixes() {
            rules.push(Rule::NotMixed);
        }
        if software.needs_media() {
            rules.push(Rule::MediaRequired);
        }
        rules.push(Rule::mime_types(self.mime_types()));
        // A file has to be smaller than the limit (`less_than` in the model).
        let bytes = |name, usual| self.media(name).or(self.number("/upload_limit")).unwrap_or(usual) - 1;
        rules.push(Rule::max_image_bytes(bytes("image_size_limit", IMAGE_BYTES)));
        rules.push(Rule::max_video_bytes(bytes("video_size_limit", VIDEO_BYTES)));
        let description = self.description_limit().unwrap_or_else(|| software.max_description_chars(version));
        let description = description.min(AltText::MAX_CHARS as u64);
        rules.push(Rule::max_alt_text(count(description), Counting::code_points()));
        let min_description = self.media("description_minimum");
        rules.extend(min_description.map(|it| Rule::min_alt_text(count(it), Counting::code_points())));
        rules.extend(self.file_rules().map(Rule::OfFiles));
        let rules = Rules::new(software.title(version).unwrap_or(host), rules);
        if software.has_threads() { rules.with_threads() } else { rules }
    }

    /// The rules about properties of files. Mastodon states them since 3.4.2; the defaults are from
    /// before.
    fn file_rules(&self) -> impl Iterator<Item = FileRule> {
        let limit = |name, before| match self.software {
            // GoToSocial states the greatest possible numbers, and Pixelfed those of Mastodon.
            // Neither enforces them.
            Software::GoToSocial | Software::Pixelfed => None,
            Software::Mastodon => self.media(name).or(Some(before)),
            Software::Pleroma | Software::Akkoma | Software::Other => self.media(name),
        };
        let image = limit("image_matrix_limit", 16_777_216).map(|max| FileRule::MaxImagePixels { max });
        let video = limit("video_matrix_limit", 2_304_000).map(|max| FileRule::MaxVideoPixels { max });
        let rate = limit("video_frame_rate_limit", 60).map(|it| FileRule::MaxFrameRate { max: count(it) });
        [image, video, rate].into_iter().flatten()
    }

    /// The most images and videos. Pleroma states nothing if there is no limit.
    fn most_media(&self) -> Option<u64> {
        let is_pleroma = matches!(self.software, Software::Pleroma | Software::Akkoma);
        self.statuses("max_media_attachments").or((!is_pleroma).then_some(MEDIA))
    }

    /// Mastodon and Pleroma state it in different places, and Pixelfed nowhere.
    fn description_limit(&self) -> Option<u64> {
        let limit = self.media("description_limit").or_else(|| self.number("/description_limit"));
        limit.or_else(|| self.number("/pleroma/metadata/description_limit"))
    }

    fn mime_types(&self) -> Vec<MimeType> {
        let supported = self.answer.pointer("/configuration/media_attachments/supported_mime_types");
        match supported.and_then(Value::as_array).filter(|it| !it.is_empty()) {
            Some(supported) => MimeType::IMAGES_AND_VIDEOS
                .into_iter()
                .filter(|it| supported.iter().any(|supported| supported == it.as_str()))
                .collect(),
            None => MimeType::IMAGES_AND_VIDEOS.to_vec(),
        }
    }

    fn statuses(&self, name: &str) -> Option<u64> {
        self.number(&format!("/configuration/statuses/{name}"))
    }

    fn media(&self, name: &str) -> Option<u64> {
        self.number(&format!("/configuration/media_attachments/{name}"))
    }

    fn number(&self, pointer: &str) -> Option<u64> {
        self.answer.pointer(pointer)?.as_u64().filter(|it| *it != 0)
    }
}

/// The rules of Mastodon as installed.
pub(super) fn stock_rules() -> Rules {
    let limits = json!({
        "image_matrix_limit": 33_177_600, "video_matrix_limit": 8_294_400, "video_frame_rate_limit": 120,
        "description_limit": DESCRIPTION,
    });
    let answer = json!({"configuration": {"media_attachments": limits}});
    Instance { answer, software: Software::Mastodon }.rules("Mastodon")
}

fn count(figure: u64) -> u32 {
    u32::try_from(figure).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(answer: Value) -> Rules {
        Instance::read(answer).unwrap().rules("harbour.example")
    }

    #[test]
    fn stock_rules_match_an_installed_mastodon() {
        let rules_of_server = rules(json!({
            "domain": "mastodon.social", "version": "4.5.2",
            "source_url": "https://github.com/mastodon/mastodon",
            "configuration": {
                "statuses": {"max_characters": 500, "max_media_attachments": 4, "characters_reserved_per_url": 23},
                "media_attachments": {
                    "supported_mime_types": [
                        "image/jpeg", "image/png", "image/gif", "image/heic", "image/webp", "video/webm", "video/mp4",
                        "video/quicktime", "audio/ogg",
                    ],
                    "image_size_limit": 16_777_216, "video_size_limit": 103_809_024,
                    "image_matrix_limit": 33_177_600, "video_matrix_limit": 8_294_400, "video_frame_rate_limit": 120,
                    "description_limit": 10_000,
                },
            },
        }));

        assert_eq!(rules_of_server, stock_rules());
        assert_eq!(
            rules_of_server.rules,
            [
                Rule::max_text(500, Counting::graphemes_of_unicode_15().url(23).short_mentions().with_warnings()),
                Rule::max_media(4),
                Rule::max_videos(1),
                Rule::NotMixed,
                Rule::mime_types(MimeType::IMAGES_AND_VIDEOS),
                Rule::max_image_bytes(16_777_215),
                Rule::max_video_bytes(103_809_023),
                Rule::max_alt_text(10_000, Counting::code_points()),
                Rule::OfFiles(FileRule::MaxImagePixels { max: 33_177_600 }),
                Rule::OfFiles(FileRule::MaxVideoPixels { max: 8_294_400 }),
                Rule::OfFiles(FileRule::MaxFrameRate { max: 120 }),
            ]
        );
        let old = rules(json!({"version": "3.3.0", "uri": "old.example"})).rules;
        let (of_old, of_stock) = (old.split_at(old.len() - 4), rules_of_server.rules.split_at(old.len() - 4));
        assert_eq!(of_old.0, of_stock.0);
        assert_eq!(
            of_old.1,
            [
                Rule::max_alt_text(1500, Counting::code_points()),
                Rule::OfFiles(FileRule::MaxImagePixels { max: 16_777_216 }),
                Rule::OfFiles(FileRule::MaxVideoPixels { max: 2_304_000 }),
                Rule::OfFiles(FileRule::MaxFrameRate { max: 60 }),
            ]
        );
    }

    #[test]
    fn unstated_alt_text_limit_depends_on_the_version() {
        for (version, longest) in [
            ("4.8.0-alpha.3+pr-41085-a68fedb", 10_000),
            ("4.7.0", 10_000),
            ("4.6.3", 1500),
            ("4.0.0rc1", 1500),
            ("3.3.0", 1500),
            ("0.19.1+git-5b0b3b9", 1500),
            ("4.7.0 (compatible; Other 5.0)", 1500),
        ] {
            let account_rules = rules(json!({"version": version})).rules;
            assert!(
                account_rules.contains(&Rule::max_alt_text(longest, Counting::code_points())),
                "{version}: {account_rules:?}"
            );
        }
    }

    #[test]
    fn text_is_counted_as_its_mastodon_version_does() {
        let current = Counting::graphemes().url(23).short_mentions().with_warnings();
        let account_rules = rules(json!({"version": "4.6.1+glitch"}));
        assert_eq!(account_rules.rules[0], Rule::max_text(500, current));
        let usual = stock_rules().rules;
        assert_eq!(account_rules.rules[1..account_rules.rules.len() - 4], usual[1..usual.len() - 4]);
    }

    #[test]
    fn gotosocial_counts_code_points_and_mixes() {
        let account_rules = rules(json!({
            "version": "0.19.1+git-5b0b3b9",
            "configuration": {
                "statuses": {"max_characters": 5000, "max_media_attachments": 6, "characters_reserved_per_url": 25},
                "media_attachments": {
                    "supported_mime_types": ["image/jpeg", "image/png", "video/mp4"],
                    "image_size_limit": 41_943_040, "video_size_limit": 41_943_040, "description_minimum": 12,
                    "image_matrix_limit": i32::MAX, "video_matrix_limit": i32::MAX, "video_frame_rate_limit": i32::MAX,
                },
            },
        }));

        assert_eq!(account_rules.title, "GoToSocial");
        assert_eq!(
            account_rules.rules,
            [
                Rule::max_text(5000, Counting::code_points().with_warnings()),
                Rule::max_media(6),
                Rule::mime_types([MimeType::Jpeg, MimeType::Png, MimeType::Mp4]),
                Rule::max_image_bytes(41_943_039),
                Rule::max_video_bytes(41_943_039),
                Rule::max_alt_text(1500, Counting::code_points()),
                Rule::min_alt_text(12, Counting::code_points()),
            ]
        );
    }

    #[test]
    fn limits_are_read_by_their_pleroma_names() {
        let account_rules = rules(json!({
            "version": "2.7.2 (compatible; Pleroma 2.5.5)", "max_toot_chars": 5000, "upload_limit": 16_000_000,
        }));

        assert_eq!(account_rules.title, "Pleroma");
        assert_eq!(
            account_rules.rules,
            [
                Rule::max_text(5000, Counting::graphemes_of_unicode_15().with_warnings()),
                Rule::mime_types(MimeType::IMAGES_AND_VIDEOS),
                Rule::max_image_bytes(15_999_999),
                Rule::max_video_bytes(15_999_999),
                Rule::max_alt_text(1500, Counting::code_points()),
            ]
        );
    }

    #[test]
    fn pixelfed_needs_a_picture() {
        let account_rules = rules(json!({
            "version": "3.5.3 (compatible; Pixelfed 0.12.3)",
            "configuration": {
                "statuses": {"max_characters": 500, "max_media_attachments": 10},
                "media_attachments": {"supported_mime_types": ["image/jpeg", "image/png"], "image_size_limit": 15_360_000},
            },
        }));

        assert_eq!(account_rules.title, "Pixelfed");
        // The warning is not part of the text there, and has its own limit.
        assert_eq!(account_rules.rules[0], Rule::max_text(500, Counting::code_points()));
        assert_eq!(account_rules.rules[1], Rule::max_content_warning(140, Counting::code_points()));
        assert!(account_rules.rules.contains(&Rule::MediaRequired) && account_rules.rules.contains(&Rule::NotMixed));
        assert!(
            account_rules.rules.contains(&Rule::max_media(10)) && !account_rules.rules.contains(&Rule::max_videos(1))
        );
        assert!(account_rules.rules.contains(&Rule::mime_types([MimeType::Jpeg, MimeType::Png])));
    }

    #[test]
    fn validation_messages_name_the_server() {
        for (version, title) in [
            ("4.5.2", "Mastodon"),
            ("2.7.2 (compatible; Akkoma 3.10.4-0-g)", "Akkoma"),
            ("4.2.1 (compatible; Iceshrimp.NET/2024.1)", "Iceshrimp.NET"),
            ("4.0.0 (compatible; Mitra 2.18.0)", "Mitra"),
            ("4.0.0 (not true; really snac/2.52)", "snac"),
            ("takahe/0.9", "takahe"),
            ("2024.1.0.1", "harbour.example"),
            ("4.2 (compatible; \u{7}<b>)", "harbour.example"),
        ] {
            assert_eq!(rules(json!({"version": version})).title, title, "{version}");
        }
    }

    #[test]
    fn limit_of_zero_is_ignored() {
        let configuration = json!({"statuses": {"max_characters": 0}, "media_attachments": {"image_size_limit": 0}});
        let silent = rules(json!({"version": "4.5.2"}));
        assert_eq!(rules(json!({"version": "4.5.2", "configuration": configuration})), silent);
    }

    #[test]
    fn response_without_a_version_is_no_instance() {
        for answer in [json!({}), json!([]), json!("4.5.2"), json!({"version": 4})] {
            assert!(Instance::read(answer).is_none());
        }
    }

    #[test]
    fn invalid_numbers_are_ignored() {
        let account_rules = rules(json!({
            "version": "4.5.2",
            "configuration": {"statuses": {"max_characters": "many"}, "media_attachments": {"supported_mime_types": []}},
        }));
        assert_eq!(account_rules, rules(json!({"version": "4.5.2"})));
        let huge = rules(json!({"version": "4.5.2", "configuration": {"statuses": {"max_characters": u64::MAX}}}));
        assert!(matches!(huge.rules[0], Rule::MaxText { max: 65_000, .. }), "no more than reaches us");
    }
}
