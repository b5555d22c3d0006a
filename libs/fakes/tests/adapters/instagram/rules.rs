//! Validation when a post is scheduled: which rules apply to which kind of post.

use domain::media::Attachment;
use domain::testing::an_attachment;

use super::harness;
use crate::prelude::*;

fn image(width: u32, height: u32) -> Attachment {
    let facts = Facts { pixels: Pixels::new(width, height), ..Facts::default() };
    Attachment { mime_type: MimeType::Jpeg, facts: Some(facts), ..an_attachment(1) }
}

fn video(seconds: u64) -> Attachment {
    let facts = Facts { duration_ms: Some(seconds * 1_000), ..Facts::default() };
    Attachment { mime_type: MimeType::Mp4, facts: Some(facts), ..an_attachment(1) }
}

#[tokio::test]
async fn kind_decides_which_rules_apply() {
    let (_, account) = harness().await;
    let (long, tall) = ("x".repeat(2_201), image(1_080, 1_920));
    for (kind, written, media, is_accepted) in [
        (None, "a", vec![image(4, 5), image(191, 100)], true),
        (None, "a", vec![tall.clone()], false),
        (None, long.as_str(), vec![video(900)], false),
        (Some("post"), long.as_str(), vec![image(1, 1)], false),
        (Some("post"), "a", vec![video(9), image(1, 1)], true),
        (Some("reel"), "a", vec![video(900)], true),
        (Some("reel"), "a", vec![video(901)], false),
        (Some("reel"), "a", vec![video(9), video(9)], false),
        (Some("reel"), "a", vec![image(1, 1)], false),
        (Some("story"), long.as_str(), vec![tall.clone()], true),
        (Some("story"), "a", vec![video(61)], false),
        (Some("story"), "a", vec![video(9), image(1, 1)], false),
    ] {
        let given = options(&kind.map(|it| ("kind", text(it))).into_iter().collect::<Vec<_>>());
        let errors = account.rules.breaches(written, &media, &given);
        assert_eq!(errors.is_empty(), is_accepted, "{kind:?} {media:?}: {errors:?}");
    }
    let borders = options(&[("fit", text("borders"))]);
    assert_eq!(account.rules.breaches("a", &[tall], &borders), []);
}

#[tokio::test]
async fn option_of_another_kind_is_a_validation_error() {
    let (_, account) = harness().await;
    for (kind, name, value, media) in [
        ("story", "collaborators", list(&["a"]), image(1, 1)),
        ("story", "first_comment", text("a"), image(1, 1)),
        ("story", "fit", text("borders"), image(1, 1)),
        ("story", "location", text("1"), image(1, 1)),
        ("story", "cover_ms", OptionValue::Number(1), video(9)),
        ("post", "cover_ms", OptionValue::Number(1), image(1, 1)),
        ("post", "share_to_feed", OptionValue::Flag(true), image(1, 1)),
    ] {
        let errors = account.rules.breaches("a", &[media], &options(&[("kind", text(kind)), (name, value)]));
        let fields: Vec<_> = errors.iter().map(|it| &*it.field).collect();
        assert_eq!(fields, [format!("options.{name}")], "{kind}: {errors:?}");
    }
}
