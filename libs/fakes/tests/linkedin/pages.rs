//! The look-up of a page's post whose response was lost.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use fakes::linkedin::{Community, PAGE_URN};
use platforms::Step;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::sample;
use serde_json::json;

use super::harness_with;

#[tokio::test]
async fn a_lost_post_is_found_among_the_others_of_its_page() {
    for files in [Vec::new(), vec![sample(MimeType::Png, 1), sample(MimeType::Jpeg, 2)]] {
        let (harness, account) = harness_with::<Community>().await;
        harness.fake.posts(PAGE_URN, "#before (the call)");
        let post = harness.due(&account, "#lost (and found)", files).await;
        let since = harness.clock.now();
        harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
        harness.publish(&post).await.unwrap_err();
        for number in 0..120 {
            harness.fake.posts(PAGE_URN, &format!("meanwhile {number}"));
        }

        let answer = harness.resolve(&post, since).await;

        let (Resolution::Found(found) | Resolution::Candidate(found)) = answer else { panic!("{answer:?}") };
        assert_eq!(found.platform_post_id, harness.fake.public_posts()[1].id);
        assert!(found.url.unwrap().contains("/feed/update/urn:li:share:"));
    }
}

#[tokio::test]
async fn another_users_equal_text_before_the_call_is_not_it() {
    let (harness, account) = harness_with::<Community>().await;
    harness.fake.posts(PAGE_URN, "good morning");
    let post = harness.due(&account, "good morning", Vec::new()).await;
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::CutBefore, 1);
    harness.publish(&post).await.unwrap_err();

    assert_eq!(harness.resolve(&post, since).await, Resolution::NotFound);
}

#[tokio::test]
async fn edited_candidate_is_neither_claimed_nor_sent_again() {
    let (harness, account) = harness_with::<Community>().await;
    let post = harness.due(&account, "lost and edited", Vec::new()).await;
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.publish(&post).await.unwrap_err();
    harness.fake.edit_latest("quite different");

    let answer = harness.resolve(&post, since).await;

    assert!(matches!(answer, Resolution::Pending { .. }), "{answer:?}");
}

#[tokio::test]
async fn a_page_that_may_not_be_read_says_where_to_look() {
    let denied = json!({ "status": 403, "code": "ACCESS_DENIED", "message": "no" });
    for may_be_read_before in [true, false] {
        let (harness, account) = harness_with::<Community>().await;
        if !may_be_read_before {
            harness.fake.refuses("/rest/posts", 403, denied.clone());
        }
        let post = harness.due(&account, "lost", vec![sample(MimeType::Png, 1)]).await;
        let since = harness.clock.now();
        harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
        harness.publish(&post).await.unwrap_err();
        harness.fake.refuses("/rest/posts", 403, denied.clone());

        let answer = harness.resolve(&post, since).await;

        let Resolution::Undeterminable { advice } = answer else { panic!("{answer:?}") };
        assert!(advice.contains(if may_be_read_before { "role" } else { "were not listed" }), "{advice}");
    }
}

/// The list is also unreadable before the call; the post is still published.
#[tokio::test]
async fn a_list_that_cannot_be_read_holds_no_post_back() {
    let (harness, account) = harness_with::<Community>().await;
    let mut post = harness.post(&account, "out", Vec::new());
    harness.clock.skip_to(post.publish_at);
    harness.fake.inject_fault(Call::LookUp, InjectedFault::Unavailable, 1);
    let busy = harness.prepare(&post).await.unwrap_err();
    assert!(matches!(busy, AttemptError::RetryLater { .. }), "{busy:?}");
    harness.clock.advance(TimeDelta::minutes(2));
    harness.fake.inject_fault(Call::LookUp, InjectedFault::Unavailable, 1);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.call_count(Call::LookUp), 2);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

