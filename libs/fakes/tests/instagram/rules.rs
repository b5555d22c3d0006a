//! Validation when a post is scheduled.

use std::slice::from_ref;

use domain::media::{AltText, Attachment, Facts, MimeType, Pixels, VideoCodec};
use domain::options::{OptionValue, Options};
use domain::rules::Rules;
use domain::testing::an_attachment;
use domain::text::PostText;
use domain::validation_errors::ValidationErrors;

use super::{harness, list, options, text};

fn file(mime_type: MimeType, size_bytes: u64, facts: Facts) -> Attachment {
    Attachment { mime_type, facts: Some(facts), ..an_attachment(size_bytes) }
}

fn image(width: u32, height: u32) -> Attachment {
    file(MimeType::Jpeg, 1, Facts { pixels: Pixels::new(width, height), ..Facts::default() })
}

fn film(seconds: u64) -> Attachment {
    file(MimeType::Mp4, 1, Facts { duration_ms: Some(seconds * 1_000), ..Facts::default() })
}

fn violations_in(rules: &Rules, words: &str, media: &[Attachment], given: &[(&str, OptionValue)]) -> Vec<String> {
    let errors = rules.breaches(&PostText::parse(words).unwrap(), media, &options(given));
    errors.into_iter().map(|it| it.message).collect()
}

#[tokio::test]
async fn validation_errors_name_the_limit() {
    let (_, account) = harness().await;
    let rules = &account.rules;
    let none = Vec::<String>::new();
    let (story, reel, post) = (("kind", text("story")), ("kind", text("reel")), ("kind", text("post")));

    assert_eq!(violations_in(rules, "a", &[], &[]), ["Instagram needs at least 1 image or video; this has 0"]);
    assert_eq!(violations_in(rules, &"x".repeat(2_200), &[image(1, 1)], &[]), none);
    assert_eq!(
        violations_in(rules, &"x".repeat(2_201), &[image(1, 1)], from_ref(&post)),
        ["Instagram, if kind is post, accepts at most 2200 UTF-16 units; this has 2201"]
    );
    assert_eq!(violations_in(rules, &"x".repeat(2_201), &[image(1, 1)], from_ref(&story)), none, "it is not shown");
    assert_eq!(violations_in(rules, &"#a ".repeat(31), &[image(1, 1)], &[]).len(), 1);
    assert_eq!(violations_in(rules, &"@a ".repeat(21), &[image(1, 1)], &[]).len(), 1);
    let mixed: Vec<_> = (0..5).flat_map(|_| [image(1, 1), film(9)]).collect();
    assert_eq!(violations_in(rules, "a", &mixed, &[]), none);
    assert_eq!(violations_in(rules, "a", &[mixed, vec![film(9)]].concat(), &[]).len(), 1);
    assert_eq!(
        violations_in(
            rules,
            "a",
            &[an_attachment(1), Attachment { mime_type: MimeType::Gif, ..an_attachment(2) }],
            &[]
        )
        .len(),
        1
    );

    assert_eq!(violations_in(rules, "a", &[image(4, 5), image(191, 100)], &[]), none);
    assert_eq!(
        violations_in(rules, "a", &[image(1080, 1920)], &[]),
        [
            "Instagram, if kind is left out, accepts images from 4:5 to 1.91:1 (width to height); file 1 has 1080 × 1920 \
          pixels; crop it, or set the option fit to borders to add white borders"
        ]
    );
    for given in [("fit", text("borders")), story.clone()] {
        assert_eq!(violations_in(rules, "a", &[image(1080, 1920)], &[given]), none);
    }

    assert_eq!(violations_in(rules, "a", &[film(2)], &[]).len(), 1);
    assert_eq!(violations_in(rules, "a", &[film(900)], from_ref(&reel)), none);
    assert_eq!(violations_in(rules, "a", &[film(901)], from_ref(&reel)).len(), 1);
    assert_eq!(violations_in(rules, "a", &[film(61)], from_ref(&story)).len(), 1);
    let large = |mb: u64| file(MimeType::Mp4, mb * 1_000_000, Facts::default());
    assert_eq!(violations_in(rules, "a", &[large(300)], &[]), none);
    assert_eq!(violations_in(rules, "a", &[large(301)], &[]).len(), 1);
    assert_eq!(violations_in(rules, "a", &[large(101)], from_ref(&story)).len(), 1);
    let of = |facts: Facts| violations_in(rules, "a", &[file(MimeType::Mp4, 1, facts)], &[]).len();
    assert_eq!(of(Facts { codec: Some(VideoCodec::Av1), ..Facts::default() }), 1);
    assert_eq!(of(Facts { milli_frames_per_second: Some(120_000), ..Facts::default() }), 1);
    assert_eq!(of(Facts { milli_frames_per_second: Some(15_000), ..Facts::default() }), 1);
    assert_eq!(of(Facts { pixels: Pixels::new(1_100, 100), ..Facts::default() }), 1);
    assert_eq!(of(Facts { pixels: Pixels::new(1_080, 1_920), ..Facts::default() }), 0);
    assert_eq!(of(Facts { pixels: Pixels::new(2_160, 3_840), ..Facts::default() }), 1);

    let described = |count| Attachment { alt_text: AltText::parse(&"x".repeat(count)).ok(), ..image(1, 1) };
    assert_eq!(violations_in(rules, "a", &[described(1_000)], &[]), none);
    assert_eq!(violations_in(rules, "a", &[described(1_001)], &[]).len(), 1);
}

