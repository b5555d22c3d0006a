use std::collections::BTreeSet;

use super::*;
use crate::media::{AltText, MimeType};
use crate::options::OptionValue;
use crate::testing::{an_attachment, rules, text};

fn many_rules() -> Rules {
    Rules::new(
        "Example",
        [
            Rule::max_text(300, Counting::graphemes().url(23).short_mentions()),
            Rule::max_text_bytes(3000),
            Rule::max_content_warning(5, Counting::code_points()),
            Rule::max_media(4),
            Rule::max_images(2),
            Rule::max_videos(1),
            Rule::NotMixed,
            Rule::MediaRequired,
            Rule::mime_types([MimeType::Jpeg, MimeType::Mp4]),
            Rule::max_image_bytes(20 << 20),
            Rule::max_video_bytes(60 << 20),
            Rule::max_alt_text(5, Counting::graphemes()),
        ],
    )
}

fn every_rule() -> Rules {
    let mut rules = many_rules();
    rules.rules.extend([
        Rule::min_alt_text(5, Counting::graphemes()),
        Rule::max_video_alt_text(5, Counting::graphemes(), 50),
        Rule::GifAlone,
        Rule::OfPost(PostRule::MinImages { min: 1 }),
        Rule::OfPost(PostRule::MinVideos { min: 1 }),
        Rule::OfPost(PostRule::NotWithMedia { options: vec!["link".to_owned()] }),
        Rule::OfPost(PostRule::MaxAllBytes { max: 1 << 20 }),
        Rule::OfPost(PostRule::MinText { min: 2, counting: Counting::code_points() }),
        Rule::OfPost(PostRule::MaxTextWithMedia { max: 20, counting: Counting::weighted() }),
        Rule::OfPost(PostRule::MaxTextWithVideo { max: 20, counting: Counting::emoji_bytes() }),
        Rule::OfPost(PostRule::MaxHashtags { max: 3 }),
        Rule::OfPost(PostRule::MaxMentions { max: 3 }),
        Rule::OfPost(PostRule::MaxLinks { max: 3, option: Some("link".to_owned()) }),
        Rule::OfPost(PostRule::VideoOptions { options: vec!["cover_ms".to_owned()] }),
        Rule::OfPost(PostRule::ImageOptions { options: vec!["title".to_owned()] }),
        Rule::OfPost(PostRule::TextNotShown),
        Rule::OfPost(PostRule::MaxTagLength { max: 500 }),
        Rule::OfPost(PostRule::PrivateUntilAudit),
        Rule::OfPost(PostRule::UploadsPerDay { max: 100 }),
        Rule::OfPost(PostRule::ConsentOptions { options: vec!["visibility".to_owned()] }),
        Rule::OfPost(PostRule::TextRequired),
    ]);
    rules
}

fn messages(rules: &Rules, raw: &str, media: &[Attachment]) -> Vec<String> {
    rules.breaches(&text(raw), media, &Options::default()).into_iter().map(|it| it.message).collect()
}

#[test]
fn message_has_platform_limit_and_value() {
    let violations = rules().breaches(&text(&"x".repeat(501)), &[], &Options::default());

    let message = "Sandbox accepts at most 500 characters; this has 501".to_owned();
    assert_eq!(violations, [RuleViolation { rule: "max_text", field: "content".into(), message }]);
}

#[test]
fn alt_text_of_a_video_has_lower_limits() {
    let rules = Rules::new("Example", [Rule::max_video_alt_text(10, Counting::graphemes(), 30)]);
    let violations = |mime_type, alt_text: &str| {
        let alt_text = Some(AltText::parse(alt_text).unwrap());
        messages(&rules, "a", &[Attachment { mime_type, alt_text, ..an_attachment(1) }])
    };
    assert_eq!(violations(MimeType::Jpeg, &"x".repeat(11)), Vec::<String>::new());
    assert_eq!(violations(MimeType::Mp4, &"x".repeat(10)), Vec::<String>::new());
    let long = "Example accepts alt texts of videos of at most 10 characters; the alt text of file 1 has 11";
    assert_eq!(violations(MimeType::Mp4, &"x".repeat(11)), [long]);
    let too_many_bytes = "Example accepts alt texts of videos of at most 30 bytes; the alt text of file 1 has 50";
    assert_eq!(violations(MimeType::Mp4, &"👨‍👩‍👧‍👦".repeat(2)), [too_many_bytes]);
}

