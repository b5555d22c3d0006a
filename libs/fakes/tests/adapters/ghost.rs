//! Behavior specific to Ghost.

use fakes::ghost::{Ghost, KEY, NEWSLETTER};

use crate::prelude::*;

async fn harness() -> (AdapterHarness<Ghost>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn typed(site: &str, key: &str) -> FieldValues {
    [("site", site), ("admin_api_key", key)].map(|(name, it)| (name.to_owned(), it.to_owned().into())).into()
}

#[tokio::test]
async fn site_is_found_where_its_admin_is() {
    let harness = AdapterHarness::<Ghost>::new().await;
    let home = harness.fake.base_url();
    let key = format!("{}:{}", KEY.0, KEY.1);
    let moved = format!("{home}/ghost/api/admin/site/");
    harness.fake.faults().respond_with(Method::GET, "/blog/ghost/api/admin/site/", 301, moved.into(), 1);
    for site in [format!("{home}/ghost/#/dashboard"), format!("{home}/blog")] {
        let (step, _) = harness.authorize(&typed(&site, &key)).await.unwrap();
        let AuthorizeStep::Accounts(accounts) = step else { panic!("{step:?}") };
        assert_eq!(accounts[0].profile.username.as_deref(), home.strip_prefix("http://"));
        assert_eq!(accounts[0].profile.display_name.as_deref(), Some("Harbour & Lighthouse"));
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
        let refused = harness.authorize(&typed(site, key)).await.unwrap_err();
        assert!(matches!(refused, ConnectError::Field { name, .. } if name == field), "{site} {key}: {refused:?}");
    }
}

#[tokio::test]
async fn a_post_says_what_its_options_say() {
    let (harness, account) = harness().await;
    let choices = harness.choices(&account, "newsletter").await.unwrap();
    assert_eq!(choices, [(NEWSLETTER.to_owned(), "Tide tables".to_owned())]);
    let mut post = harness.post(&account, "one line\nand another", vec![sample(domain::media::MimeType::Png, 1)]);
    post.options = options(&[
        ("title", text("Its own <title>")),
        ("excerpt", text("In short")),
        ("slug", text("of-its-own")),
        ("visibility", text("paid")),
        ("canonical_url", text("https://bücher.example/ä")),
        ("tags", list(&["boats", "#internal"])),
        ("newsletter", text(NEWSLETTER)),
        ("featured", domain::options::OptionValue::Flag(true)),
    ]);

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
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "to nobody", Vec::new());
    post.options = options(&[("newsletter", text("nobody"))]);

    let refused = harness.deliver(&mut post).await.unwrap_err();

    let AttemptError::Refused { reason } = &refused else { panic!("{refused:?}") };
    assert!(reason.starts_with("option newsletter"), "{reason}");
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn draft_is_published_as_its_owner_left_it() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "edited", Vec::new()).await;
    harness.fake.rename_drafts();
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.posts()[0].title, "edited!");

    let post = harness.due(&account, "unwanted", Vec::new()).await;
    harness.fake.delete_drafts();
    let refused = harness.publish(&post).await.unwrap_err();
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains("was deleted")), "{refused:?}");
    assert_eq!(harness.fake.posts().len(), 1);
}

/// A proxy may send a call twice: the second one is refused, because the first one has changed the post.
#[tokio::test]
async fn collision_is_looked_up() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "sent twice", Vec::new()).await;
    let error = json!({
        "message": "Saving failed! Someone else is editing this post.", "type": "UpdateCollisionError",
        "code": "UPDATE_COLLISION",
    });
    harness.fake.faults().respond_with(Method::PUT, "/posts/", 409, json!({ "errors": [error] }), 1);

    let unknown = harness.publish(&post).await.unwrap_err();

    assert!(matches!(unknown, AttemptError::Unknown { may_still_run: false, .. }), "{unknown:?}");
    let resolution = harness.resolve(&post, harness.clock.now()).await;
    assert!(matches!(resolution, Resolution::NotPublished), "{resolution:?}");
    let published = harness.publish(&post).await.unwrap();
    // It is public, so nothing is sent.
    let puts = harness.fake.call_count(Call::Publish);
    assert_eq!(harness.publish(&post).await.unwrap().platform_post_id, published.platform_post_id);
    assert_eq!(harness.fake.call_count(Call::Publish), puts);
}

