//! What is put, as it can be read there.

use chrono::TimeDelta;
use domain::delivery::{Resolution, Setback};
use domain::options::OptionValue;
use networks::bluesky::Bluesky;
use platforms::conformance::network::{Call, Network, Trouble};
use platforms::conformance::samples::sample;
use serde_json::{Value, json};

use crate::{connected, record};

#[tokio::test]
async fn a_record_says_when_it_was_due_and_where_its_words_lead() {
    let (stage, account) = connected().await;
    let text = "Привет 👩‍👩‍👧 @bob.test, @nobody.test: https://127.0.0.1:1/a #новости";
    let publish_at = stage.post(&account, text, Vec::new()).publish_at;

    let record = record(&stage, &account, text, Vec::new()).await;

    let at = |words: &str| {
        let start = text.find(words).unwrap();
        json!({"byteStart": start, "byteEnd": start + words.len()})
    };
    assert_eq!(
        record,
        json!({
            "$type": "app.bsky.feed.post",
            "text": text,
            "createdAt": publish_at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            "facets": [
                {
                    "index": at(&format!("@{}", Bluesky::OTHER_HANDLE)),
                    "features": [{"$type": "app.bsky.richtext.facet#mention", "did": stage.network.other_did()}],
                },
                {
                    "index": at("https://127.0.0.1:1/a"),
                    "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://127.0.0.1:1/a"}],
                },
                {"index": at("#новости"), "features": [{"$type": "app.bsky.richtext.facet#tag", "tag": "новости"}]},
            ],
        })
    );
}

#[tokio::test]
async fn a_repeat_changes_nothing_even_days_later() {
    let (stage, account) = connected().await;
    let post = stage.due(&account, "again", vec![sample(domain::media::MimeType::Png, 1)]).await;
    let first = stage.publish(&post).await.unwrap();
    let commits = stage.network.commits();

    for wait in [TimeDelta::seconds(1), TimeDelta::minutes(20)] {
        stage.clock.advance(wait);
        let again = stage.publish(&post).await.unwrap();
        assert_eq!(again.platform_post_id, first.platform_post_id);
    }
    stage.clock.advance(TimeDelta::days(3));
    stage.renew().await.unwrap();
    stage.publish(&post).await.unwrap();
    assert_eq!((stage.network.public().len(), stage.network.commits()), (1, commits));
}

#[tokio::test]
async fn what_an_earlier_attempt_put_in_other_words_is_the_post() {
    let (stage, account) = connected().await;
    let mut post = stage.due(&account, "see #this", Vec::new()).await;
    stage.network.trouble(Call::Publish, Trouble::LoseAnswer, 1);
    stage.publish(&post).await.unwrap_err();

    // As if it had been prepared anew meanwhile, and had come out differently.
    post.progress = post.progress.map(|it| it.replace("\"tag\":\"this\"", "\"tag\":\"that\""));
    let published = stage.publish(&post).await.unwrap();

    assert_eq!(published.platform_post_id, stage.network.public()[0].id);
    assert_eq!(stage.network.public().len(), 1);
}

#[tokio::test]
async fn another_post_under_the_key_is_not_taken_for_this_one() {
    let (stage, account) = connected().await;
    let mut post = stage.due(&account, "one", Vec::new()).await;
    let since = stage.clock.now();
    stage.publish(&post).await.unwrap();

    post.text = "two".to_owned();
    post.progress = post.progress.map(|it| it.replace("\"text\":\"one\"", "\"text\":\"two\""));

    assert!(matches!(stage.resolve(&post, since).await, Resolution::NotThere));
    let setback = stage.publish(&post).await.unwrap_err();
    assert!(matches!(setback, Setback::Refused { .. }), "{setback:?}");
    assert_eq!(stage.network.public()[0].text, "one");
}

#[tokio::test]
async fn options_are_a_language_a_label_of_its_own_and_no_card() {
    let (stage, account) = connected().await;
    let text = |it: &str| OptionValue::Text(it.to_owned());
    let mut post = stage.post(&account, "https://example.com in German", Vec::new());
    post.options = [
        ("language", text("de")),
        ("content_warning", text("graphic-media")),
        ("link_preview", OptionValue::Flag(false)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();

    let passage = stage.deliver(&mut post).await.unwrap();

    let record = stage.network.record(&passage.published.platform_post_id).unwrap();
    assert_eq!(record["langs"], json!(["de"]));
    assert_eq!(record["labels"]["values"], json!([{"val": "graphic-media"}]));
    assert_eq!(record["embed"], Value::Null);
}
