//! Behavior specific to Google Business Profile.

use fakes::google::api_error::{not_found, quota_exceeded, service_disabled};
use fakes::google_business::{GoogleBusiness, LOCATION, OTHER_LOCATION, SERVICE, location_disabled};
use platforms::{FollowUp, Followed};

use crate::prelude::*;

type Harness = AdapterHarness<GoogleBusiness>;

/// All steps of the follow-up. Returns its result, and the time since the publication.
async fn follow_up(harness: &Harness, post: &Post<'_>, published: &Published) -> (Followed, TimeDelta) {
    let mut progress = None;
    loop {
        let step = FollowUp { name: "review", published, progress: progress.as_deref() };
        match harness.follow_up_step(post, &step).await.unwrap() {
            Followed::Again { progress: next, at } => (progress, _) = (Some(next), harness.clock.skip_to(at)),
            result => return (result, harness.clock.now() - published.at),
        }
    }
}

#[tokio::test]
async fn locations_of_all_accounts_that_may_have_posts_are_listed() {
    let harness = Harness::new().await;
    let accounts = connect_all(&harness).await.unwrap();
    let named = accounts.iter().map(|it| (it.profile.account_id.as_str(), it.profile.display_name.as_deref().unwrap()));
    let expected =
        [(LOCATION, "The Harbor (Am Sandtorkai 2, Hamburg)"), (OTHER_LOCATION, "The Harbor (Elbchaussee 3, Hamburg)")];
    assert_eq!(named.collect::<Vec<_>>(), expected);
    let read = async || details(&harness, &accounts[0]).await.unwrap();
    assert_eq!(read().await.unwrap().profile, accounts[0].profile, "the name stays long");
    harness.fake.refuses("/v1/locations/", 404, not_found());
    assert_eq!(read().await, None, "the location is gone");
}

#[tokio::test]
async fn event_offer_and_button_are_sent() {
    let (harness, account) = connected::<GoogleBusiness>().await;
    let url = "https://boats.example/";
    let with_schedule = |mut given: Value| {
        given["title"] = "Tides".into();
        given["event_starts_at"] = "2026-12-31T22:30".into();
        given["event_ends_at"] = "2027-01-01T02:00".into();
        given
    };
    let event = json!({ "title": "Tides", "schedule": {
        "startDate": { "year": 2026, "month": 12, "day": 31 }, "startTime": { "hours": 22, "minutes": 30 },
        "endDate": { "year": 2027, "month": 1, "day": 1 }, "endTime": { "hours": 2, "minutes": 0 },
    } });
    for (given, field, expected) in [
        (with_schedule(json!({ "topic": "event" })), "event", event),
        (with_schedule(json!({ "topic": "offer" })), "offer", json!({})),
        (
            with_schedule(json!({ "topic": "offer", "offer_coupon_code": "EBB" })),
            "offer",
            json!({ "couponCode": "EBB" }),
        ),
        (json!({ "call_to_action": "book", "link": url }), "callToAction", json!({ "actionType": "BOOK", "url": url })),
        (json!({ "call_to_action": "call" }), "callToAction", json!({ "actionType": "CALL" })),
    ] {
        harness.deliver(&mut harness.post(&account, "Ebb and flood", Vec::new()).with(given)).await.unwrap();
        assert_eq!(harness.fake.latest_request()[field], expected);
    }
}

#[tokio::test]
async fn post_ends_as_google_reviews_it() {
    let (harness, account) = connected::<GoogleBusiness>().await;
    harness.fake.reviews(&[(0, "PROCESSING"), (60, "REJECTED")]);
    let post = harness.due(&account, "Rejected in review", Vec::new()).await;
    let (accepted, called_at) = (harness.publish(&post).await.unwrap_err(), harness.clock.now());
    assert_matches!(&accepted, AttemptError::Accepted { .. });
    assert_matches!(harness.resolve(&post, called_at).await, Resolution::Pending { .. });
    harness.clock.advance(TimeDelta::minutes(1));
    assert_matches!(harness.resolve(&post, called_at).await, Resolution::Refused { .. });

    harness.fake.reviews(&[(0, "REJECTED")]);
    let post = harness.due(&account, "Rejected at once", Vec::new()).await;
    assert_refused(harness.publish(&post).await, "content policy");
    for (review, hours, is_removed) in [
        (&[(0, "LIVE"), (3_600, "REJECTED")][..], 1, true),
        (&[(0, "LIVE"), (86_400, "REJECTED")], 24, true),
        (&[(0, "LIVE")], 24, false),
    ] {
        harness.fake.reviews(review);
        let post = harness.due(&account, "Live at once", Vec::new()).await;
        let published = harness.publish(&post).await.unwrap();
        let (result, after) = follow_up(&harness, &post, &published).await;
        assert_eq!((matches!(result, Followed::Removed { .. }), after), (is_removed, TimeDelta::hours(hours)));
    }
}

#[tokio::test]
async fn lost_post_in_review_is_not_sent_again_even_if_edited() {
    let (harness, account) = connected::<GoogleBusiness>().await;
    harness.fake.reviews(&[(0, "PROCESSING"), (300, "LIVE")]);
    let (post, called_at) = lost_post(&harness, &account, "Lost", Vec::new(), InjectedFault::LoseResponse).await;
    harness.clock.advance(TimeDelta::minutes(2));
    for (text, words) in [("Lost", "is reviewing"), ("Edited", "may be this one")] {
        harness.fake.edit_posts(text);
        assert_matches!(harness.resolve(&post, called_at).await, Resolution::Pending { reason }
            if reason.contains(words), "{text}");
    }
}

#[tokio::test]
async fn deleted_post_is_not_sent_again() {
    let (harness, account) = connected::<GoogleBusiness>().await;
    let post = harness.due(&account, "Deleted", Vec::new()).await;
    let (_, called_at) = (harness.publish(&post).await.unwrap_err(), harness.clock.now());
    harness.fake.delete_posts();
    assert_matches!(harness.resolve(&post, called_at).await, Resolution::Pending { .. }, "it may only be late");
    let published = Published::new(format!("{LOCATION}/localPosts/1"), called_at);
    assert_eq!(follow_up(&harness, &post, &published).await, (Followed::Done, TimeDelta::hours(1)));
    assert_matches!(harness.resolve(&post, called_at).await, Resolution::Undeterminable { .. });
}

#[tokio::test]
async fn operator_errors_delay_a_post_and_errors_of_location_or_image_fail_it() {
    let (harness, account) = connected::<GoogleBusiness>().await;
    let small = with_pixels(sample(MimeType::Png, 1), 64, 48);
    let breaches = account.rules.breaches("Small", std::slice::from_ref(&small.attachment), Options::NONE);
    assert_eq!(breaches[0].rule, "min_image_side");
    let small = harness.due(&account, "Small", vec![small]).await;
    let post = harness.due(&account, "Hello", Vec::new()).await;
    assert_matches!(harness.publish(&small).await, Err(AttemptError::Refused { .. }));
    for (status, body, is_delayed, words) in [
        (403, service_disabled("Google My Business API", SERVICE), true, "Google My Business API"),
        (429, quota_exceeded(SERVICE, 0), true, "no quota"),
        (400, location_disabled(), false, "for many chains"),
        (404, not_found(), false, "does not exist"),
    ] {
        harness.fake.refuses("/v4/", status, body);
        let error = harness.publish(&post).await.unwrap_err();
        assert_eq!(matches!(error, AttemptError::RetryLater { .. }), is_delayed, "{error:?}");
        assert!(error.into_reason().contains(words), "{words}");
    }
}
