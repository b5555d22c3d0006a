//! No post is mistaken for another one, whatever else its account publishes.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};

use crate::conformance::adapter_harness::AdapterHarness;
use crate::conformance::fake_platform::{Call, InjectedFault, StartFake};

/// How soon the outcome of every call is known once the platform responds again.
const SOON: TimeDelta = TimeDelta::seconds(120);

/// Everyday texts in which servers see markup, links or smileys.
const EVERYDAY: [&str; 17] = [
    "I <3 lighthouses",
    "See you there ;-)",
    "3 * 4 * 5 = 60",
    "def __init__(self): pass",
    "- bread\n- butter\n- jam",
    "1. wake up\n2. post\n3. sleep",
    "# Not a heading",
    "> said nobody",
    "`code` and ```more code```",
    "*stars* and _lines_ and ~~waves~~",
    "a < b && b > c",
    "5 & 6, \"quoted\", it's fine",
    "first\n\n\nafter two empty lines",
    "https://example.invalid/a_b_c?d=e*f*g and more",
    "a picture, https://example.invalid/picture.png is one",
    ":smile: :+1: (c) -- ... !",
    "<b>bold</b> &amp; [link](https://example.invalid/x)",
];

/// Two posts with the same text ten seconds apart, with different pictures and without any. The
/// call for the second is cut off before or after it was carried out.
pub async fn equal_texts_are_two_posts(start: StartFake) {
    for fault in [InjectedFault::CutBefore, InjectedFault::LoseResponse] {
        for has_picture in [false, true] {
            let harness = AdapterHarness::start(start).await;
            let account = harness.connect().await;
            if !harness.fake.can_look_up() {
                return;
            }
            if !has_picture && !harness.fake.accepts_repeated_texts() {
                continue;
            }
            let files = |number| harness.picture_or_required_files(&account, has_picture, number);
            let mut first = harness.post(&account, "good morning", files(1));
            let mut second = harness.post(&account, "good morning", files(2));
            second.publish_at += TimeDelta::seconds(10);
            harness.prepare_all(&mut first, &mut Vec::new()).await.unwrap();
            harness.prepare_all(&mut second, &mut Vec::new()).await.unwrap();
            let first = harness.deliver(&mut first).await.unwrap().published;

            harness.fake.inject_fault(Call::Publish, fault, 1);
            let second = harness.deliver(&mut second).await.unwrap().published;

            let public: Vec<_> = harness.fake.public_posts().into_iter().map(|it| it.id).collect();
            assert_eq!(public, [first.platform_post_id, second.platform_post_id], "{fault:?} {has_picture}");
        }
    }
}

/// This service and another program publish other posts with as many files, after the call was cut
/// off.
pub async fn lost_call_is_repeated_despite_newer_posts(start: StartFake) {
    for has_picture in [false, true] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        if !harness.fake.can_look_up() {
            return;
        }
        let files = |number| harness.picture_or_required_files(&account, has_picture, number);
        let mut lost = harness.post(&account, "this one is cut off", files(1));
        let mut meanwhile = Vec::new();
        for number in 2..5 {
            let mut post = harness.post(&account, &format!("and this is number {number}"), files(number));
            post.is_by_other_program = number == 4;
            meanwhile.push(post);
        }
        harness.prepare_all(&mut lost, &mut Vec::new()).await.unwrap();
        harness.clock.skip_to(lost.publish_at);
        let since = harness.clock.now();
        harness.fake.inject_fault(Call::Publish, InjectedFault::CutBefore, 1);
        harness.publish(&lost).await.unwrap_err();
        for post in &mut meanwhile {
            harness.deliver(post).await.unwrap();
        }

        assert_eq!(harness.settle(&lost, since, true).await, None, "it is certainly not there");
        let again_at = harness.clock.now();
        let sent = match harness.publish(&lost).await {
            Ok(sent) => sent,
            Err(error) => {
                assert!(matches!(error, AttemptError::Accepted { .. }), "{error:?}");
                harness.settle(&lost, again_at, true).await.expect("it is there now")
            }
        };

        assert!(harness.clock.now() <= since + SOON, "{}", harness.clock.now() - since);
        let public = harness.fake.public_posts();
        assert_eq!(public.len(), 4);
        let shown = public.iter().find(|it| it.id == sent.platform_post_id).unwrap();
        assert_eq!(shown.text, harness.fake.displayed_text(&lost.text));
    }
}

/// Also if a server changes them for display.
pub async fn everyday_texts_are_recognized(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if !harness.fake.can_look_up() {
        return;
    }
    for (sent, text) in EVERYDAY.into_iter().enumerate() {
        let mut post = harness.post(&account, text, harness.required_files(&account, 1));
        harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
        let due = post.publish_at;

        let delivery = harness.deliver(&mut post).await.unwrap();

        let public = harness.fake.public_posts();
        assert_eq!(public.len(), sent + 1, "{text}");
        assert_eq!(public[sent].id, delivery.published.platform_post_id, "{text}");
        assert!(harness.clock.now() <= due + SOON, "{text}: {}", harness.clock.now() - due);
    }
}

/// The times of look-ups, from the end of the publish call.
const LOOK_UPS: [TimeDelta; 4] =
    [TimeDelta::seconds(5), TimeDelta::minutes(2), TimeDelta::minutes(10), TimeDelta::hours(3)];

