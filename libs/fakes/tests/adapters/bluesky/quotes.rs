use fakes::bluesky::Bluesky;

use crate::prelude::*;

const KEY: &str = "3m5xkqh2v4k2a";

fn quote(address: &str) -> Value {
    json!({ "quote_url": address })
}

async fn embed(
    harness: &AdapterHarness<Bluesky>,
    account: &Account,
    text: &str,
    media: Vec<Sample>,
    options: Value,
) -> Result<Value, AttemptError> {
    let delivered = harness.deliver(&mut harness.post(account, text, media).with(options)).await?;
    Ok(harness.fake.record(&delivered.published.platform_post_id).unwrap()["embed"].clone())
}

/// The link to another user's post, in the official client.
fn link() -> String {
    format!("https://bsky.app/profile/{}/post/{KEY}", Bluesky::OTHER_HANDLE)
}

#[tokio::test]
async fn link_to_a_post_becomes_a_quote() {
    let (harness, account) = connected::<Bluesky>().await;
    let quoted = harness.fake.add_other_post(KEY, true);
    let record = format!("at://{}/app.bsky.feed.post/{KEY}", Bluesky::OTHER_DID);
    for text in [format!("Look: {}", link()), format!("Look: {record}."), link()] {
        let embed = embed(&harness, &account, &text, Vec::new(), json!({})).await.unwrap();
        assert_eq!(embed, json!({"$type": "app.bsky.embed.record", "record": quoted}), "{text}");
    }
    let off = json!({ "link_preview": false });
    assert_eq!(embed(&harness, &account, &link(), Vec::new(), off).await.unwrap(), Value::Null);
}

#[tokio::test]
async fn quote_can_have_images() {
    let (harness, account) = connected::<Bluesky>().await;
    let quoted = harness.fake.add_other_post(KEY, true);

    let embed = embed(&harness, &account, "Look", vec![sample(MimeType::Png, 1)], quote(&link())).await.unwrap();

    assert_eq!(embed["$type"], "app.bsky.embed.recordWithMedia");
    assert_eq!(embed["record"], json!({"$type": "app.bsky.embed.record", "record": quoted}));
    assert_eq!(embed["media"]["$type"], "app.bsky.embed.images");
}

#[tokio::test]
async fn own_post_is_quoted_by_its_url() {
    let (harness, account) = connected::<Bluesky>().await;
    let first = harness.publish(&harness.due(&account, "first", Vec::new()).await).await.unwrap();

    let embed = embed(&harness, &account, "second", Vec::new(), quote(&first.url.unwrap())).await.unwrap();

    assert_eq!(embed["record"]["uri"], first.platform_post_id);
}

#[tokio::test]
async fn forbidden_quote_is_an_error_of_its_field() {
    let (harness, account) = connected::<Bluesky>().await;
    harness.fake.add_other_post(KEY, false);
    let missing = link().replace(KEY, "3m5xkqh2v4k2b");
    for (address, words) in
        [(link(), "does not allow"), (missing.clone(), "does not exist"), ("at://x".to_owned(), "no link")]
    {
        assert_refused(embed(&harness, &account, "Look", Vec::new(), quote(&address)).await, words);
    }
    for text in [link(), missing] {
        let embed = embed(&harness, &account, &text, Vec::new(), json!({})).await.unwrap();
        assert_eq!(embed, Value::Null, "{text}");
    }
}