/// The page's list lags: the adapter sends the post again, and LinkedIn's error names the first
/// post.
#[tokio::test]
async fn a_second_try_that_is_refused_as_a_duplicate_shows_that_the_first_arrived() {
    let (harness, account) = harness_with::<Community>().await;
    let post = harness.due(&account, "there already", Vec::new()).await;
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.publish(&post).await.unwrap_err();

    let published = harness.publish(&post).await.unwrap();

    assert_eq!(published.platform_post_id, harness.fake.public_posts()[0].id);
    assert_eq!(harness.fake.public_posts().len(), 1);
    // Another post with the same text is a different post.
    let other = harness.due(&account, "there already", Vec::new()).await;
    harness.fake.inject_fault(Call::Publish, InjectedFault::CutBefore, 1);
    harness.publish(&other).await.unwrap_err();
    let refused = harness.publish(&other).await.unwrap_err();
    assert!(matches!(refused, AttemptError::Refused { .. }), "{refused:?}");
}

/// The adapter looks up the post of the first call, because a third call would be refused as well.
#[tokio::test]
async fn a_duplicate_that_names_no_post_is_looked_up() {
    let (harness, account) = harness_with::<Community>().await;
    let post = harness.due(&account, "there already", Vec::new()).await;
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.publish(&post).await.unwrap_err();
    let details = json!({ "inputErrors": [{ "code": "DUPLICATE_POST" }] });
    let refused = json!({ "status": 422, "message": "Content is a duplicate", "errorDetails": details });
    harness.fake.refuses("/rest/posts", 422, refused);

    let error = harness.publish(&post).await.unwrap_err();

    assert!(matches!(error, AttemptError::Duplicate { .. }), "{error:?}");
    let found = harness.settle(&post, since, false).await.unwrap();
    assert_eq!(found.platform_post_id, harness.fake.public_posts()[0].id);
}

#[tokio::test]
async fn an_organization_is_mentioned_as_linkedin_writes_it() {
    let (harness, account) = harness_with::<Community>().await;
    let mut post = harness.post(&account, "built by @[Light & Co](urn:li:organization:5515715) (again)", Vec::new());
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    harness.deliver(&mut post).await.unwrap();

    let public: Vec<_> = harness.fake.public_posts().into_iter().map(|it| it.text).collect();
    assert_eq!(public, ["built by Light & Co (again)"], "found again by its words");
}

/// LinkedIn returns this message both for a new post and for the registration of an upload.
#[tokio::test]
async fn a_token_that_does_not_cover_pages_has_to_be_given_anew() {
    for files in [Vec::new(), vec![sample(MimeType::Png, 1)]] {
        let (harness, account) = harness_with::<Community>().await;
        harness.fake.remove_scope("w_organization_social");
        let mut post = harness.post(&account, "not as a page", files);

        let error = loop {
            harness.clock.skip_to(post.publish_at);
            match harness.prepare(&post).await {
                Ok(Step::Again { progress, .. }) => post.progress = Some(progress),
                Ok(Step::Ready { progress } | Step::NeedsParent { progress }) => {
                    post.progress = progress;
                    break harness.publish(&post).await.unwrap_err();
                }
                Err(error) => break error,
            }
        };

        let AttemptError::Unauthorized { reason } = &error else { panic!("{error:?}") };
        assert!(reason.contains("permissions must be used when using organization as"), "{reason}");
    }
}

/// The operator's app lacks the permission: its product is missing, or still in the development
/// tier.
#[tokio::test]
async fn an_app_that_may_not_post_says_what_to_check() {
    let message = "Not enough permissions to access: partnerApiPostsExternal.CREATE.20260801";
    let denied = json!({ "status": 403, "serviceErrorCode": 100, "code": "ACCESS_DENIED", "message": message });
    let (harness, account) = harness_with::<Community>().await;
    let post = harness.due(&account, "soon", Vec::new()).await;
    harness.fake.refuses("/rest/posts", 403, denied);

    let error = harness.publish(&post).await.unwrap_err();

    let AttemptError::RetryLater { reason, .. } = &error else { panic!("{error:?}") };
    for part in ["operator", "development tier", "role", message] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    harness.publish(&post).await.unwrap();
}
