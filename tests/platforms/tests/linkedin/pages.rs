//! The look-up of a page's post whose response was lost.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use networks::linkedin::{Community, PAGE_URN};
use platforms::Step;
use platforms::conformance::network::{Call, InjectedFault, Network};
use platforms::conformance::samples::{Sample, sample};
use serde_json::json;

use super::{PAGE_OF_A_PROXY, of};

#[tokio::test]
async fn a_lost_post_is_found_among_the_others_of_its_page() {
    for files in [Vec::new(), vec![sample(MimeType::Png, 1), sample(MimeType::Jpeg, 2)]] {
        let (stage, account) = of::<Community>().await;
        stage.network.posts(PAGE_URN, "#before (the call)");
        let post = stage.due(&account, "#lost (and found)", files).await;
        let since = stage.clock.now();
        stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
        stage.publish(&post).await.unwrap_err();
        for number in 0..120 {
            stage.network.posts(PAGE_URN, &format!("meanwhile {number}"));
        }

        let answer = stage.resolve(&post, since).await;

        let (Resolution::Found(found) | Resolution::Candidate(found)) = answer else { panic!("{answer:?}") };
        assert_eq!(found.platform_post_id, stage.network.public()[1].id);
        assert!(found.url.unwrap().contains("/feed/update/urn:li:share:"));
    }
}

#[tokio::test]
async fn another_users_equal_text_before_the_call_is_not_it() {
    let (stage, account) = of::<Community>().await;
    stage.network.posts(PAGE_URN, "good morning");
    let post = stage.due(&account, "good morning", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::CutBefore, 1);
    stage.publish(&post).await.unwrap_err();

    assert_eq!(stage.resolve(&post, since).await, Resolution::NotFound);
}

