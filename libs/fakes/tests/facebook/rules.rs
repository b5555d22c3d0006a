//! Validation of each limit when a post is scheduled.

use domain::media::{Attachment, MimeType};
use domain::text::PostText;
use platforms::conformance::samples::sample;

use crate::{harness, options};

fn files(types: &[MimeType]) -> Vec<Attachment> {
    (1..).zip(types).map(|(number, it)| sample(*it, number).attachment).collect()
}

#[tokio::test]
async fn validation_errors_name_the_limit() {
    use MimeType::{Gif, Mp4, Png};
    let (_, account) = harness().await;
    for (types, given, expected) in [
        (vec![Png; 11], vec![], "Facebook accepts at most 10 images; this has 11"),
        (vec![Mp4; 2], vec![], "Facebook accepts at most 1 video; this has 2"),
        (
            vec![Png, Mp4],
            vec![],
            "Facebook accepts images or videos in one post, not both; this has 1 image and 1 video",
        ),
        (
            vec![Png],
            vec![("link", "https://harbour.example")],
            "Facebook accepts link or images and videos in one post, not both; this has link and 1 file",
        ),
        (
            vec![Png],
            vec![("title", "The ferry")],
            "Facebook accepts the option title only if a video is the only file; leave the option out",
        ),
        (vec![], vec![("kind", "story")], "Facebook, if kind is story, needs at least 1 image or video; this has 0"),
        (
            vec![Png, Gif],
            vec![("kind", "story")],
            "Facebook, if kind is story, accepts at most 1 image or video; this has 2",
        ),
        (vec![Png], vec![("kind", "reel")], "Facebook, if kind is reel, needs at least 1 video; this has 0"),
    ] {
        let text = PostText::parse("from the harbour").unwrap();
        let errors = account.rules.breaches(&text, &files(&types), &options(&given));
        assert_eq!(errors.iter().map(|it| it.message.as_str()).collect::<Vec<_>>(), [expected]);
    }
}

#[tokio::test]
async fn a_story_has_no_text_no_title_and_no_comments() {
    let (_, account) = harness().await;
    let text = PostText::parse("from the harbour").unwrap();
    for name in ["title", "link", "first_comment"] {
        let given = options(&[("kind", "story"), (name, "https://harbour.example")]);
        let errors = account.rules.breaches(&text, &files(&[MimeType::Mp4]), &given);
        assert!(errors.iter().any(|it| it.field == format!("options.{name}")), "{name}: {errors:?}");
    }
}

/// Longer than the text of the conformance suite.
#[tokio::test]
async fn longest_text_is_accepted() {
    let (harness, account) = harness().await;
    for (unit, count) in [("x", 63_206), ("漢", 63_206), ("🚣", 31_603)] {
        let longest = unit.repeat(count);
        let fits = |text: &str| {
            PostText::parse(text).is_ok_and(|it| account.rules.breaches(&it, &[], &options(&[])).is_empty())
        };
        if !fits(&longest) {
            // The service accepts no post of this length.
            continue;
        }
        let mut post = harness.post(&account, &longest, Vec::new());
        harness.deliver(&mut post).await.unwrap();
        assert!(!fits(&format!("{longest}x")), "{unit}");
    }
}
