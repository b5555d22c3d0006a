//! The look-up of a call whose response was lost: by list, text, or idempotency key.

use fakes::mastodon::{FlavorType, GoToSocial, Pleroma, Snac, Stock};

use super::{SETTLED, Server, picture};
use crate::prelude::*;

/// The look-up result at this time after a call with the text "Ours" that never arrived, when
/// another client has published `other` since.
async fn look_up_after<K: FlavorType>(time: TimeDelta, other: &str) -> (Resolution, usize) {
    let (harness, account) = connected::<Server<K>>().await;
    let (post, since) = lost_post(&harness, &account, "Ours", Vec::new(), InjectedFault::CutBefore).await;
    let mut other_post = harness.post(&account, other, Vec::new());
    (other_post.is_by_other_program, other_post.publish_at) = (true, since);
    harness.deliver(&mut other_post).await.unwrap();
    harness.clock.skip_to(since + time);
    let answer = harness.resolve(&post, since).await;
    (answer, harness.fake.public_posts().len())
}

#[tokio::test]
async fn idempotency_key_identifies_equal_text_since_the_call() {
    for other in ["Ours", "Ours!"] {
        let (soon, posts) = look_up_after::<Stock>(TimeDelta::seconds(5), other).await;
        assert_matches!(&soon, Resolution::Pending { .. });
        assert_eq!(posts, 1, "the first call may be under way");

        let (answer, posts) = look_up_after::<Stock>(SETTLED, other).await;
        assert_matches!(&answer, Resolution::Found(_));
        assert_eq!(posts, 2);
    }
}

#[tokio::test]
async fn text_identifies_the_post_without_idempotency_key() {
    for (other, said) in [("Ours", "Candidate"), ("Ours!", "Pending"), ("Other", "NotFound")] {
        for (answer, posts) in [
            look_up_after::<GoToSocial>(SETTLED, other).await,
            look_up_after::<Pleroma>(SETTLED, other).await,
            look_up_after::<Snac>(SETTLED, other).await,
            look_up_after::<Stock>(TimeDelta::hours(2), other).await,
        ] {
            assert!(format!("{answer:?}").starts_with(said), "{other}: {answer:?}");
            assert_eq!(posts, 1);
        }
    }
}

/// A text post whose account cannot be listed during preparation: the time at which the post is
/// ready, in seconds after its due second, and the look-up result when its response is lost.
async fn publish_without_listing<K: FlavorType>(fault: InjectedFault, tries: usize) -> (i64, Resolution) {
    let (harness, account) = connected::<Server<K>>().await;
    let mut post = harness.post(&account, "Hello", Vec::new());
    harness.fake.inject_fault(Call::LookUp, fault, tries);
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    let late = (harness.clock.now() - post.publish_at).num_seconds().max(0);
    harness.fake.inject_fault(Call::LookUp, fault, 0);
    harness.clock.skip_to(post.publish_at);
    let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
    harness.clock.advance(SETTLED);
    (late, harness.resolve(&post, since).await)
}

#[tokio::test]
async fn failing_listing_does_not_delay_a_post() {
    const ALWAYS: usize = 1000;
    // The fault ends in time.
    for fault in [InjectedFault::ServerError, InjectedFault::CutBefore, InjectedFault::Unavailable] {
        let (late, answer) = publish_without_listing::<GoToSocial>(fault, 2).await;
        assert_eq!(late, 0, "{fault:?}");
        assert_matches!(&answer, Resolution::Candidate(_));
    }
    // Where the server has idempotency keys, nothing else is needed.
    for fault in [InjectedFault::ServerError, InjectedFault::HtmlPage, InjectedFault::Refused] {
        let (late, answer) = publish_without_listing::<Stock>(fault, ALWAYS).await;
        assert_eq!(late, 0, "{fault:?}");
        assert_matches!(&answer, Resolution::Found(_));
    }
    // Without keys, the outcome of a lost response stays unknown, and the adapter reports that.
    for (fault, waits) in
        [(InjectedFault::HtmlPage, false), (InjectedFault::Refused, false), (InjectedFault::ServerError, true)]
    {
        let (late, answer) = publish_without_listing::<GoToSocial>(fault, ALWAYS).await;
        assert_eq!((0 < late, late < 180), (waits, true), "{fault:?}: {late} s");
        assert_matches!(&answer, Resolution::Undeterminable { .. });
    }
}

#[tokio::test]
async fn look_up_without_upload_progress_is_pending() {
    let (harness, account) = connected::<Server<Stock>>().await;
    let mut post = harness.due(&account, "Look", picture()).await;
    let since = harness.clock.now();
    post.progress = Some("of another version".to_owned());

    assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. });
}

#[tokio::test]
async fn key_resolves_the_post_when_listing_fails() {
    async fn asked<K: FlavorType>(fault: InjectedFault, after: TimeDelta) -> (Resolution, usize, usize) {
        let (harness, account) = connected::<Server<K>>().await;
        let (post, since) = lost_post(&harness, &account, "Hello", Vec::new(), fault).await;
        harness.clock.advance(after);
        harness.fake.inject_fault(Call::LookUp, InjectedFault::ServerError, 1);
        let answer = harness.resolve(&post, since).await;
        (answer, harness.fake.call_count(Call::Publish), harness.fake.public_posts().len())
    }

    // Either the first or the second call created the post, never both.
    for fault in [InjectedFault::LoseResponse, InjectedFault::CutBefore] {
        let (answer, calls, public) = asked::<Stock>(fault, SETTLED).await;
        assert_matches!(&answer, Resolution::Found(_));
        assert_eq!((calls, public), (2, 1), "{fault:?}");
    }
    // A call begins within five seconds of its intent, and may take effect for 90 s after that.
    // Servers keep keys for an hour.
    for seconds in [95, 55 * 60 - 1] {
        let (answer, calls, public) = asked::<Stock>(InjectedFault::LoseResponse, TimeDelta::seconds(seconds)).await;
        assert_matches!(&answer, Resolution::Found(_), "{seconds} s");
        assert_eq!((calls, public), (2, 1), "{seconds} s");
    }
    // Too early, too late, and on a server that ignores keys.
    let early = asked::<Stock>(InjectedFault::LoseResponse, TimeDelta::seconds(94)).await;
    let late = asked::<Stock>(InjectedFault::LoseResponse, TimeDelta::minutes(55)).await;
    let elsewhere = asked::<GoToSocial>(InjectedFault::LoseResponse, SETTLED).await;
    for (answer, calls, _) in [early, late, elsewhere] {
        assert_matches!(&answer, Resolution::Pending { .. });
        assert_eq!(calls, 1);
    }
}

#[tokio::test]
async fn refused_repeat_proves_that_nothing_was_published() {
    let (harness, account) = connected::<Server<Stock>>().await;
    let (post, since) = lost_post(&harness, &account, "Hello", Vec::new(), InjectedFault::CutBefore).await;
    harness.clock.advance(SETTLED);
    harness.fake.inject_fault(Call::LookUp, InjectedFault::ServerError, 1);
    harness.fake.inject_fault(Call::Publish, InjectedFault::Refused, 1);

    assert_eq!(harness.resolve(&post, since).await, Resolution::NotPublished);
}