#[test]
fn alt_text_may_be_required_with_a_minimum_length() {
    let rules = Rules::new("Example", [Rule::min_alt_text(3, Counting::code_points())]);
    let file = |alt_text: Option<&str>| Attachment {
        alt_text: alt_text.map(|it| AltText::parse(it).unwrap()),
        ..an_attachment(1)
    };
    assert_eq!(messages(&rules, "a", &[file(Some("🚣🚣🚣"))]), Vec::<String>::new());
    assert_eq!(messages(&rules, "a", &[]), Vec::<String>::new());
    assert_eq!(
        messages(&rules, "a", &[file(Some("boats")), file(Some("🚣🚣")), file(None)]),
        [
            "Example needs alt texts of at least 3 characters; the alt text of file 2 has 2",
            "Example needs alt texts of at least 3 characters; file 3 has none",
        ]
    );
}

#[test]
fn content_warning_counts_where_the_platform_counts_it() {
    let given = [("content_warning".to_owned(), OptionValue::Text("x".repeat(6)))].into_iter().collect();
    let messages_for = |counting: Counting| {
        let messages_for = Rules::new("Example", [Rule::max_text(10, counting)]).breaches(&text("words"), &[], &given);
        messages_for.into_iter().map(|it| it.message).collect::<Vec<_>>()
    };
    assert_eq!(messages_for(Counting::graphemes()), Vec::<String>::new());
    let message = "Example accepts at most 10 characters, the content warning included; this has 11";
    assert_eq!(messages_for(Counting::graphemes().with_warnings()), [message]);
}

#[test]
fn content_warning_may_have_its_own_limit() {
    let rules = Rules::new("Example", [Rule::max_content_warning(5, Counting::code_points())]);
    let violations = |warning: &str| {
        let given = [("content_warning".to_owned(), OptionValue::Text(warning.to_owned()))].into_iter().collect();
        rules.breaches(&text("words"), &[], &given)
    };
    assert_eq!(violations("boats"), []);
    let message = "Example accepts at most 5 characters as a content warning; this has 6".to_owned();
    assert_eq!(
        violations("boats!"),
        [RuleViolation { rule: "max_content_warning", field: "options.content_warning".into(), message }]
    );
    assert_eq!(messages(&rules, &"x".repeat(10), &[]), Vec::<String>::new());
}

#[test]
fn valid_post_violates_no_rule() {
    assert_eq!(messages(&rules(), &"x".repeat(500), &[]), Vec::<String>::new());
    let large = vec![an_attachment(20 << 20); 2];
    assert_eq!(messages(&many_rules(), &"🎉".repeat(300), &large), Vec::<String>::new());
}

#[test]
fn all_violations_are_returned_at_once() {
    let large = |mime_type, size_bytes| Attachment { mime_type, size_bytes, ..an_attachment(1) };
    let mut media = vec![large(MimeType::Gif, 21 << 20); 3];
    media.extend([large(MimeType::Mp4, 61 << 20), large(MimeType::Quicktime, 1)]);
    media[3].alt_text = Some(AltText::parse(&"🚣".repeat(5)).unwrap());
    media[4].alt_text = Some(AltText::parse(&"👨‍👩‍👧‍👦".repeat(6)).unwrap());

    let violations = many_rules().breaches(&text(&"👨‍👩‍👧‍👦".repeat(301)), &media, &Options::default());

    let named: Vec<_> = violations.iter().map(|it| (it.rule, &*it.field, it.message.as_str())).collect();
    let gif = ("mime_types", "media", "Example accepts image/jpeg, video/mp4, not image/gif");
    let large_gif = ("max_image_bytes", "media", "Example accepts images of at most 20 MiB; this has 21 MiB");
    assert_eq!(
        named,
        [
            ("max_text", "content", "Example accepts at most 300 characters; this has 301"),
            ("max_text_bytes", "content", "Example accepts at most 3000 bytes; this has 7525"),
            ("max_media", "media", "Example accepts at most 4 images and videos together; this has 5"),
            ("max_images", "media", "Example accepts at most 2 images; this has 3"),
            ("max_videos", "media", "Example accepts at most 1 video; this has 2"),
            (
                "not_mixed",
                "media",
                "Example accepts images or videos in one post, not both; this has 3 images and 2 videos"
            ),
            gif,
            gif,
            gif,
            ("mime_types", "media", "Example accepts image/jpeg, video/mp4, not video/quicktime"),
            large_gif,
            large_gif,
            large_gif,
            ("max_video_bytes", "media", "Example accepts videos of at most 60 MiB; this has 61 MiB"),
            (
                "max_alt_text",
                "media",
                "Example accepts alt texts of at most 5 characters; the alt text of file 5 has 6"
            ),
        ]
    );
}

#[test]
fn size_that_looks_like_the_limit_is_shown_in_bytes() {
    let below_16_mib = Rules::new("Example", vec![Rule::max_image_bytes((16 << 20) - 1)]);
    let image = Attachment { size_bytes: 16 << 20, ..an_attachment(1) };

    let message = "Example accepts images of at most 16777215 bytes; this has 16777216 bytes";
    assert_eq!(messages(&below_16_mib, "Look", &[image]), [message]);
}

