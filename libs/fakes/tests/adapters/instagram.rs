//! Behavior specific to Instagram.

mod connecting;
mod containers;
mod fetching;
mod publishing;

use domain::media::Attachment;
use domain::testing::an_attachment;
use fakes::instagram::Instagram;

use crate::prelude::*;

/// A harness whose accounts are connected with Facebook Login.
async fn by_facebook() -> AdapterHarness<Instagram<true>> {
    AdapterHarness::new().await
}

/// A token of today is not extended, and nothing is lost by the attempt.
#[tokio::test]
async fn young_token_is_not_extended() {
    let (harness, _) = connected::<Instagram>().await;

    assert_matches!(harness.refresh().await, Err(RefreshError::Unreachable(it)) if it.contains("24 hours"));
    harness.clock.advance(TimeDelta::days(1));
    let refreshed = harness.refresh().await.unwrap();

    assert_eq!((refreshed.expires_at.unwrap() - harness.clock.now()).num_days(), 59);
    let due_at = harness.publisher().refresh_policy().due_at(&refreshed, harness.clock.now());
    assert!(harness.clock.now() + TimeDelta::days(1) <= due_at, "not before it is a day old");
}

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
    let (_, account) = connected::<Instagram>().await;
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
        let given = kind.map_or_else(|| json!({}), |it| json!({ "kind": it }));
        let errors = account.rules.breaches(written, &media, &options(given));
        assert_eq!(errors.is_empty(), is_accepted, "{kind:?} {media:?}: {errors:?}");
    }
    let borders = options(json!({ "fit": "borders" }));
    assert_eq!(account.rules.breaches("a", &[tall], &borders), []);
}

#[tokio::test]
async fn option_of_another_kind_is_a_validation_error() {
    let (_, account) = connected::<Instagram>().await;
    for (kind, name, value, media) in [
        ("story", "collaborators", json!(["a"]), image(1, 1)),
        ("story", "first_comment", json!("a"), image(1, 1)),
        ("story", "fit", json!("borders"), image(1, 1)),
        ("story", "location", json!("1"), image(1, 1)),
        ("story", "cover_ms", json!(1), video(9)),
        ("post", "cover_ms", json!(1), image(1, 1)),
        ("post", "share_to_feed", json!(true), image(1, 1)),
    ] {
        let errors = account.rules.breaches("a", &[media], &options(json!({ "kind": kind, name: value })));
        let fields: Vec<_> = errors.iter().map(|it| &*it.field).collect();
        assert_eq!(fields, [format!("options.{name}")], "{kind}: {errors:?}");
    }
}