#[tokio::test]
async fn refused_mail_of_a_public_post_does_not_fail_it() {
    let (harness, account) = harness().await;
    let mut post = harness.due(&account, "over the limit", Vec::new()).await;
    post.options = options(&[("newsletter", text(NEWSLETTER))]);
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
    let (harness, account) = harness().await;
    let mut post = harness.due(&account, "twice", Vec::new()).await;
    let error = json!({ "message": "Resource not found error, cannot read post.", "type": "NotFoundError" });
    // The site still creates the draft of a call that was cut off.
    harness.fake.faults().respond_with(Method::GET, "/posts/slug/", 404, json!({ "errors": [error] }), 1);
    post.progress = None;
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    let drafts = harness.fake.posts();
    assert_eq!((drafts.len(), format!("{}-2", drafts[0].slug)), (2, drafts[1].slug.clone()));

    let called_at = harness.lose_outcome(&post, InjectedFault::CutBefore).await;
    let resolution = harness.resolve(&post, called_at).await;
    assert!(matches!(resolution, Resolution::NotPublished), "{resolution:?}");
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn post_that_was_deleted_or_withdrawn_is_not_sent_again() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "a draft", Vec::new());
    post.options = options(&[("status", text("draft"))]);
    let published = harness.deliver(&mut post).await.unwrap().published;

    let found = harness.settle(&post, harness.clock.now(), false).await;
    assert_eq!(found.map(|it| it.platform_post_id), Some(published.platform_post_id));
    assert!(!harness.fake.posts()[0].slug.starts_with("sps-"));

    post.options = options(&[]);
    let withdrawn = harness.resolve(&post, harness.clock.now()).await;
    assert!(format!("{withdrawn:?}").contains("withdrawn"), "{withdrawn:?}");
    harness.fake.delete_drafts();
    let deleted = harness.resolve(&post, harness.clock.now()).await;
    assert!(format!("{deleted:?}").contains("deleted on the site"), "{deleted:?}");
}

#[tokio::test]
async fn wrong_clock_does_not_end_the_connection() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "late", Vec::new());
    let error = json!({
        "message": "Invalid token: jwt expired", "context": null, "type": "UnauthorizedError", "code": "INVALID_JWT",
    });
    harness.fake.faults().respond_with(Method::GET, "/posts/slug/", 401, json!({ "errors": [error] }), 1);

    let delayed = harness.prepare(&post).await.unwrap_err();

    assert!(matches!(&delayed, AttemptError::RetryLater { reason, .. } if reason.contains("clock")), "{delayed:?}");
    harness.deliver(&mut post).await.unwrap();
}

#[tokio::test]
async fn scheduled_draft_and_large_file_fail_the_post() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "by its own clock", Vec::new()).await;
    let draft = harness.fake.posts().remove(0);
    let scheduled =
        json!({ "id": draft.id, "slug": draft.slug, "status": "scheduled", "updated_at": "2026-11-21T12:00:00.000Z" });
    harness.fake.faults().respond_with(Method::GET, "/posts/", 200, json!({ "posts": [scheduled] }), 1);
    let refused = harness.publish(&post).await.unwrap_err();
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains("scheduled")), "{refused:?}");

    let mut post = harness.post(&account, "too large", vec![sample(domain::media::MimeType::Png, 1)]);
    harness.fake.faults().block(Method::POST, "/images/upload/", 413, 1);
    let refused = harness.deliver(&mut post).await.unwrap_err();
    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.contains("larger than")), "{refused:?}");
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn host_that_removes_the_key_is_named() {
    let (harness, account) = harness().await;
    let post = harness.post(&account, "no header", Vec::new());
    let error =
        json!({ "message": "Authorization failed", "context": null, "type": "NoPermissionError", "code": null });
    harness.fake.faults().respond_with(Method::GET, "/posts/slug/", 403, json!({ "errors": [error] }), 1);

    let refused = harness.prepare(&post).await.unwrap_err();

    let AttemptError::Unauthorized { reason } = &refused else { panic!("{refused:?}") };
    assert!(reason.contains("did not receive the key"), "{reason}");
}
