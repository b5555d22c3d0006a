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
        stage.network.refuses_hosts(&[HOST]);
        let mut post = stage.post(&account, "a boat", vec![sample(mime_type, 1), sample(mime_type, 2)]);
        let end = stage.clock.now() + TimeDelta::hours(6);

        let setbacks = stage.prepared_until(&mut post, end).await;

        assert!((10..60).contains(&stage.network.calls(Call::Upload)), "{}", stage.network.calls(Call::Upload));
        let place = format!("file 1 of 2 ({})", mime_type.as_str());
        for setback in &setbacks {
            let AttemptError::RetryLater { reason, .. } = setback else { panic!("{setback:?}") };
            for said in [place.as_str(), "Threads could not fetch", "robots.txt", "tunnel", "check the public URL"] {
                assert!(reason.contains(said), "{said}: {reason}");
            }
        }
        stage.network.refuses_hosts(&[]);
        stage.deliver(&mut post).await.unwrap();
        assert_eq!(stage.network.public().len(), 1);
    }
}

#[tokio::test]
async fn failures_to_fetch_are_no_verdict_on_the_post() {
    let (stage, account) = stage().await;
    for (number, words) in (1..).zip(["UNKNOWN", "FAILED_DOWNLOADING_VIDEO"]) {
        stage.network.spoils(Some(words));
        let mut post = stage.post(&account, &format!("film {number}"), vec![sample(MimeType::Mp4, 1)]);
        let end = stage.clock.now() + TimeDelta::hours(3);

        let setbacks = stage.prepared_until(&mut post, end).await;

        let reasons =
            setbacks.iter().map(|it| if let AttemptError::RetryLater { reason, .. } = it { reason } else { panic!() });
        assert!(5 < setbacks.len() && reasons.into_iter().all(|it| it.contains(words)), "{setbacks:?}");
        stage.network.spoils(None);
        stage.deliver(&mut post).await.unwrap();
    }
}

#[tokio::test]
async fn a_profile_that_is_not_to_be_seen_needs_reconnection() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "prepared", Vec::new()).await;
    stage.network.refuses("threads_publish", GraphError::no_object(ID));
    let setback = stage.publish(&post).await.unwrap_err();
    assert!(!matches!(setback, AttemptError::Unauthorized { .. } | AttemptError::Refused { .. }), "{setback:?}");

    stage.network.hides_profile();
    for setback in [stage.publish(&post).await.unwrap_err(), {
        let other = stage.post(&account, "another", Vec::new());
        stage.prepare(&other).await.unwrap_err()
    }] {
        assert!(matches!(setback, AttemptError::Unauthorized { .. }), "{setback:?}");
    }
}

#[tokio::test]
async fn ids_that_are_none_become_no_part_of_a_path() {
    let (stage, account) = stage().await;
    let made = |id: &str| GraphError::json(http::StatusCode::OK, json!({ "id": id }));
    for id in ["../me", "17/../18", "", "17?x=y", "me"] {
        stage.network.refuses("threads", made(id));
        let mut post = stage.post(&account, &format!("{id} container"), Vec::new());
        let end = stage.clock.now() + TimeDelta::minutes(5);
        let setbacks = stage.prepared_until(&mut post, end).await;
        assert!(matches!(setbacks[..], [AttemptError::RetryLater { .. }]), "{id}: {setbacks:?}");

        let post = stage.due(&account, &format!("{id} post"), Vec::new()).await;
        stage.network.refuses("threads_publish", made(id));
        let setback = stage.publish(&post).await.unwrap_err();
        assert!(matches!(setback, AttemptError::Unknown { .. }), "{id}: {setback:?}");
    }
}
