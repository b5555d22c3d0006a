//! Files that Threads fetches, and the meaning of their errors.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use fakes::meta::error::GraphError;
use fakes::threads::ID;
use platforms::conformance::fake_platform::{Call, FakePlatform};
use platforms::conformance::samples::sample;
use serde_json::json;

use super::harness;

/// The host of the files in these tests.
const HOST: &str = "127.0.0.1";

#[tokio::test]
async fn a_refused_host_is_tried_for_hours_with_growing_pauses() {
    for mime_type in [MimeType::Png, MimeType::Mp4] {
        let (harness, account) = harness().await;
        harness.fake.refuses_hosts(&[HOST]);
        let mut post = harness.post(&account, "a boat", vec![sample(mime_type, 1), sample(mime_type, 2)]);
        let end = harness.clock.now() + TimeDelta::hours(6);

        let errors = harness.prepare_until(&mut post, end).await;

        assert!((10..60).contains(&harness.fake.call_count(Call::Upload)), "{}", harness.fake.call_count(Call::Upload));
        let place = format!("file 1 of 2 ({})", mime_type.as_str());
        for error in &errors {
            let AttemptError::RetryLater { reason, .. } = error else { panic!("{error:?}") };
            for said in [place.as_str(), "Threads could not fetch", "robots.txt", "tunnel", "check the public URL"] {
                assert!(reason.contains(said), "{said}: {reason}");
            }
        }
        harness.fake.refuses_hosts(&[]);
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn failures_to_fetch_are_no_verdict_on_the_post() {
    let (harness, account) = harness().await;
    for (number, words) in (1..).zip(["UNKNOWN", "FAILED_DOWNLOADING_VIDEO"]) {
        harness.fake.fail_containers(Some(words));
        let mut post = harness.post(&account, &format!("film {number}"), vec![sample(MimeType::Mp4, 1)]);
        let end = harness.clock.now() + TimeDelta::hours(3);

        let errors = harness.prepare_until(&mut post, end).await;

        let reasons =
            errors.iter().map(|it| if let AttemptError::RetryLater { reason, .. } = it { reason } else { panic!() });
        assert!(5 < errors.len() && reasons.into_iter().all(|it| it.contains(words)), "{errors:?}");
        harness.fake.fail_containers(None);
        harness.deliver(&mut post).await.unwrap();
    }
}

#[tokio::test]
async fn a_profile_that_is_not_to_be_seen_needs_reconnection() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "prepared", Vec::new()).await;
    harness.fake.refuses("threads_publish", GraphError::object_not_found(ID));
    let error = harness.publish(&post).await.unwrap_err();
    assert!(!matches!(error, AttemptError::Unauthorized { .. } | AttemptError::Refused { .. }), "{error:?}");

    harness.fake.hide_profile();
    for error in [harness.publish(&post).await.unwrap_err(), {
        let other = harness.post(&account, "another", Vec::new());
        harness.prepare(&other).await.unwrap_err()
    }] {
        assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn ids_that_are_none_become_no_part_of_a_path() {
    let (harness, account) = harness().await;
    let made = |id: &str| GraphError::json(http::StatusCode::OK, json!({ "id": id }));
    for id in ["../me", "17/../18", "", "17?x=y", "me"] {
        harness.fake.refuses("threads", made(id));
        let mut post = harness.post(&account, &format!("{id} container"), Vec::new());
        let end = harness.clock.now() + TimeDelta::minutes(5);
        let errors = harness.prepare_until(&mut post, end).await;
        assert!(matches!(errors[..], [AttemptError::RetryLater { .. }]), "{id}: {errors:?}");

        let post = harness.due(&account, &format!("{id} post"), Vec::new()).await;
        harness.fake.refuses("threads_publish", made(id));
        let error = harness.publish(&post).await.unwrap_err();
        assert!(matches!(error, AttemptError::Unknown { .. }), "{id}: {error:?}");
    }
}
