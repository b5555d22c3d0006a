//! The published records, as the server returns them.

use fakes::bluesky::Bluesky;

use super::record;
use crate::prelude::*;

#[tokio::test]
async fn record_has_its_due_time_and_facets() {
    let (harness, account) = connected::<Bluesky>().await;
    let written = "Привет 👩‍👩‍👧 @bob.test, @nobody.test: https://127.0.0.1:1/a/path/of/some/length #новости $abc";
    let text = "Привет 👩‍👩‍👧 @bob.test, @nobody.test: 127.0.0.1:1/a/path/of/so... #новости $abc";
    let publish_at = harness.post(&account, written, Vec::new()).publish_at;

    let record = record(&harness, &account, written, Vec::new()).await;

    let facet = |words: &str, feature: Value| {
        let start = text.find(words).unwrap();
        json!({"index": {"byteStart": start, "byteEnd": start + words.len()}, "features": [feature]})
    };
    let tag = |it: &str| json!({"$type": "app.bsky.richtext.facet#tag", "tag": it});
    let link = json!({"$type": "app.bsky.richtext.facet#link", "uri": "https://127.0.0.1:1/a/path/of/some/length"});
    let bob = json!({"$type": "app.bsky.richtext.facet#mention", "did": Bluesky::OTHER_DID});
    let facets = [
        facet(&format!("@{}", Bluesky::OTHER_HANDLE), bob),
        facet("127.0.0.1:1/a/path/of/so...", link),
        facet("#новости", tag("новости")),
        facet("$abc", tag("$ABC")),
    ];
    let expected = json!({
        "$type": "app.bsky.feed.post", "text": text, "createdAt": shown(publish_at), "facets": facets,
    });
    assert_eq!(record, expected);
}

fn shown(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[tokio::test]
async fn links_in_the_longest_text_count_as_shown() {
    let (harness, account) = connected::<Bluesky>().await;
    let link = format!("https://example.invalid/{}", "a".repeat(400));
    let fits = |text: &str| account.rules.breaches(Some(text), &[], Options::NONE).is_empty();
    let text = format!("{link} {link} {}", "x".repeat(300 - 2 * (15 + 16 + 1)));
    assert!(fits(&text) && !fits(&format!("{text}x")));

    let put = record(&harness, &account, &text, Vec::new()).await;

    assert_eq!(put["text"].as_str().unwrap().chars().count(), 300);
    assert_eq!(put["facets"][1]["features"][0]["uri"], link);
}

#[tokio::test]
async fn late_post_has_the_current_time() {
    let (harness, account) = connected::<Bluesky>().await;
    let created_at =
        |published: Published| harness.fake.record(&published.platform_post_id).unwrap()["createdAt"].clone();

    // Prepared after its due second.
    let mut late = harness.post(&account, "prepared late", Vec::new());
    harness.clock.skip_to(late.publish_at + TimeDelta::hours(1));
    harness.prepare_all(&mut late, &mut Vec::new()).await.unwrap();
    let prepared_at = harness.clock.now();
    assert_eq!(created_at(harness.publish(&late).await.unwrap()), shown(prepared_at));

    // Prepared in time, and then delayed.
    let mut held_up = harness.due(&account, "held up", Vec::new()).await;
    harness.clock.advance(TimeDelta::hours(1));
    assert_matches!(harness.publish(&held_up).await, Err(AttemptError::PreparationExpired { .. }));
    held_up.progress = None;
    harness.prepare_all(&mut held_up, &mut Vec::new()).await.unwrap();
    let prepared_at = harness.clock.now();
    harness.clock.advance(TimeDelta::minutes(5));
    assert_eq!(created_at(harness.publish(&held_up).await.unwrap()), shown(prepared_at));

    // Attempted in time, and certainly without any effect.
    let mut limited = harness.due(&account, "limited", Vec::new()).await;
    harness.fake.inject_fault(Call::Publish, InjectedFault::RateLimited { retry_after: TimeDelta::minutes(9) }, 1);
    assert_matches!(harness.publish(&limited).await, Err(AttemptError::RetryLater { .. }));
    harness.clock.advance(TimeDelta::minutes(9));
    assert_matches!(harness.publish(&limited).await, Err(AttemptError::PreparationExpired { .. }));
    limited.progress = None;
    harness.prepare_all(&mut limited, &mut Vec::new()).await.unwrap();
    assert_eq!(created_at(harness.publish(&limited).await.unwrap()), shown(harness.clock.now()));

    // The outcome of the first attempt is unknown: every attempt puts an equal record.
    let (tried, _) = lost_post(&harness, &account, "tried", Vec::new(), InjectedFault::Unavailable).await;
    harness.clock.advance(TimeDelta::hours(1));
    assert_eq!(created_at(harness.publish(&tried).await.unwrap()), shown(tried.publish_at));
}

#[tokio::test]
async fn record_of_an_earlier_attempt_with_another_text_is_the_post() {
    let (harness, account) = connected::<Bluesky>().await;
    let mut post = harness.due(&account, "see #this", Vec::new()).await;
    harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    // As if another worker had prepared the post again with another result.
    post.progress = post.progress.map(|it| it.replace("\"tag\":\"this\"", "\"tag\":\"that\""));
    let published = harness.publish(&post).await.unwrap();

    assert_eq!(published.platform_post_id, harness.fake.public_posts()[0].id);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn other_post_with_the_same_key_is_not_claimed() {
    let (harness, account) = connected::<Bluesky>().await;
    let mut post = harness.due(&account, "one", Vec::new()).await;
    let since = harness.clock.now();
    harness.publish(&post).await.unwrap();

    post.text = "two".to_owned();
    post.progress = post.progress.map(|it| it.replace("\"text\":\"one\"", "\"text\":\"two\""));

    assert_matches!(harness.resolve(&post, since).await, Resolution::NotFound);
    assert_matches!(harness.publish(&post).await, Err(AttemptError::Refused { .. }));
    assert_eq!(harness.fake.public_posts()[0].text, "one");
}

#[tokio::test]
async fn options_set_the_language_a_label_and_no_card() {
    let (harness, account) = connected::<Bluesky>().await;
    let mut post = harness.post(&account, "https://example.com in German", Vec::new()).with(json!({
        "language": "de", "content_warning": "graphic-media", "link_preview": false,
    }));

    let delivered = harness.deliver(&mut post).await.unwrap();

    let record = harness.fake.record(&delivered.published.platform_post_id).unwrap();
    assert_eq!(record["langs"], json!(["de"]));
    assert_eq!(record["labels"]["values"], json!([{"val": "graphic-media"}]));
    assert_eq!(record["embed"], Value::Null);
}