#[test]
fn gif_shown_as_a_video_must_be_the_only_file() {
    let rules = Rules::new("Example", [Rule::GifAlone]);
    let attachment = |mime_type| Attachment { mime_type, ..an_attachment(1) };

    assert_eq!(messages(&rules, "words", &[attachment(MimeType::Gif)]), Vec::<String>::new());
    assert_eq!(
        messages(&rules, "words", &[attachment(MimeType::Png), attachment(MimeType::Jpeg)]),
        Vec::<String>::new()
    );
    let messages_for_two = messages(&rules, "words", &[attachment(MimeType::Png), attachment(MimeType::Gif)]);
    assert_eq!(messages_for_two, ["Example accepts a GIF as the only file of a post; this has 2 files"]);
}

#[test]
fn document_must_be_the_only_file() {
    let rules = Rules::new("Example", [Rule::DocumentAlone, Rule::max_document_bytes(1 << 20)]);
    let attachment = |mime_type, size_bytes| Attachment { mime_type, ..an_attachment(size_bytes) };
    let document = attachment(MimeType::Pdf, 1 << 20);

    assert_eq!(messages(&rules, "words", std::slice::from_ref(&document)), Vec::<String>::new());
    let images = [attachment(MimeType::Png, 2 << 20), attachment(MimeType::Jpeg, 1)];
    assert_eq!(messages(&rules, "words", &images), Vec::<String>::new());
    for other in [MimeType::Png, MimeType::Mp4, MimeType::Pdf] {
        let files = [document.clone(), attachment(other, 1)];
        let expected = "Example accepts a document as the only file of a post; this has 2 files";
        assert_eq!(messages(&rules, "words", &files), [expected]);
    }
    let expected = "Example accepts documents of at most 1 MiB; this has 2 MiB";
    assert_eq!(messages(&rules, "words", &[attachment(MimeType::Pdf, 2 << 20)]), [expected]);
}

#[test]
fn shown_limit_is_the_one_that_leaves_the_least_room() {
    let with_media = Rule::OfPost(PostRule::MaxTextWithMedia { max: 5, counting: Counting::code_points() });
    let rules = Rules::new("Example", [Rule::max_text(10, Counting::code_points().with_warnings()), with_media]);
    let warning = [("content_warning".to_owned(), OptionValue::Text("x".repeat(8)))].into_iter().collect();
    let length = |media: &[Attachment], options: &Options| {
        let length = rules.text_length("words!", media, options).unwrap();
        (length.to_string(), length.room())
    };

    assert_eq!(length(&[], Options::NONE), ("6 of 10 characters".to_owned(), 4));
    assert_eq!(length(&[an_attachment(1)], Options::NONE), ("6 of 5 characters".to_owned(), -1));
    assert_eq!(length(&[an_attachment(1)], &warning), ("14 of 10 characters".to_owned(), -4));
    assert_eq!(Rules::new("Example", []).text_length("words!", &[], Options::NONE), None);
}

#[test]
fn media_may_be_required() {
    assert_eq!(messages(&many_rules(), "words", &[]), ["Example needs at least 1 image or video; this has 0"]);
    assert_eq!(messages(&rules(), "words", &[]), Vec::<String>::new());
}

#[test]
fn byte_limit_counts_links_as_displayed() {
    let long = format!("https://example.com/{}", "a".repeat(100));
    let rules = |rule| Rules::new("Example", [rule]);

    assert_eq!(messages(&rules(Rule::max_shown_text_bytes(30)), &long, &[]), Vec::<String>::new());
    let counted = messages(&rules(Rule::max_text_bytes(30)), &long, &[]);
    assert_eq!(counted, ["Example accepts at most 30 bytes; this has 120"]);
    let still = messages(&rules(Rule::max_shown_text_bytes(20)), &long, &[]);
    assert_eq!(still, ["Example accepts at most 20 bytes; this has 27"]);
}

#[test]
fn message_explains_how_links_count() {
    let rules = Rules::new("Example", [Rule::max_text(30, Counting::graphemes().url(23))]);

    let weighted = Rules::new("Example", [Rule::max_text(30, Counting::weighted())]);

    let with_link = messages(&rules, "what a read: https://example.com/", &[]);
    let without = messages(&rules, &"x".repeat(31), &[]);

    assert_eq!(
        messages(&weighted, "read example.com", &[]),
        Vec::<String>::new(),
        "a link without a scheme is one, and 28 are no more than 30"
    );
    assert_eq!(
        messages(&weighted, "read example.com now 🎉", &[]),
        [concat!(
            "Example accepts at most 30 characters (each link counts as 23, emoji and letters such as 字 count as 2); ",
            "this has 35"
        )]
    );
    assert_eq!(with_link, ["Example accepts at most 30 characters (each link counts as 23); this has 36"]);
    assert_eq!(without, ["Example accepts at most 30 characters; this has 31"]);
}

