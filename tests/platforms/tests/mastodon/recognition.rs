//! The look-up of a call whose response was lost: by the listing, by the text, by
//! the key.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use networks::mastodon::{GoToSocial, Known, OldMastodon, Pixelfed, Pleroma, Snac, Stock};
use platforms::conformance::network::{Call, InjectedFault, Network};

use super::{picture, stage};

/// What a public call that was cut off may take, and more.
const SETTLED: TimeDelta = TimeDelta::seconds(100);

#[tokio::test]
async fn equal_text_from_before_the_call_is_not_it() {
    let (stage, account) = stage::<GoToSocial>().await;
    let before = stage.due(&account, "Good morning", Vec::new()).await;
    stage.publish(&before).await.unwrap();
    let post = stage.due(&account, "Good morning", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::CutBefore, 1);
    assert!(stage.publish(&post).await.is_err());

    stage.clock.advance(SETTLED);
    assert_eq!(stage.resolve(&post, since).await, Resolution::NotFound);
}

/// The result at this time after a call with the text "Ours" that never arrived,
/// when another program has published this since.
async fn asked_after<K: Known>(time: TimeDelta, other: &str) -> (Resolution, usize) {
    let (stage, account) = stage::<K>().await;
    let post = stage.due(&account, "Ours", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::CutBefore, 1);
    assert!(stage.publish(&post).await.is_err());
    let mut theirs = stage.post(&account, other, Vec::new());
    (theirs.elsewhere, theirs.publish_at) = (true, since);
    stage.deliver(&mut theirs).await.unwrap();
    stage.clock.skip_to(since + time);
    let answer = stage.resolve(&post, since).await;
    (answer, stage.network.public().len())
}

#[tokio::test]
async fn of_the_same_words_since_the_call_the_key_says_whether_they_are_the_post() {
    for other in ["Ours", "Ours!"] {
        let (soon, posts) = asked_after::<Stock>(TimeDelta::seconds(5), other).await;
        assert!(matches!(soon, Resolution::Pending { .. }), "{soon:?}");
        assert_eq!(posts, 1, "the first call may be under way");

        let (answer, posts) = asked_after::<Stock>(SETTLED, other).await;
        assert!(matches!(answer, Resolution::Found(_)), "{answer:?}");
        assert_eq!(posts, 2);
    }
}

#[tokio::test]
async fn where_no_key_is_known_words_tell() {
    for (other, said) in [("Ours", "Candidate"), ("Ours!", "Pending"), ("Other", "NotFound")] {
        for (answer, posts) in [
            asked_after::<GoToSocial>(SETTLED, other).await,
            asked_after::<Pleroma>(SETTLED, other).await,
            asked_after::<Snac>(SETTLED, other).await,
            asked_after::<Stock>(TimeDelta::hours(2), other).await,
        ] {
            assert!(format!("{answer:?}").starts_with(said), "{other}: {answer:?}");
            assert_eq!(posts, 1);
        }
    }
}

/// A text post whose account cannot be listed in preparation: when it is ready,
/// in seconds from its due second on, and what is said when its answer is lost.
async fn unlisted<K: Known>(trouble: InjectedFault, tries: usize) -> (i64, Resolution) {
    let (stage, account) = stage::<K>().await;
    let mut post = stage.post(&account, "Hello", Vec::new());
    stage.network.trouble(Call::LookUp, trouble, tries);
    stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    let late = (stage.clock.now() - post.publish_at).num_seconds().max(0);
    stage.network.trouble(Call::LookUp, trouble, 0);
    stage.clock.skip_to(post.publish_at);
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    stage.publish(&post).await.unwrap_err();
    stage.clock.advance(SETTLED);
    (late, stage.resolve(&post, since).await)
}

#[tokio::test]
async fn a_listing_in_trouble_keeps_no_post_back() {
    const ALWAYS: usize = 1000;
    // It passes in time.
    for trouble in [InjectedFault::Broken, InjectedFault::CutBefore, InjectedFault::Unavailable] {
        let (late, answer) = unlisted::<GoToSocial>(trouble, 2).await;
        assert_eq!(late, 0, "{trouble:?}");
        assert!(matches!(answer, Resolution::Candidate(_)), "{answer:?}");
    }
    // Where keys tell, nothing else has to.
    for trouble in [InjectedFault::Broken, InjectedFault::Gibberish, InjectedFault::Unwanted] {
        let (late, answer) = unlisted::<Stock>(trouble, ALWAYS).await;
        assert_eq!(late, 0, "{trouble:?}");
        assert!(matches!(answer, Resolution::Found(_)), "{answer:?}");
    }
    // Where they do not, a lost answer is then never known; that is said.
    for (trouble, waits) in
        [(InjectedFault::Gibberish, false), (InjectedFault::Unwanted, false), (InjectedFault::Broken, true)]
    {
        let (late, answer) = unlisted::<GoToSocial>(trouble, ALWAYS).await;
        assert_eq!((0 < late, late < 180), (waits, true), "{trouble:?}: {late} s");
        assert!(matches!(answer, Resolution::Undeterminable { .. }), "{answer:?}");
    }
}

#[tokio::test]
async fn without_what_was_kept_of_the_files_nothing_is_known() {
    let (stage, account) = stage::<Stock>().await;
    let mut post = stage.due(&account, "Look", picture()).await;
    let since = stage.clock.now();
    post.progress = Some("of another version".to_owned());

    let answer = stage.resolve(&post, since).await;
    assert!(matches!(answer, Resolution::Pending { .. }), "{answer:?}");
}

