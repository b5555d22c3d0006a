//! Behavior specific to Ghost.

use fakes::ghost::{Ghost, KEY, NEWSLETTER};

use crate::prelude::*;

fn typed(site: &str, key: &str) -> FieldValues {
    [("site", site), ("admin_api_key", key)].map(|(name, it)| (name.to_owned(), it.to_owned().into())).into()
}

#[tokio::test]
async fn site_is_found_at_its_admin_url() {
    let harness = AdapterHarness::<Ghost>::new().await;
    let home = harness.fake.base_url();
    let key = format!("{}:{}", KEY.0, KEY.1);
    let moved = format!("{home}/ghost/api/admin/site/");
    harness.fake.faults().respond_with(Method::GET, "/blog/ghost/api/admin/site/", 301, moved.into(), 1);
    for site in [format!("{home}/ghost/#/dashboard"), format!("{home}/blog")] {
        let profile = account_for(&harness, &typed(&site, &key)).await.profile;
        assert_eq!(profile.username.as_deref(), home.strip_prefix("http://"));
        assert_eq!(profile.display_name.as_deref(), Some("Harbour & Lighthouse"));
    }
    let parked = json!({ "site": "for sale" });
    harness.fake.faults().respond_with(Method::GET, "/parked/ghost/api/admin/site/", 200, parked, 1);
    let sign_in = "https://accounts.example.com/sign-in";
    harness.fake.faults().respond_with(Method::GET, "/ghost/api/admin/site/", 302, sign_in.into(), 1);
    for (site, key, field) in [
        (home.as_str(), key.as_str(), "site"),
        (&format!("{home}/elsewhere"), &key, "site"),
        (&format!("{home}/parked"), &key, "site"),
        (&home, "22444f78447824223cefc48062", "admin_api_key"),
        (&home, &format!("{}:{}", KEY.0, "0a".repeat(32)), "admin_api_key"),
    ] {
        assert_eq!(field_error(&harness, &typed(site, key)).await.0, field, "{site} {key}");
    }
}

#[tokio::test]
async fn options_become_fields_of_ghost() {
    let (harness, account) = connected::<Ghost>().await;
    let choices = harness.choices(&account, "newsletter").await.unwrap();
    assert_eq!(choices, [(NEWSLETTER.to_owned(), "Tide tables".to_owned())]);
    let mut post = harness.post(&account, "one line\nand another", vec![sample(MimeType::Png, 1)]).with(json!({
        "title": "Its own <title>", "excerpt": "In short", "slug": "of-its-own", "visibility": "paid",
        "canonical_url": "https://bücher.example/ä", "tags": ["boats", "#internal"], "newsletter": NEWSLETTER,
        "featured": true,
    }));

    let published = harness.deliver(&mut post).await.unwrap().published;

    let shown = harness.fake.posts().pop().unwrap();
    assert_eq!((shown.title.as_str(), shown.slug.as_str()), ("Its own <title>", "of-its-own"));
    assert_eq!((shown.custom_excerpt.as_str(), shown.visibility.as_str()), ("In short", "paid"));
    assert_eq!(shown.canonical_url, "https://xn--bcher-kva.example/%C3%A4");
    assert_eq!(shown.tags, ["boats", "#internal"]);
    assert_eq!(shown.newsletter.as_deref(), Some(NEWSLETTER));
    assert_eq!(shown.html, "<p>one line<br>and another</p>", "the featured image is not in the post");
    assert!(shown.feature_image.contains("/content/images/"), "{}", shown.feature_image);
    assert!(published.url.unwrap().ends_with("/of-its-own/"));
}

#[tokio::test]
async fn unknown_newsletter_fails_the_post() {
    let (harness, account) = connected::<Ghost>().await;
    let mut post = harness.post(&account, "to nobody", Vec::new()).with(json!({ "newsletter": "nobody" }));

    assert_matches!(harness.deliver(&mut post).await, Err(AttemptError::Refused { reason })
        if reason.starts_with("option newsletter"));
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn edited_draft_is_published_with_its_edits() {
    let (harness, account) = connected::<Ghost>().await;
    let post = harness.due(&account, "edited", Vec::new()).await;
    harness.fake.rename_drafts();
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.posts()[0].title, "edited!");

    let post = harness.due(&account, "unwanted", Vec::new()).await;
    harness.fake.delete_drafts();
    assert_refused(harness.publish(&post).await, "was deleted");
    assert_eq!(harness.fake.posts().len(), 1);
}

/// A proxy may send a call twice: the second one is refused, because the first one has changed the post.
#[tokio::test]
async fn collision_is_looked_up() {
    let (harness, account) = connected::<Ghost>().await;
    let post = harness.due(&account, "sent twice", Vec::new()).await;
    let error = json!({
        "message": "Saving failed! Someone else is editing this post.", "type": "UpdateCollisionError",
        "code": "UPDATE_COLLISION",
    });
    harness.fake.faults().respond_with(Method::PUT, "/posts/", 409, json!({ "errors": [error] }), 1);

    assert_matches!(harness.publish(&post).await, Err(AttemptError::Unknown { may_still_run: false, .. }));
    assert_matches!(harness.resolve(&post, harness.clock.now()).await, Resolution::NotPublished);
    let published = harness.publish(&post).await.unwrap();
    // It is public, so nothing is sent.
    let puts = harness.fake.call_count(Call::Publish);
    assert_eq!(harness.publish(&post).await.unwrap().platform_post_id, published.platform_post_id);
    assert_eq!(harness.fake.call_count(Call::Publish), puts);
}

