//! Validation when a post is scheduled.

use domain::media::{AltText, Attachment, Facts, MimeType, Pixels, VideoCodec};
use domain::options::Options;
use domain::testing::an_attachment;
use domain::validation_errors::ValidationErrors;
use platforms::Account;

use super::{harness, list, options, text};

fn breaches(account: &Account, text: &str, media: &[Attachment], options: &Options) -> Vec<String> {
    account.rules.breaches(text, media, options).into_iter().map(|it| it.message).collect()
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
async fn files_are_measured_by_what_threads_takes() {
    let (_, account) = harness().await;
    let file = |mime_type, size_bytes, facts| Attachment { mime_type, facts: Some(facts), ..an_attachment(size_bytes) };
    let video = |facts| file(MimeType::Mp4, 1, facts);
    let sized = |width, height| Facts { pixels: Pixels::new(width, height), ..Facts::default() };
    let runs = |duration_ms| Facts { duration_ms: Some(duration_ms), ..Facts::default() };
    let coded = |codec| Facts { codec: Some(codec), ..Facts::default() };
    let rate = |rate| Facts { milli_frames_per_second: Some(rate), ..Facts::default() };
    let words = |count| Attachment { alt_text: AltText::parse(&"字".repeat(count)).ok(), ..an_attachment(1) };
    let (jpeg, mp4) = (MimeType::Jpeg, MimeType::Mp4);
    for (file, is_taken) in [
        // The service resizes a large picture.
        (file(jpeg, 8_000_001, Facts::default()), true),
        (file(jpeg, 1, sized(1_000, 100)), true),
        (file(jpeg, 1, sized(1_010, 100)), false),
        (file(jpeg, 1, sized(100, 1_010)), false),
        (file(MimeType::Gif, 1, Facts::default()), false),
        (file(mp4, 1_000_000_000, Facts::default()), true),
        (file(mp4, 1_000_000_001, Facts::default()), false),
        (video(runs(300_000)), true),
        (video(runs(300_001)), false),
        (video(coded(VideoCodec::H264)), true),
        (video(coded(VideoCodec::Hevc)), true),
        (video(coded(VideoCodec::Vp9)), false),
        (video(rate(60_000)), true),
        (video(rate(61_000)), false),
        (video(rate(23_000)), true),
        (video(rate(22_000)), false),
        (video(sized(1_920, 3_840)), true),
        (video(sized(1_921, 1_080)), false),
        (video(sized(1_000, 100)), true),
        (video(sized(1_010, 100)), false),
        (video(sized(1, 100)), true),
        (words(1_000), true),
        (words(1_001), false),
    ] {
        let errors = breaches(&account, "look", std::slice::from_ref(&file), Options::NONE);
        assert_eq!(errors.is_empty(), is_taken, "{file:?}: {errors:?}");
    }
    let errors = breaches(&account, "look", &vec![an_attachment(1); 21], Options::NONE);
    assert_eq!(errors, ["Threads accepts at most 20 images and videos together; this has 21"]);
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
        ("poll_options", list(&["Tea", "A cup of coffee with cream"]), false),
    ] {
        let mut faults = ValidationErrors::new();
        platforms::vocabulary().check_values("threads", &options(&[(name, value.clone())]), "o", &mut faults);
        assert_eq!(faults.iter().count() == 0, is_fine, "{name} {value:?}");
    }
}
