//! Validation when a post is scheduled.

use domain::media::{AltText, Attachment, Facts, MimeType, Pixels, VideoCodec};
use domain::options::{OptionValue, Options};
use domain::testing::an_attachment;
use domain::text::PostText;
use domain::validation_errors::ValidationErrors;
use platforms::Account;

use super::{harness, list, options, text};

fn breaches(account: &Account, text: &str, media: &[Attachment], options: &Options) -> Vec<String> {
    let errors = account.rules.breaches(&PostText::parse(text).unwrap(), media, options);
    errors.into_iter().map(|it| it.message).collect()
}

fn file(mime_type: MimeType, size_bytes: u64, facts: Facts) -> Attachment {
    Attachment { mime_type, facts: Some(facts), ..an_attachment(size_bytes) }
}

fn facts_with_size(width: u32, height: u32) -> Facts {
    Facts { pixels: Pixels::new(width, height), ..Facts::default() }
}

#[tokio::test]
async fn a_text_has_500_characters_and_an_emoji_counts_its_bytes() {
    let (_, account) = harness().await;
    let violations = |text: &str| breaches(&account, text, &[], Options::NONE);

    assert_eq!(violations(&"x".repeat(500)), Vec::<String>::new());
    assert_eq!(violations(&"x".repeat(501)), ["Threads accepts at most 500 characters; this has 501"]);
    assert_eq!(violations(&"字".repeat(500)), Vec::<String>::new());
    assert_eq!(violations(&"🎉".repeat(125)), Vec::<String>::new());
    let violations = violations(&"🎉".repeat(126));
    assert_eq!(violations, ["Threads accepts at most 500 characters (an emoji counts as 4 or more); this has 504"]);
}

#[tokio::test]
async fn a_post_has_5_different_links_the_attached_one_included() {
    let (_, account) = harness().await;
    let links = |count: usize| (0..count).map(|it| format!("https://{it}.example.com")).collect::<Vec<_>>().join(" ");
    let attached = options(&[("link_attachment", text("https://other.example.com"))]);

    assert!(breaches(&account, &links(5), &[], Options::NONE).is_empty());
    assert!(breaches(&account, &format!("{} {}", links(5), links(5)), &[], Options::NONE).is_empty());
    assert!(breaches(&account, &links(4), &[], &attached).is_empty());
    let violations = ["Threads accepts at most 5 different links; this has 6"];
    assert_eq!(breaches(&account, &links(6), &[], Options::NONE), violations);
    assert_eq!(breaches(&account, &links(5), &[], &attached), violations);
}

#[tokio::test]
async fn a_post_has_20_files_of_the_kinds_that_threads_takes() {
    let (_, account) = harness().await;
    let violations = |files: &[Attachment]| breaches(&account, "look", files, Options::NONE);
    let (image, video) = (an_attachment(1), file(MimeType::Mp4, 1, Facts::default()));
    let mixed: Vec<_> = (0..20).map(|it| if it % 2 == 0 { image.clone() } else { video.clone() }).collect();

    assert!(violations(&mixed).is_empty());
    let told_of = violations(&[mixed, vec![image.clone()]].concat());
    assert_eq!(told_of, ["Threads accepts at most 20 images and videos together; this has 21"]);
    assert_eq!(violations(&[Attachment { mime_type: MimeType::Gif, ..image.clone() }]).len(), 1);
    for mime_type in [MimeType::Jpeg, MimeType::Png, MimeType::Webp, MimeType::Quicktime] {
        assert!(violations(&[Attachment { mime_type, ..image.clone() }]).is_empty(), "{mime_type:?}");
    }
    let words = |count: usize| AltText::parse(&"字".repeat(count)).ok();
    assert!(violations(&[Attachment { alt_text: words(1_000), ..image.clone() }]).is_empty());
    let told_of = violations(&[Attachment { alt_text: words(1_001), ..image }]);
    assert_eq!(told_of, ["Threads accepts alt texts of at most 1000 characters; the alt text of file 1 has 1001"]);
}

