//! Messages with files.

use super::Matrix;
use crate::prelude::*;

fn pictures(count: u8, described: bool) -> Vec<Sample> {
    let mut files: Vec<_> = (1..=count).map(|it| sample(MimeType::Png, it)).collect();
    files[0].attachment.alt_text = described.then(|| AltText::parse("A boat").unwrap());
    files
}

#[tokio::test]
async fn first_file_has_the_text_unless_it_has_an_alt_text() {
    for (text, described, bodies) in [
        ("two boats", false, vec!["two boats", "2.png"]),
        ("two boats", true, vec!["two boats", "A boat", "2.png"]),
        // Neither an empty message nor an empty caption is sent.
        ("", false, vec!["1.png", "2.png"]),
        ("", true, vec!["A boat", "2.png"]),
    ] {
        let (harness, account) = connected::<Matrix>().await;

        harness.deliver(&mut harness.post(&account, text, pictures(2, described))).await.unwrap();

        let contents = harness.fake.contents();
        let said: Vec<_> = contents.iter().map(|it| it["body"].as_str().unwrap()).collect();
        assert_eq!(said, bodies);
    }
}

#[tokio::test]
async fn video_has_its_size_dimensions_and_duration() {
    let (harness, account) = connected::<Matrix>().await;
    let mut video = sample(MimeType::Mp4, 1);
    let pixels = Pixels::new(640, 480);
    video.attachment.facts = Some(Facts { pixels, duration_ms: Some(1500), ..Facts::default() });
    let size = video.bytes.len();

    harness.deliver(&mut harness.post(&account, "a video", vec![video])).await.unwrap();

    let info = json!({ "mimetype": "video/mp4", "size": size, "w": 640, "h": 480, "duration": 1500 });
    assert_eq!(harness.fake.contents()[0]["info"], info);
}

/// The call for a message in the middle or its response is lost, and the worker dies.
#[tokio::test]
async fn look_up_sends_missing_messages() {
    let limited = InjectedFault::RateLimited { retry_after: TimeDelta::seconds(45) };
    for (fault, reconnects) in [
        (InjectedFault::CutBefore, false),
        (limited, false),
        (InjectedFault::LoseResponse, false),
        (InjectedFault::LoseResponse, true),
    ] {
        let (harness, account) = connected::<Matrix>().await;
        let post = harness.due(&account, "three", pictures(3, false)).await;
        let since = harness.clock.now();
        harness.fake.faults().order_after(Call::Publish, 1, fault);
        let stopped = harness.publish(&post).await.unwrap_err();
        let AttemptError::Unknown { may_still_run, reason, .. } = stopped else { panic!("{stopped:?}") };
        assert_eq!(may_still_run, fault != limited, "{reason}");
        assert!(reason.starts_with("1 of its 3 messages are in the room"), "{reason}");
        if reconnects {
            // Another device has its own transaction ids, so no call may be in flight.
            harness.connect().await;
            for seconds in [0, 94] {
                harness.clock.skip_to(since + TimeDelta::seconds(seconds));
                assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. }, "{seconds} s");
            }
            harness.clock.skip_to(since + TimeDelta::seconds(95));
        } else {
            harness.fake.inject_fault(Call::Publish, InjectedFault::Unavailable, 1);
            assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. });
        }

        let response = harness.resolve(&post, since).await;

        let Resolution::Found(published) = response else { panic!("{fault:?}: {response:?}") };
        assert_eq!(published.platform_post_id, harness.fake.public_posts()[0].id);
        assert_eq!(harness.fake.contents().len(), 3, "{fault:?}, reconnects: {reconnects}");
    }
}

#[tokio::test]
async fn partly_refused_post_says_what_is_public() {
    let (harness, account) = connected::<Matrix>().await;
    let post = harness.due(&account, "three", pictures(3, false)).await;
    let since = harness.clock.now();
    harness.fake.faults().order_after(Call::Publish, 1, InjectedFault::Refused);

    assert_matches!(harness.publish(&post).await, Err(AttemptError::Unknown { may_still_run: false, .. }));
    harness.fake.inject_fault(Call::Publish, InjectedFault::Refused, 1);
    let response = harness.resolve(&post, since).await;

    let Resolution::Undeterminable { advice } = response else { panic!("{response:?}") };
    assert!(advice.starts_with("1 of its 3 messages are in the room") && advice.contains("spam"), "{advice}");
}