#[test]
fn messages_name_the_unit() {
    let first_message = |rule| messages(&Rules::new("Example", [rule]), "ab🎉", &[]).remove(0);
    for (rule, message) in [
        (Rule::max_text(1, Counting::graphemes()), "Example accepts at most 1 characters; this has 3"),
        (Rule::max_text(2, Counting::code_points()), "Example accepts at most 2 characters; this has 3"),
        (Rule::max_text(2, Counting::utf16()), "Example accepts at most 2 UTF-16 units; this has 4"),
        (
            Rule::max_text(2, Counting::weighted()),
            "Example accepts at most 2 characters (emoji and letters such as 字 count as 2); this has 4",
        ),
        (
            Rule::max_text(2, Counting::emoji_bytes()),
            "Example accepts at most 2 characters (an emoji counts as 4 or more); this has 6",
        ),
        (Rule::max_text_bytes(2), "Example accepts at most 2 bytes; this has 6"),
    ] {
        assert_eq!(first_message(rule), message);
    }
}

#[test]
fn rule_id_is_unique_and_stored() {
    let every = every_rule().rules;
    let ids: BTreeSet<_> = every.iter().map(Rule::id).collect();
    assert_eq!(ids.len(), every.len());
    for rule in &every {
        assert_eq!(serde_json::to_value(rule).unwrap()["id"], rule.id());
    }
}

#[test]
fn stored_rules_read_back() {
    let stored = serde_json::to_string(&every_rule()).unwrap();
    assert_eq!(serde_json::from_str::<Rules>(&stored).unwrap(), every_rule());
}

#[test]
fn unknown_rules_leave_the_connection_readable() {
    let later = r#"{"title":"Example","rules":[{"id":"max_polls","max":1},{"id":"max_images","max":4,"more":true}]}"#;

    assert_eq!(serde_json::from_str::<Rules>(later).unwrap(), Rules::new("Example", [Rule::max_images(4)]));
}

/// A reel needs one video, and is the default; a story has no video.
fn depending() -> Rules {
    let reel = OptionCondition::option("kind", ["reel", "clip"]).or_absent();
    Rules::new("Example", [Rule::max_text(5, Counting::code_points())])
        .with_rules_when(reel, [Rule::OfPost(PostRule::MinVideos { min: 1 }), Rule::max_videos(1)])
        .with_rules_when(OptionCondition::option("quiet", [true]), [Rule::OfPost(PostRule::MaxHashtags { max: 0 })])
}

#[test]
fn rule_may_depend_on_an_option() {
    let violations = |options: Options| {
        let found = depending().breaches(&text("#words"), &[], &options);
        found.into_iter().map(|it| (it.field.into_owned(), it.message)).collect::<Vec<_>>()
    };
    let options = |name: &str, value: OptionValue| [(name.to_owned(), value)].into_iter().collect::<Options>();

    let always = ("content".to_owned(), "Example accepts at most 5 characters; this has 6".to_owned());
    assert_eq!(violations(options("kind", "story".into())), std::slice::from_ref(&always));
    let reel = ("media".to_owned(), "Example, if kind is clip, needs at least 1 video; this has 0".to_owned());
    assert_eq!(violations(options("kind", "clip".into())), [always.clone(), reel]);
    let absent = ("media".to_owned(), "Example, if kind is left out, needs at least 1 video; this has 0".to_owned());
    assert_eq!(violations(Options::default()), [always.clone(), absent.clone()]);
    let quiet = ("content".to_owned(), "Example, if quiet is true, accepts at most 0 hashtags; this has 1".to_owned());
    assert_eq!(violations(options("quiet", true.into())), [always, absent, quiet]);
}

#[test]
fn dependent_rules_are_stored_apart_from_other_rules() {
    let stored = serde_json::to_value(depending()).unwrap();
    assert_eq!(serde_json::from_value::<Rules>(stored.clone()).unwrap(), depending());
    assert_eq!(stored["rules"].as_array().unwrap().len(), 1, "only the rules without a condition");

    let mut later = stored;
    later["depending"][0]["rules"][0]["id"] = "later".into();
    later["depending"][1]["when"] = "later".into();
    let read = serde_json::from_value::<Rules>(later).unwrap();
    assert_eq!(read.depending.len(), 1);
    assert_eq!(read.depending[0].rules, [Rule::max_videos(1)]);
    let always = serde_json::to_value(rules()).unwrap();
    assert!(always.get("depending").is_none());
}