#[tokio::test]
async fn files_are_measured_by_what_threads_takes() {
    let (_, account) = harness().await;
    let violations = |file: Attachment| breaches(&account, "look", &[file], Options::NONE).len();
    let (jpeg, mp4) = (MimeType::Jpeg, MimeType::Mp4);
    let film = |facts: Facts| violations(file(mp4, 1, facts));
    let runs = |duration_ms: u64| Facts { duration_ms: Some(duration_ms), ..Facts::default() };
    let coded = |codec: VideoCodec| Facts { codec: Some(codec), ..Facts::default() };
    let rate = |rate: u32| Facts { milli_frames_per_second: Some(rate), ..Facts::default() };

    // The service resizes a large picture.
    assert_eq!(
        (violations(file(jpeg, 8_000_001, Facts::default())), violations(file(jpeg, 1, facts_with_size(1_000, 100)))),
        (0, 0)
    );
    assert_eq!(
        (
            violations(file(jpeg, 1, facts_with_size(1_010, 100))),
            violations(file(jpeg, 1, facts_with_size(100, 1_010)))
        ),
        (1, 1)
    );
    assert_eq!(
        (
            violations(file(mp4, 1_000_000_000, Facts::default())),
            violations(file(mp4, 1_000_000_001, Facts::default()))
        ),
        (0, 1)
    );
    assert_eq!((film(runs(300_000)), film(runs(300_001))), (0, 1));
    assert_eq!((film(coded(VideoCodec::H264)), film(coded(VideoCodec::Hevc)), film(coded(VideoCodec::Vp9))), (0, 0, 1));
    assert_eq!((film(rate(60_000)), film(rate(61_000))), (0, 1));
    assert_eq!((film(rate(23_000)), film(rate(22_000))), (0, 1));
    assert_eq!((film(facts_with_size(1_920, 3_840)), film(facts_with_size(1_921, 1_080))), (0, 1));
    assert_eq!(
        (film(facts_with_size(1_000, 100)), film(facts_with_size(1_010, 100)), film(facts_with_size(1, 100))),
        (0, 1, 0)
    );
}

#[tokio::test]
async fn links_and_polls_go_with_a_text_alone() {
    let (_, account) = harness().await;
    let files = [an_attachment(1)];
    for (name, value) in [("link_attachment", text("https://a.example")), ("poll_options", list(&["Tea", "Coffee"]))] {
        let given = options(&[(name, value)]);
        assert!(breaches(&account, "which?", &[], &given).is_empty());
        let violations =
            format!("Threads accepts {name} or images and videos in one post, not both; this has {name} and 1 file");
        assert_eq!(breaches(&account, "which?", &files, &given), [violations]);
    }
}

#[tokio::test]
async fn options_are_checked_and_a_wrong_one_says_what_it_may_be() {
    let long = "x".repeat(51);
    for (name, value, is_fine) in [
        ("topic_tag", text("Lighthouses at night"), true),
        ("topic_tag", text("#Lighthouses"), true),
        ("topic_tag", text("# "), false),
        ("topic_tag", text("a.b"), false),
        ("topic_tag", text("a&b"), false),
        ("topic_tag", text(&long), false),
        ("reply_settings", text("followers_only"), true),
        ("reply_settings", text("nobody"), false),
        ("link_attachment", text("https://a.example/b"), true),
        ("link_attachment", text("a.example"), false),
        ("poll_options", list(&["Tea", "Coffee", "Milk", "Water"]), true),
        ("poll_options", list(&["Tea"]), false),
        ("poll_options", list(&["Tea", "Tea "]), false),
        ("poll_options", list(&["Tea", "A cup of coffee with cream"]), false),
        ("poll_options", OptionValue::Flag(true), false),
    ] {
        let mut faults = ValidationErrors::new();
        platforms::vocabulary().check_values("threads", &options(&[(name, value.clone())]), "o", &mut faults);
        assert_eq!(faults.iter().count() == 0, is_fine, "{name} {value:?}");
    }
}