#[tokio::test]
async fn mismatched_kinds_and_options_are_validation_errors() {
    let (_, account) = harness().await;
    let violations =
        |media: &[Attachment], given: &[(&str, OptionValue)]| violations_in(&account.rules, "a", media, given);
    let (story, reel) = (("kind", text("story")), ("kind", text("reel")));
    assert_eq!(
        violations(&[image(1, 1)], from_ref(&reel)),
        ["Instagram, if kind is reel, needs at least 1 video; this has 0"]
    );
    assert_eq!(violations(&[film(9), film(9)], &[reel]).len(), 1);
    assert_eq!(violations(&[film(9), image(1, 1)], from_ref(&story)).len(), 1);
    for (name, value) in [
        ("collaborators", list(&["a"])),
        ("first_comment", text("a")),
        ("fit", text("borders")),
        ("location", text("1")),
    ] {
        let said = violations(&[image(1, 1)], &[story.clone(), (name, value)]);
        let expected = format!("Instagram, if kind is story, does not accept the option {name} here; leave it out");
        assert_eq!(said, [expected]);
    }
    assert_eq!(violations(&[film(9)], &[story.clone(), ("cover_ms", OptionValue::Number(1))]).len(), 1);
    let cover = [("cover_ms", OptionValue::Number(1))];
    assert_eq!(violations(&[film(9)], &cover), Vec::<String>::new());
    assert_eq!(
        violations(&[image(1, 1)], &cover),
        ["Instagram accepts the option cover_ms only if a video is the only file; leave the option out"]
    );
    assert_eq!(violations(&[film(9), image(1, 1)], &[("share_to_feed", OptionValue::Flag(true))]).len(), 1);
}

#[test]
fn options_have_a_form() {
    let faults = |given: &Options| {
        let mut faults = ValidationErrors::new();
        platforms::vocabulary().check_values("instagram", given, "o", &mut faults);
        faults.iter().map(|it| it.1.to_owned()).collect::<Vec<_>>()
    };
    let fine = options(&[
        ("collaborators", list(&["keeper_ada", "second.keeper", "third"])),
        ("cover_ms", OptionValue::Number(0)),
        ("fit", text("borders")),
        ("kind", text("reel")),
        ("location", text("7640348500")),
        ("share_to_feed", OptionValue::Flag(false)),
        ("user_tags", list(&["keeper_ada", "second 0.5 .25"])),
    ]);
    assert_eq!(faults(&fine), Vec::<String>::new());
    for (name, value, words) in [
        ("collaborators", list(&["a", "b", "c", "d"]), "may have at most 3 entries"),
        ("collaborators", list(&["@keeper"]), "must look like keeper_ada"),
        ("kind", text("igtv"), "must be one of post, reel, story"),
        ("fit", text("crop"), "must be one of borders"),
        ("location", text("Berlin"), "must look like 7640348500"),
        ("user_tags", list(&["second 2 2"]), "must look like keeper_ada or keeper_ada 0.5 0.8"),
        ("first_comment", text(" "), "may not be blank"),
        ("cover_ms", OptionValue::Number(-1), "must be a whole number"),
    ] {
        let said = faults(&options(&[(name, value)]));
        assert!(said.len() == 1 && said[0].contains(words), "{name}: {said:?}");
    }
}
