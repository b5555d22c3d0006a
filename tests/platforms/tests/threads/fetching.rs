//! Files that Threads fetches, and what their failures mean.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use networks::meta::error::GraphError;
use networks::threads::ID;
use platforms::conformance::network::{Call, Network};
use platforms::conformance::samples::sample;
use serde_json::json;

use super::stage;

/// The host of the files in these tests.
const HOST: &str = "127.0.0.1";

#[tokio::test]
async fn a_refused_host_is_tried_for_hours_with_growing_pauses() {
    for mime_type in [MimeType::Png, MimeType::Mp4] {
        let (stage, account) = stage().await;
        stage.fake.refuses_hosts(&[HOST]);
        let mut post = stage.post(&account, "a boat", vec![sample(mime_type, 1), sample(mime_type, 2)]);
        let end = stage.clock.now() + TimeDelta::hours(6);

        let errors = stage.prepare_until(&mut post, end).await;

        assert!((10..60).contains(&stage.fake.call_count(Call::Upload)), "{}", stage.fake.call_count(Call::Upload));
        let place = format!("file 1 of 2 ({})", mime_type.as_str());
        for error in &errors {
            let AttemptError::RetryLater { reason, .. } = error else { panic!("{error:?}") };
            for said in [place.as_str(), "Threads could not fetch", "robots.txt", "tunnel", "check the public URL"] {
                assert!(reason.contains(said), "{said}: {reason}");
            }
        }
        stage.fake.refuses_hosts(&[]);
        stage.deliver(&mut post).await.unwrap();
        assert_eq!(stage.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn failures_to_fetch_are_no_verdict_on_the_post() {
    let (stage, account) = stage().await;
    for (number, words) in (1..).zip(["UNKNOWN", "FAILED_DOWNLOADING_VIDEO"]) {
        stage.fake.spoils(Some(words));
        let mut post = stage.post(&account, &format!("film {number}"), vec![sample(MimeType::Mp4, 1)]);
        let end = stage.clock.now() + TimeDelta::hours(3);

        let errors = stage.prepare_until(&mut post, end).await;

        let reasons =
            errors.iter().map(|it| if let AttemptError::RetryLater { reason, .. } = it { reason } else { panic!() });
        assert!(5 < errors.len() && reasons.into_iter().all(|it| it.contains(words)), "{errors:?}");
        stage.fake.spoils(None);
        stage.deliver(&mut post).await.unwrap();
    }
}

#[tokio::test]
async fn a_profile_that_is_not_to_be_seen_needs_reconnection() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "prepared", Vec::new()).await;
    stage.fake.refuses("threads_publish", GraphError::object_not_found(ID));
    let error = stage.publish(&post).await.unwrap_err();
    assert!(!matches!(error, AttemptError::Unauthorized { .. } | AttemptError::Refused { .. }), "{error:?}");

    stage.fake.hide_profile();
    for error in [stage.publish(&post).await.unwrap_err(), {
        let other = stage.post(&account, "another", Vec::new());
        stage.prepare(&other).await.unwrap_err()
    }] {
        assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn ids_that_are_none_become_no_part_of_a_path() {
    let (stage, account) = stage().await;
    let made = |id: &str| GraphError::json(http::StatusCode::OK, json!({ "id": id }));
    for id in ["../me", "17/../18", "", "17?x=y", "me"] {
        stage.fake.refuses("threads", made(id));
        let mut post = stage.post(&account, &format!("{id} container"), Vec::new());
        let end = stage.clock.now() + TimeDelta::minutes(5);
        let errors = stage.prepare_until(&mut post, end).await;
        assert!(matches!(errors[..], [AttemptError::RetryLater { .. }]), "{id}: {errors:?}");

        let post = stage.due(&account, &format!("{id} post"), Vec::new()).await;
        stage.fake.refuses("threads_publish", made(id));
        let error = stage.publish(&post).await.unwrap_err();
        assert!(matches!(error, AttemptError::Unknown { .. }), "{id}: {error:?}");
    }
}
