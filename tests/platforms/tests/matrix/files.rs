//! Messages with files.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::{AltText, Facts, MimeType, Pixels};
use networks::matrix::ROOM;
use platforms::conformance::network::{InjectedFault, Network};
use platforms::conformance::samples::{Sample, sample};
use serde_json::json;

use super::stage;

fn pictures(count: u8, described: bool) -> Vec<Sample> {
    let mut files: Vec<_> = (1..=count).map(|it| sample(MimeType::Png, it)).collect();
    files[0].attachment.alt_text = described.then(|| AltText::parse("A boat").unwrap());
    files
}

#[tokio::test]
async fn the_first_file_carries_the_text_unless_it_has_words_of_its_own() {
    let (stage, account) = stage().await;
    for (described, bodies) in [(false, vec!["two boats", "2.png"]), (true, vec!["two boats", "A boat", "2.png"])] {
        let before = stage.fake.contents().len();
        let mut post = stage.post(&account, "two boats", pictures(2, described));

        let published = stage.deliver(&mut post).await.unwrap().published;

        let contents = stage.fake.contents().split_off(before);
        let said: Vec<_> = contents.iter().map(|it| it["body"].as_str().unwrap()).collect();
        assert_eq!(said, bodies);
        // Readers are led to the first.
        let first = stage.fake.public_posts().pop().unwrap().id;
        assert_eq!(published.platform_post_id, first);
        assert!(published.url.unwrap().contains(&format!("{ROOM}/{first}")));
    }
}

#[tokio::test]
async fn a_file_says_how_large_it_is() {
    let (stage, account) = stage().await;
    let mut video = sample(MimeType::Mp4, 1);
    let pixels = Pixels::new(640, 480);
    video.attachment.facts = Some(Facts { pixels, duration_ms: Some(1500), ..Facts::default() });
    let size = video.bytes.len();
    let mut post = stage.post(&account, "a video", vec![video]);

    stage.deliver(&mut post).await.unwrap();

    let content = stage.fake.contents().pop().unwrap();
    assert_eq!(content["msgtype"], "m.video");
    let info = json!({ "mimetype": "video/mp4", "size": size, "w": 640, "h": 480, "duration": 1500 });
    assert_eq!(content["info"], info);
}

/// Eleven messages, of which the homeserver takes ten, and the last after a while.
#[tokio::test]
async fn what_is_limited_in_the_middle_is_sent_later_and_nothing_twice() {
    let (stage, account) = stage().await;
    let mut post = stage.post(&account, "all of them", pictures(10, true));

    let passage = stage.deliver(&mut post).await.unwrap();

    let said = passage.errors.into_iter().next().map(AttemptError::into_reason).unwrap_or_default();
    assert!(said.starts_with("10 of its 11 messages are in the room"), "{said}");
    assert_eq!(stage.fake.contents().len(), 11);
    assert_eq!(stage.fake.public_posts()[0].media.len(), 10);
}

/// The second message of three is lost, or its answer is, and the worker dies.
#[tokio::test]
async fn look_up_sends_missing_messages() {
    for (fault, reconnects) in
        [(InjectedFault::CutBefore, false), (InjectedFault::LoseResponse, false), (InjectedFault::LoseResponse, true)]
    {
        let (stage, account) = stage().await;
        let post = stage.due(&account, "three", pictures(3, false)).await;
        let since = stage.clock.now();
        stage.fake.fail_after(1, fault);
        let stopped = stage.publish(&post).await.unwrap_err();
        assert!(matches!(stopped, AttemptError::Unknown { may_still_run: true, .. }), "{stopped:?}");
        if reconnects {
            // Another device, whose transactions are others: nothing may be on its way.
            stage.connect().await;
            for seconds in [0, 94] {
                stage.clock.skip_to(since + TimeDelta::seconds(seconds));
                let early = stage.resolve(&post, since).await;
                assert!(matches!(early, Resolution::Pending { .. }), "{seconds} s: {early:?}");
            }
            stage.clock.skip_to(since + TimeDelta::seconds(95));
        }

        let answer = stage.resolve(&post, since).await;

        let Resolution::Found(published) = answer else { panic!("{fault:?}: {answer:?}") };
        assert_eq!(published.platform_post_id, stage.fake.public_posts()[0].id);
        assert_eq!(stage.fake.contents().len(), 3, "{fault:?}, reconnects: {reconnects}");
    }
}

#[tokio::test]
async fn a_post_of_which_a_part_is_refused_says_how_much_is_there() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "three", pictures(3, false)).await;
    let since = stage.clock.now();
    stage.fake.fail_after(1, InjectedFault::Refused);

    let stopped = stage.publish(&post).await.unwrap_err();
    assert!(matches!(stopped, AttemptError::Unknown { may_still_run: false, .. }), "{stopped:?}");
    stage.fake.ban_user();
    let answer = stage.resolve(&post, since).await;

    let Resolution::Undeterminable { advice } = &answer else { panic!("{answer:?}") };
    assert!(advice.starts_with("1 of its 3 messages are in the room") && advice.contains("banned"), "{advice}");
}
