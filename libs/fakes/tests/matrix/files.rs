//! Messages with files.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::{AltText, Facts, MimeType, Pixels};
use fakes::matrix::ROOM;
use platforms::conformance::fake_platform::{FakePlatform, InjectedFault};
use platforms::conformance::samples::{Sample, sample};
use serde_json::json;

use super::harness;

fn pictures(count: u8, described: bool) -> Vec<Sample> {
    let mut files: Vec<_> = (1..=count).map(|it| sample(MimeType::Png, it)).collect();
    files[0].attachment.alt_text = described.then(|| AltText::parse("A boat").unwrap());
    files
}

#[tokio::test]
async fn the_first_file_carries_the_text_unless_it_has_words_of_its_own() {
    let (harness, account) = harness().await;
    for (described, bodies) in [(false, vec!["two boats", "2.png"]), (true, vec!["two boats", "A boat", "2.png"])] {
        let before = harness.fake.contents().len();
        let mut post = harness.post(&account, "two boats", pictures(2, described));

        let published = harness.deliver(&mut post).await.unwrap().published;

        let contents = harness.fake.contents().split_off(before);
        let said: Vec<_> = contents.iter().map(|it| it["body"].as_str().unwrap()).collect();
        assert_eq!(said, bodies);
        // The link leads to the first message.
        let first = harness.fake.public_posts().pop().unwrap().id;
        assert_eq!(published.platform_post_id, first);
        assert!(published.url.unwrap().contains(&format!("{ROOM}/{first}")));
    }
}

#[tokio::test]
async fn a_file_says_how_large_it_is() {
    let (harness, account) = harness().await;
    let mut video = sample(MimeType::Mp4, 1);
    let pixels = Pixels::new(640, 480);
    video.attachment.facts = Some(Facts { pixels, duration_ms: Some(1500), ..Facts::default() });
    let size = video.bytes.len();
    let mut post = harness.post(&account, "a video", vec![video]);

    harness.deliver(&mut post).await.unwrap();

    let content = harness.fake.contents().pop().unwrap();
    assert_eq!(content["msgtype"], "m.video");
    let info = json!({ "mimetype": "video/mp4", "size": size, "w": 640, "h": 480, "duration": 1500 });
    assert_eq!(content["info"], info);
}

#[tokio::test]
async fn document_is_a_file() {
    let (harness, account) = harness().await;
    let document = sample(MimeType::Pdf, 1);
    let size = document.bytes.len();
    let mut post = harness.post(&account, "our plan", vec![document]);

    harness.deliver(&mut post).await.unwrap();

    let content = harness.fake.contents().pop().unwrap();
    assert_eq!((&content["msgtype"], &content["filename"]), (&json!("m.file"), &json!("1.pdf")));
    assert_eq!(content["info"], json!({ "mimetype": "application/pdf", "size": size }));
}

/// Eleven messages: the homeserver accepts ten at once, and the last one later.
#[tokio::test]
async fn what_is_limited_in_the_middle_is_sent_later_and_nothing_twice() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "all of them", pictures(10, true));

    let passage = harness.deliver(&mut post).await.unwrap();

    let said = passage.errors.into_iter().next().map(AttemptError::into_reason).unwrap_or_default();
    assert!(said.starts_with("10 of its 11 messages are in the room"), "{said}");
    assert_eq!(harness.fake.contents().len(), 11);
    assert_eq!(harness.fake.public_posts()[0].media.len(), 10);
}

/// The second message of three or its response is lost, and the worker dies.
#[tokio::test]
async fn look_up_sends_missing_messages() {
    for (fault, reconnects) in
        [(InjectedFault::CutBefore, false), (InjectedFault::LoseResponse, false), (InjectedFault::LoseResponse, true)]
    {
        let (harness, account) = harness().await;
        let post = harness.due(&account, "three", pictures(3, false)).await;
        let since = harness.clock.now();
        harness.fake.fail_after(1, fault);
        let stopped = harness.publish(&post).await.unwrap_err();
        assert!(matches!(stopped, AttemptError::Unknown { may_still_run: true, .. }), "{stopped:?}");
        if reconnects {
            // Another device has its own transaction ids, so no call may be in flight.
            harness.connect().await;
            for seconds in [0, 94] {
                harness.clock.skip_to(since + TimeDelta::seconds(seconds));
                let early = harness.resolve(&post, since).await;
                assert!(matches!(early, Resolution::Pending { .. }), "{seconds} s: {early:?}");
            }
            harness.clock.skip_to(since + TimeDelta::seconds(95));
        }

        let response = harness.resolve(&post, since).await;

        let Resolution::Found(published) = response else { panic!("{fault:?}: {response:?}") };
        assert_eq!(published.platform_post_id, harness.fake.public_posts()[0].id);
        assert_eq!(harness.fake.contents().len(), 3, "{fault:?}, reconnects: {reconnects}");
    }
}

#[tokio::test]
async fn a_post_of_which_a_part_is_refused_says_how_much_is_there() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "three", pictures(3, false)).await;
    let since = harness.clock.now();
    harness.fake.fail_after(1, InjectedFault::Refused);

    let stopped = harness.publish(&post).await.unwrap_err();
    assert!(matches!(stopped, AttemptError::Unknown { may_still_run: false, .. }), "{stopped:?}");
    harness.fake.ban_user();
    let response = harness.resolve(&post, since).await;

    let Resolution::Undeterminable { advice } = &response else { panic!("{response:?}") };
    assert!(advice.starts_with("1 of its 3 messages are in the room") && advice.contains("banned"), "{advice}");
}