#[tokio::test]
async fn what_may_be_ours_and_was_changed_is_neither_taken_nor_sent_again() {
    let (stage, account) = of::<Community>().await;
    let post = stage.due(&account, "lost and edited", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    stage.publish(&post).await.unwrap_err();
    stage.network.edits_latest("quite different");

    let answer = stage.resolve(&post, since).await;

    assert!(matches!(answer, Resolution::Pending { .. }), "{answer:?}");
}

#[tokio::test]
async fn a_page_that_may_not_be_read_says_where_to_look() {
    let denied = json!({ "status": 403, "code": "ACCESS_DENIED", "message": "no" });
    for may_be_read_before in [true, false] {
        let (stage, account) = of::<Community>().await;
        if !may_be_read_before {
            stage.network.refuses("/rest/posts", 403, denied.clone());
        }
        let post = stage.due(&account, "lost", vec![sample(MimeType::Png, 1)]).await;
        let since = stage.clock.now();
        stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
        stage.publish(&post).await.unwrap_err();
        stage.network.refuses("/rest/posts", 403, denied.clone());

        let answer = stage.resolve(&post, since).await;

        let Resolution::Undeterminable { advice } = answer else { panic!("{answer:?}") };
        assert!(advice.contains(if may_be_read_before { "role" } else { "were not listed" }), "{advice}");
    }
}

/// What it shows cannot be read before the call either; the post goes out all the same.
#[tokio::test]
async fn a_list_that_cannot_be_read_holds_no_post_back() {
    let (stage, account) = of::<Community>().await;
    let mut post = stage.post(&account, "out", Vec::<Sample>::new());
    stage.clock.skip_to(post.publish_at);
    stage.network.trouble(Call::LookUp, InjectedFault::Unavailable, 1);
    let busy = stage.prepare(&post).await.unwrap_err();
    assert!(matches!(busy, AttemptError::RetryLater { .. }), "{busy:?}");
    stage.clock.advance(TimeDelta::minutes(2));
    stage.network.trouble(Call::LookUp, InjectedFault::Unavailable, 1);

    stage.deliver(&mut post).await.unwrap();

    assert_eq!(stage.network.calls(Call::LookUp), 2);
    assert_eq!(stage.network.public().len(), 1);
}

/// Its list was behind: the post is sent once more, and LinkedIn names the first.
#[tokio::test]
async fn a_second_try_that_is_refused_as_a_duplicate_shows_that_the_first_arrived() {
    let (stage, account) = of::<Community>().await;
    let post = stage.due(&account, "there already", Vec::new()).await;
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    stage.publish(&post).await.unwrap_err();

    let published = stage.publish(&post).await.unwrap();

    assert_eq!(published.platform_post_id, stage.network.public()[0].id);
    assert_eq!(stage.network.public().len(), 1);
    // Another post with the same words is another post.
    let other = stage.due(&account, "there already", Vec::new()).await;
    stage.network.trouble(Call::Publish, InjectedFault::CutBefore, 1);
    stage.publish(&other).await.unwrap_err();
    let refused = stage.publish(&other).await.unwrap_err();
    assert!(matches!(refused, AttemptError::Refused { .. }), "{refused:?}");
}

/// The post of the first call is looked for, because a third call would be refused as well.
#[tokio::test]
async fn a_duplicate_that_names_no_post_is_looked_up() {
    let (stage, account) = of::<Community>().await;
    let post = stage.due(&account, "there already", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    stage.publish(&post).await.unwrap_err();
    let details = json!({ "inputErrors": [{ "code": "DUPLICATE_POST" }] });
    let refused = json!({ "status": 422, "message": "Content is a duplicate", "errorDetails": details });
    stage.network.refuses("/rest/posts", 422, refused);

    let setback = stage.publish(&post).await.unwrap_err();

    assert!(matches!(setback, AttemptError::Duplicate { .. }), "{setback:?}");
    let found = stage.settle(&post, since, false).await.unwrap();
    assert_eq!(found.platform_post_id, stage.network.public()[0].id);
}

#[tokio::test]
async fn an_organization_is_mentioned_as_linkedin_writes_it() {
    let (stage, account) = of::<Community>().await;
    let mut post = stage.post(&account, "built by @[Light & Co](urn:li:organization:5515715) (again)", Vec::new());
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);

    stage.deliver(&mut post).await.unwrap();

    let public: Vec<_> = stage.network.public().into_iter().map(|it| it.text).collect();
    assert_eq!(public, ["built by Light & Co (again)"], "found again by its words");
}

/// A proxy may replace the response of a call that LinkedIn carried out, so the page's posts are looked through.
#[tokio::test]
async fn a_page_of_an_intermediary_leaves_open_whether_the_post_is_public() {
    let (stage, account) = of::<Community>().await;
    for status in [400, 401, 403, 404, 408, 413] {
        let mut post = stage.post(&account, &format!("behind a proxy {status}"), Vec::new());
        stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        stage.clock.skip_to(post.publish_at);
        let since = stage.clock.now();
        stage.network.refuses("/rest/posts", status, json!(PAGE_OF_A_PROXY));
        let setback = stage.publish(&post).await.unwrap_err();
        assert!(matches!(setback, AttemptError::Unknown { .. }), "{status}: {setback:?}");

        stage.network.refuses("/rest/posts", status, json!(PAGE_OF_A_PROXY));
        let unread = stage.resolve(&post, since).await;
        assert!(matches!(unread, Resolution::Pending { .. }), "{status}: {unread:?}");
        assert_eq!(stage.resolve(&post, since).await, Resolution::NotFound, "{status}");
    }
}

#[tokio::test]
async fn firewall_error_of_a_list_is_not_a_missing_permission() {
    let (stage, account) = of::<Community>().await;
    let post = stage.post(&account, "later", Vec::<Sample>::new());
    stage.clock.skip_to(post.publish_at);
    stage.network.refuses("/rest/posts", 403, json!(PAGE_OF_A_PROXY));

    let setback = stage.prepare(&post).await.unwrap_err();

    assert!(matches!(setback, AttemptError::RetryLater { .. }), "{setback:?}");
}

/// LinkedIn sends this message both for a new post and for the announcement of a file.
#[tokio::test]
async fn a_token_that_does_not_cover_pages_has_to_be_given_anew() {
    for files in [Vec::new(), vec![sample(MimeType::Png, 1)]] {
        let (stage, account) = of::<Community>().await;
        stage.network.forgets_scope("w_organization_social");
        let mut post = stage.post(&account, "not as a page", files);

        let setback = loop {
            stage.clock.skip_to(post.publish_at);
            match stage.prepare(&post).await {
                Ok(Step::Again { progress, .. }) => post.progress = Some(progress),
                Ok(Step::Ready { progress }) => {
                    post.progress = progress;
                    break stage.publish(&post).await.unwrap_err();
                }
                Err(setback) => break setback,
            }
        };

        let AttemptError::Unauthorized { reason } = &setback else { panic!("{setback:?}") };
        assert!(reason.contains("permissions must be used when using organization as"), "{reason}");
    }
}

/// The operator's app may not: its product is missing, or still in the development tier.
#[tokio::test]
async fn an_app_that_may_not_post_says_what_to_check() {
    let message = "Not enough permissions to access: partnerApiPostsExternal.CREATE.20260801";
    let denied = json!({ "status": 403, "serviceErrorCode": 100, "code": "ACCESS_DENIED", "message": message });
    let (stage, account) = of::<Community>().await;
    let post = stage.due(&account, "soon", Vec::new()).await;
    stage.network.refuses("/rest/posts", 403, denied);

    let setback = stage.publish(&post).await.unwrap_err();

    let AttemptError::RetryLater { reason, .. } = &setback else { panic!("{setback:?}") };
    for part in ["operator", "development tier", "role", message] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    stage.publish(&post).await.unwrap();
}