/// More posts than one page of any list has, and more than an adapter reads. A post that is not
/// found among them has an unknown outcome: it is never reported as missing, and never as another
/// post.
pub async fn lost_post_is_found_among_manual_posts(start: StartFake) {
    for (count, has_picture) in [(25, false), (25, true), (400, false), (400, true)] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        if !harness.fake.can_look_up() {
            return;
        }
        let files = harness.picture_or_required_files(&account, has_picture, 1);
        let lost = harness.due(&account, "lost among many", files).await;
        let since = harness.clock.now();
        harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
        harness.publish(&lost).await.unwrap_err();
        harness.clock.advance(TimeDelta::seconds(30));
        harness.fake.publish_manual_posts(count);

        let mut resolutions = Vec::new();
        for wait in LOOK_UPS {
            harness.clock.skip_to(since + TimeDelta::seconds(30) + wait);
            resolutions.push(harness.resolve(&lost, since).await);
        }

        let shown = harness.fake.displayed_text(&lost.text);
        let (ours, others): (Vec<_>, Vec<_>) = harness.fake.public_posts().into_iter().partition(|it| it.text == shown);
        assert_eq!(ours.len(), 1, "{count} posts, picture: {has_picture}: {resolutions:?}");
        for resolution in &resolutions {
            let is_right = match resolution {
                Resolution::Found(found) | Resolution::Candidate(found) => {
                    !others.iter().any(|it| it.id == found.platform_post_id)
                }
                Resolution::Pending { .. } | Resolution::Undeterminable { .. } => true,
                Resolution::NotFound
                | Resolution::NotPublished
                | Resolution::Refused { .. }
                | Resolution::Unauthorized { .. } => false,
            };
            assert!(is_right, "{count} posts, picture: {has_picture}: {resolution:?}");
        }
    }
}

/// A backup is restored that is older than the publish call, and perhaps older than the preparation. Nothing
/// that is public is reported as missing, so nothing is sent again.
pub async fn post_of_a_lost_window_is_not_sent_again(start: StartFake) {
    for (has_picture, was_prepared) in [(false, false), (false, true), (true, false), (true, true)] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        let files = |number| harness.picture_or_required_files(&account, has_picture, number);
        let backup_at = harness.clock.now();
        let mut other = harness.post(&account, "also after the backup", files(1));
        harness.deliver(&mut other).await.unwrap();
        let mut post = harness.post(&account, "after the backup", files(2));
        harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        let prepared = post.progress.clone().filter(|_| was_prepared);
        let sent = harness.deliver(&mut post).await.unwrap().published;
        harness.clock.advance(TimeDelta::hours(3));

        harness.restore(&mut post, backup_at, prepared);
        let called_at = harness.clock.now();
        harness.clock.advance(TimeDelta::minutes(10));
        let resolution = harness.resolve(&post, called_at).await;

        let is_right = match &resolution {
            Resolution::Found(found) | Resolution::Candidate(found) => found.platform_post_id == sent.platform_post_id,
            Resolution::Pending { .. } | Resolution::Undeterminable { .. } => true,
            _ => false,
        };
        assert!(is_right, "picture: {has_picture}, prepared: {was_prepared}: {resolution:?}");
    }
}

/// The look-ups after a restore publish nothing, also where a look-up may repeat a call.
pub async fn restored_post_is_not_published_early(start: StartFake) {
    for has_picture in [false, true] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        let files = harness.picture_or_required_files(&account, has_picture, 1);
        let mut post = harness.post(&account, "due later", files);
        let backup_at = harness.clock.now();
        harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        post.publish_at = harness.clock.now() + TimeDelta::hours(6);
        let progress = post.progress.clone();
        harness.restore(&mut post, backup_at, progress);
        let called_at = harness.clock.now();

        for wait in [TimeDelta::seconds(5), TimeDelta::seconds(66), TimeDelta::seconds(96), TimeDelta::minutes(10)] {
            harness.clock.skip_to(called_at + wait);
            let resolution = harness.resolve(&post, called_at).await;
            assert_eq!(harness.fake.public_posts().len(), 0, "picture: {has_picture}, {wait}: {resolution:?}");
        }
    }
}

/// The call did not arrive. None of the others is claimed, and the post is sent again only if a
/// complete list does not have it.
pub async fn manual_posts_are_not_claimed(start: StartFake) {
    for has_picture in [false, true] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        if !harness.fake.can_look_up() {
            return;
        }
        let files = harness.picture_or_required_files(&account, has_picture, 1);
        let mut lost = harness.due(&account, "never arrived", files).await;
        let since = harness.clock.now();
        harness.fake.inject_fault(Call::Publish, InjectedFault::CutBefore, 1);
        harness.publish(&lost).await.unwrap_err();
        harness.clock.advance(TimeDelta::seconds(30));
        harness.fake.publish_manual_posts(25);

        let mut resolutions = Vec::new();
        for wait in LOOK_UPS {
            harness.clock.skip_to(since + TimeDelta::seconds(30) + wait);
            resolutions.push(harness.resolve(&lost, since).await);
        }

        // If the look-up repeats the call with its key, the post is public by now.
        let shown = harness.fake.displayed_text(&lost.text);
        let ours = || harness.fake.public_posts().into_iter().find(|it| it.text == shown).map(|it| it.id);
        for resolution in &resolutions {
            let is_right = match resolution {
                Resolution::Found(found) | Resolution::Candidate(found) => {
                    Some(&found.platform_post_id) == ours().as_ref()
                }
                Resolution::NotFound
                | Resolution::NotPublished
                | Resolution::Pending { .. }
                | Resolution::Undeterminable { .. } => true,
                Resolution::Refused { .. } | Resolution::Unauthorized { .. } => false,
            };
            assert!(is_right, "picture: {has_picture}: {resolution:?}");
        }
        if matches!(resolutions.last(), Some(Resolution::NotFound | Resolution::NotPublished)) {
            let sent = harness.deliver(&mut lost).await.unwrap().published;
            assert_eq!(ours(), Some(sent.platform_post_id));
        }
    }
}
