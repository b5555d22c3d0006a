//! A lost post that is sent once more, where the operator wants it.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use networks::linkedin::{LinkedIn, Replaying};
use platforms::Account;
use platforms::conformance::network::{Call, InjectedFault, Network};
use platforms::conformance::stage::{Post, Stage};

use super::of;

/// A call begins within five seconds of its intent, and may take effect for 90 s after that.
const SETTLES: TimeDelta = TimeDelta::seconds(95);

/// A post whose call met this.
async fn lost<'a>(stage: &Stage<LinkedIn<Replaying>>, account: &'a Account, trouble: InjectedFault) -> Post<'a> {
    let post = stage.due(account, "once (more)", Vec::new()).await;
    stage.network.trouble(Call::Publish, trouble, 1);
    let setback = stage.publish(&post).await.unwrap_err();
    assert!(matches!(setback, AttemptError::Unknown { .. }), "{setback:?}");
    post
}

#[tokio::test]
async fn the_very_same_post_tells_whether_the_first_arrived() {
    for (trouble, calls) in
        [(InjectedFault::LoseAnswer, 2), (InjectedFault::BrokenAfter, 2), (InjectedFault::CutBefore, 2)]
    {
        let (stage, account) = of::<Replaying>().await;
        let begun = stage.clock.now();
        let post = lost(&stage, &account, trouble).await;
        let since = stage.clock.now();
        assert!(begun < since);

        // Not while the first may still arrive.
        for wait in [TimeDelta::zero(), SETTLES - TimeDelta::seconds(1)] {
            stage.clock.skip_to(since + wait);
            let early = stage.resolve(&post, since).await;
            assert!(matches!(early, Resolution::Pending { .. }), "{wait}: {early:?}");
        }
        assert_eq!(stage.network.calls(Call::Publish), 1);
        stage.clock.skip_to(since + SETTLES);
        let answer = stage.resolve(&post, since).await;

        let Resolution::Found(found) = answer else { panic!("{trouble:?}: {answer:?}") };
        let public = stage.network.public();
        assert_eq!((public.len(), &public[0].id), (1, &found.platform_post_id), "{trouble:?}");
        assert_eq!(stage.network.calls(Call::Publish), calls);
        let sent = stage.network.request_log.all();
        let bodies: Vec<_> = sent.iter().filter(|it| it.asked == "POST /rest/posts").map(|it| &it.body).collect();
        assert_eq!(bodies[0], bodies[1], "byte for byte");
    }
}

#[tokio::test]
async fn it_is_sent_once_and_within_minutes_or_not_at_all() {
    let (stage, account) = of::<Replaying>().await;
    let post = lost(&stage, &account, InjectedFault::LoseAnswer).await;
    let since = stage.clock.now();
    stage.clock.advance(SETTLES);
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    let again = stage.resolve(&post, since).await;
    assert!(matches!(again, Resolution::Pending { .. }), "{again:?}");
    let calls = stage.network.calls(Call::Publish);

    // The next look comes so much later at the earliest.
    stage.clock.advance(stage.publishing().settle_time());
    let late = stage.resolve(&post, since).await;

    assert!(matches!(late, Resolution::Undeterminable { .. }), "{late:?}");
    assert_eq!(stage.network.calls(Call::Publish), calls);
    assert_eq!(stage.network.public().len(), 1);
}

/// LinkedIn does not say for how long it refuses the same post. A worker that died in the repeat holds the delivery for
/// 90 s, so no other worker repeats it once more.
#[tokio::test]
async fn post_is_sent_again_only_within_a_minute_after_its_call_has_ended() {
    for (seconds, is_sent_again) in [(59, true), (60, false), (3_600, false)] {
        let (stage, account) = of::<Replaying>().await;
        let post = lost(&stage, &account, InjectedFault::LoseAnswer).await;
        let since = stage.clock.now();
        stage.clock.skip_to(since + SETTLES + TimeDelta::seconds(seconds));

        let answer = stage.resolve(&post, since).await;

        assert_eq!(stage.network.calls(Call::Publish), 1 + usize::from(is_sent_again), "after {seconds} s");
        match answer {
            Resolution::Found(_) if is_sent_again => {}
            Resolution::Undeterminable { .. } if !is_sent_again => {}
            answer => panic!("after {seconds} s: {answer:?}"),
        }
    }
}

#[tokio::test]
async fn duplicate_of_another_post_is_not_it() {
    let (stage, account) = of::<Replaying>().await;
    let mut first = stage.post(&account, "once (more)", Vec::new());
    stage.deliver(&mut first).await.unwrap();
    let post = lost(&stage, &account, InjectedFault::CutBefore).await;
    let since = stage.clock.now();
    stage.clock.advance(SETTLES);

    let answer = stage.resolve(&post, since).await;

    assert!(matches!(&answer, Resolution::Refused { reason } if reason.contains("twice")), "{answer:?}");
    assert_eq!(stage.network.public().len(), 1);
}