#[tokio::test]
async fn a_lost_answer_is_found_in_the_listing_of_every_kind_of_server() {
    async fn is_found<K: Known>() {
        let (stage, account) = stage::<K>().await;
        let text = "Café & <crème>\n\n@keeper@far.example https://example.com/a-long-path-that-is-cut?x=1&y=2 #Meer 👨‍👩‍👧‍👦";
        for (trouble, arrives) in [(InjectedFault::LoseAnswer, true), (InjectedFault::CutBefore, false)] {
            let before = stage.network.public().len();
            let post = stage.due(&account, text, picture()).await;
            let since = stage.clock.now();
            stage.network.trouble(Call::Publish, trouble, 1);
            let Err(AttemptError::Unknown { may_still_run: true, .. }) = stage.publish(&post).await else { panic!() };

            stage.clock.advance(TimeDelta::seconds(2));
            let early = stage.resolve(&post, since).await;
            stage.clock.skip_to(since + SETTLED);
            let late = stage.resolve(&post, since).await;

            assert_eq!(stage.network.public().len() - before, usize::from(arrives));
            for answer in [early, late] {
                match answer {
                    Resolution::Found(it) | Resolution::Candidate(it) if arrives => {
                        assert_eq!(it.platform_post_id, stage.network.public()[before].id);
                    }
                    Resolution::NotFound if !arrives => {}
                    other => panic!("{other:?} after {trouble:?}"),
                }
            }
        }
    }

    is_found::<Stock>().await;
    is_found::<OldMastodon>().await;
    is_found::<GoToSocial>().await;
    is_found::<Pleroma>().await;
    is_found::<Pixelfed>().await;
    is_found::<Snac>().await;
}

#[tokio::test]
async fn where_the_listing_says_nothing_the_key_does_while_it_is_known() {
    async fn asked<K: Known>(trouble: InjectedFault, after: TimeDelta) -> (Resolution, usize, usize) {
        let (stage, account) = stage::<K>().await;
        let post = stage.due(&account, "Hello", Vec::new()).await;
        let since = stage.clock.now();
        stage.network.trouble(Call::Publish, trouble, 1);
        assert!(stage.publish(&post).await.is_err());
        stage.clock.advance(after);
        stage.network.trouble(Call::LookUp, InjectedFault::Broken, 1);
        let answer = stage.resolve(&post, since).await;
        (answer, stage.network.calls(Call::Publish), stage.network.public().len())
    }

    // The first call made it, or the second; never both.
    for trouble in [InjectedFault::LoseAnswer, InjectedFault::CutBefore] {
        let (answer, calls, public) = asked::<Stock>(trouble, SETTLED).await;
        assert!(matches!(answer, Resolution::Found(_)), "{answer:?}");
        assert_eq!((calls, public), (2, 1), "{trouble:?}");
    }
    // A call begins within five seconds of its intent, and may take effect for 90 s after that. Servers keep keys for
    // an hour.
    for seconds in [95, 55 * 60 - 1] {
        let (answer, calls, public) = asked::<Stock>(InjectedFault::LoseAnswer, TimeDelta::seconds(seconds)).await;
        assert!(matches!(answer, Resolution::Found(_)), "{seconds} s: {answer:?}");
        assert_eq!((calls, public), (2, 1), "{seconds} s");
    }
    // Too early, too late, and where keys are not looked at.
    let early = asked::<Stock>(InjectedFault::LoseAnswer, TimeDelta::seconds(94)).await;
    let late = asked::<Stock>(InjectedFault::LoseAnswer, TimeDelta::minutes(55)).await;
    let elsewhere = asked::<GoToSocial>(InjectedFault::LoseAnswer, SETTLED).await;
    for (answer, calls, _) in [early, late, elsewhere] {
        assert!(matches!(answer, Resolution::Pending { .. }), "{answer:?}");
        assert_eq!(calls, 1);
    }
}

#[tokio::test]
async fn a_repeat_that_is_refused_for_its_content_says_that_the_first_did_not_arrive() {
    let (stage, account) = stage::<Stock>().await;
    let post = stage.due(&account, "Hello", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::CutBefore, 1);
    assert!(stage.publish(&post).await.is_err());
    stage.clock.advance(SETTLED);
    stage.network.trouble(Call::LookUp, InjectedFault::Broken, 1);
    stage.network.trouble(Call::Publish, InjectedFault::Unwanted, 1);

    assert_eq!(stage.resolve(&post, since).await, Resolution::NotPublished);
}

/// What is found of a post whose answer was lost, after so many others by this
/// service, and how many looks that took.
async fn found_after(others: usize) -> (Resolution, usize) {
    let (stage, account) = stage::<GoToSocial>().await;
    let post = stage.due(&account, "Ours", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    assert!(stage.publish(&post).await.is_err());
    for number in 0..others {
        let mut other = stage.post(&account, &format!("Other {number}"), Vec::new());
        other.progress.clone_from(&post.progress);
        stage.publish(&other).await.unwrap();
    }
    let before = stage.network.calls(Call::LookUp);
    (stage.resolve(&post, since).await, stage.network.calls(Call::LookUp) - before)
}

#[tokio::test]
async fn a_listing_that_does_not_reach_back_is_read_on() {
    // Three pages, an empty one behind them, and the source of the one that nobody else made.
    let (found, looks) = found_after(90).await;
    assert!(matches!(found, Resolution::Candidate(_)), "{found:?}");
    assert_eq!(looks, 5);
}

#[tokio::test]
async fn a_listing_that_is_too_long_says_nothing() {
    let (found, _) = found_after(250).await;
    assert!(matches!(found, Resolution::Pending { .. }), "{found:?}");
}
