//! Title, text and status of posts.

use super::Wordpress;
use crate::prelude::*;

#[tokio::test]
async fn options_become_fields_of_wordpress() {
    let (harness, account) = connected::<Wordpress>().await;
    harness.fake.add_category("News & \"views\"");
    let mut post = harness.post(&account, "one line\nand another", Vec::new()).with(json!({
        "title": "Its own <title>", "excerpt": "In short", "slug": "of-its-own", "categories": ["news & \"VIEWS\""],
        "tags": ["boats", "Q&A", "boats "],
    }));

    let published = harness.deliver(&mut post).await.unwrap().published;

    let [title, content, excerpt, _, slug] = harness.fake.latest().unwrap();
    assert_eq!((title.as_str(), excerpt.as_str(), slug.as_str()), ("Its own &lt;title&gt;", "In short", "of-its-own"));
    assert!(content.contains("<p>one line<br>and another</p>"), "{content}");
    assert_eq!(harness.fake.latest_terms(), ["News &amp; \"views\"", "boats", "Q&amp;A", "boats"]);
    assert_eq!(published.at, post.publish_at);
}

#[tokio::test]
async fn category_is_created_only_with_permission() {
    for is_made in [true, false] {
        let (harness, account) = connected::<Wordpress>().await;
        let category = json!({ "id": harness.fake.add_category("Tides") });
        if is_made {
            harness.fake.faults().respond_with(Method::POST, "/wp/v2/categories", 201, category, 1);
        }
        let mut post = harness.post(&account, "a new category", Vec::new()).with(json!({ "categories": ["Storms"] }));

        match harness.deliver(&mut post).await {
            Ok(_) => assert!(is_made),
            Err(AttemptError::Refused { reason }) if !is_made => {
                let expected = "option categories: the site has none with the name \"Storms\"";
                assert!(reason.starts_with(expected), "{reason}");
            }
            Err(error) => panic!("{is_made}: {error:?}"),
        }
        assert_eq!(harness.fake.public_posts().len(), usize::from(is_made));
    }
}

#[tokio::test]
async fn private_post_is_not_public() {
    let (harness, account) = connected::<Wordpress>().await;
    for status in ["private", "pending", "draft"] {
        let mut post = harness.post(&account, &format!("to be {status}"), Vec::new()).with(json!({ "status": status }));

        let published = harness.deliver(&mut post).await.unwrap().published;
        let since = harness.clock.now();
        let found = harness.settle(&post, since, false).await;

        assert_eq!(found.unwrap().platform_post_id, published.platform_post_id);
        let [title, _, _, kept, slug] = harness.fake.latest().unwrap();
        assert_eq!((title, kept.as_str()), (format!("to be {status}"), status));
        assert!(!slug.starts_with("sps-"), "{slug}");
    }
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn plugin_that_holds_a_post_back_is_reported() {
    let (harness, account) = connected::<Wordpress>().await;
    let pending = json!({ "id": 1, "status": "pending" });
    harness.fake.faults().respond_with(Method::POST, "/wp/v2/posts/", 200, pending, 1);
    assert_refused(harness.deliver(&mut harness.post(&account, "held back", Vec::new())).await, "the status pending");
    assert_eq!(harness.fake.keeps().0, 1, "it waits for its review");
}