#[tokio::test]
async fn refused_mail_of_a_public_post_does_not_fail_it() {
    let (harness, account) = connected::<Ghost>().await;
    let mut post = harness.due(&account, "over the limit", Vec::new()).await;
    post.options = options(json!({ "newsletter": NEWSLETTER }));
    let draft = harness.fake.posts().remove(0);
    let shown =
        json!({ "id": draft.id, "slug": draft.slug, "status": "draft", "updated_at": "2026-11-21T12:00:00.000Z" });
    let error = json!({ "message": "You have reached your email limit.", "type": "HostLimitError", "code": null });
    for is_public in [false, true] {
        harness.fake.faults().respond_with(Method::GET, "/posts/", 200, json!({ "posts": [shown] }), 1);
        harness.fake.faults().respond_with(Method::PUT, "/posts/", 403, json!({ "errors": [error] }), 1);
        match harness.publish(&post).await {
            Ok(published) => assert!(is_public && published.platform_post_id == draft.id),
            Err(refused) => assert!(!is_public && matches!(refused, AttemptError::Refused { .. }), "{refused:?}"),
        }
        harness.publish(&post).await.unwrap();
    }
}

#[tokio::test]
async fn draft_that_was_created_twice_is_published_once() {
    let (harness, account) = connected::<Ghost>().await;
    let mut post = harness.due(&account, "twice", Vec::new()).await;
    let error = json!({ "message": "Resource not found error, cannot read post.", "type": "NotFoundError" });
    // The site still creates the draft of a call that was cut off.
    harness.fake.faults().respond_with(Method::GET, "/posts/slug/", 404, json!({ "errors": [error] }), 1);
    post.progress = None;
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    let drafts = harness.fake.posts();
    assert_eq!((drafts.len(), format!("{}-2", drafts[0].slug)), (2, drafts[1].slug.clone()));

    let called_at = harness.lose_outcome(&post, InjectedFault::CutBefore).await;
    assert_matches!(harness.resolve(&post, called_at).await, Resolution::NotPublished);
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn post_that_was_deleted_or_withdrawn_is_not_sent_again() {
    let (harness, account) = connected::<Ghost>().await;
    let mut post = harness.post(&account, "a draft", Vec::new()).with(json!({ "status": "draft" }));
    let published = harness.deliver(&mut post).await.unwrap().published;

    let found = harness.settle(&post, harness.clock.now(), false).await;
    assert_eq!(found.map(|it| it.platform_post_id), Some(published.platform_post_id));
    assert!(!harness.fake.posts()[0].slug.starts_with("sps-"));

    post.options = options(json!({}));
    let withdrawn = harness.resolve(&post, harness.clock.now()).await;
    assert!(format!("{withdrawn:?}").contains("withdrawn"), "{withdrawn:?}");
    harness.fake.delete_drafts();
    let deleted = harness.resolve(&post, harness.clock.now()).await;
    assert!(format!("{deleted:?}").contains("deleted on the site"), "{deleted:?}");
}

#[tokio::test]
async fn scheduled_draft_and_large_file_fail_the_post() {
    let (harness, account) = connected::<Ghost>().await;
    let post = harness.due(&account, "by its own clock", Vec::new()).await;
    let draft = harness.fake.posts().remove(0);
    let scheduled =
        json!({ "id": draft.id, "slug": draft.slug, "status": "scheduled", "updated_at": "2026-11-21T12:00:00.000Z" });
    harness.fake.faults().respond_with(Method::GET, "/posts/", 200, json!({ "posts": [scheduled] }), 1);
    assert_refused(harness.publish(&post).await, "scheduled");

    let mut post = harness.post(&account, "too large", vec![sample(MimeType::Png, 1)]);
    harness.fake.faults().block(Method::POST, "/images/upload/", 413, 1);
    assert_refused(harness.deliver(&mut post).await, "larger than");
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn wrong_clock_or_removed_header_is_not_a_revocation() {
    let (harness, account) = connected::<Ghost>().await;
    let mut post = harness.post(&account, "late", Vec::new());
    for (status, code, message, name, words) in [
        (401, Some("INVALID_JWT"), "Invalid token: jwt expired", "RetryLater", "clock"),
        (403, None, "Authorization failed", "Unauthorized", "did not receive the key"),
    ] {
        let kind = if status == 401 { "UnauthorizedError" } else { "NoPermissionError" };
        let error = json!({ "message": message, "context": null, "type": kind, "code": code });
        harness.fake.faults().respond_with(Method::GET, "/posts/slug/", status, json!({ "errors": [error] }), 1);

        assert_is(harness.prepare(&post).await, &format!("Err({name}"), words);
    }
    harness.deliver(&mut post).await.unwrap();
}
