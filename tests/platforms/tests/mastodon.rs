//! What the Mastodon adapter makes of each kind of server that speaks the API,
//! beside what every adapter has to keep.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use chrono::TimeDelta;
use domain::delivery::{Resolution, Setback};
use domain::media::MimeType;
use domain::rules::Rule;
use networks::mastodon::{GoToSocial, Known, OldMastodon, Pixelfed, Pleroma, Server, Snac, Stock};
use platforms::conformance::network::{Call, Decision, Network, Trouble};
use platforms::conformance::samples::{Sample, sample};
use platforms::conformance::stage::{Post, Stage};
use platforms::{Account, Answers, Departure, HandOffRefusal, RefreshRefusal, Step};
use url::Url;

/// What a public call that was cut off may take, and more.
const SETTLED: TimeDelta = TimeDelta::seconds(100);

async fn stage<K: Known>() -> (Stage<Server<K>>, Account) {
    let stage = Stage::new().await;
    let account = stage.connect().await;
    (stage, account)
}

fn picture() -> Vec<Sample> {
    vec![sample(MimeType::Jpeg, 1)]
}

fn video() -> Vec<Sample> {
    vec![sample(MimeType::Mp4, 1)]
}

fn client_id(departure: &Departure) -> String {
    let Departure::Page { url, .. } = departure else { panic!("{departure:?}") };
    let url = Url::parse(url).unwrap();
    url.query_pairs().find(|(name, _)| name == "client_id").unwrap().1.into_owned()
}

async fn departure<K: Known>(stage: &Stage<Server<K>>) -> Departure {
    stage.depart(&stage.network.answers()).await.unwrap().0
}

/// A post that is prepared and due.
async fn due<'a, K: Known>(stage: &Stage<Server<K>>, account: &'a Account, text: &str, media: Vec<Sample>) -> Post<'a> {
    let mut post = stage.post(account, text, media);
    let mut setbacks = Vec::new();
    stage.prepare_all(&mut post, &mut setbacks).await.unwrap();
    assert_eq!(setbacks, []);
    stage.clock.skip_to(post.publish_at);
    post
}

#[tokio::test]
async fn each_kind_of_server_says_what_it_accepts() {
    async fn title<K: Known>() -> (String, Vec<Rule>) {
        let rules = stage::<K>().await.1.rules;
        (rules.title, rules.rules)
    }

    let (mastodon, of_mastodon) = title::<Stock>().await;
    assert_eq!((mastodon.as_str(), of_mastodon.contains(&Rule::NotMixed)), ("Mastodon", true));
    assert_eq!(title::<OldMastodon>().await, (mastodon, of_mastodon));
    let (gotosocial, of_gotosocial) = title::<GoToSocial>().await;
    assert_eq!((gotosocial.as_str(), of_gotosocial.contains(&Rule::max_media(6))), ("GoToSocial", true));
    let (pleroma, of_pleroma) = title::<Pleroma>().await;
    assert_eq!((pleroma.as_str(), of_pleroma.contains(&Rule::max_image_bytes(15_999_999))), ("Pleroma", true));
    let (pixelfed, of_pixelfed) = title::<Pixelfed>().await;
    assert_eq!((pixelfed.as_str(), of_pixelfed.contains(&Rule::MediaRequired)), ("Pixelfed", true));
}

#[tokio::test]
async fn an_account_is_named_by_its_server() {
    let (stage, account) = stage::<Stock>().await;
    let host = stage.network.base_url().trim_start_matches("http://");

    assert!(account.profile.account_id.starts_with(&format!("{host}/")), "{}", account.profile.account_id);
    assert_eq!(account.profile.username, Some(format!("keeper@{host}")));
    assert!(account.scopes.iter().any(|it| it == "write:statuses"), "{:?}", account.scopes);
}

#[tokio::test]
async fn an_app_is_registered_once_per_server() {
    async fn registers_once<K: Known>() {
        let stage = Stage::<Server<K>>::new().await;
        let first = client_id(&departure(&stage).await);
        assert_eq!(client_id(&departure(&stage).await), first);
        stage.connect().await;
        assert_eq!(client_id(&departure(&stage).await), first);
    }

    registers_once::<Stock>().await;
    registers_once::<OldMastodon>().await;
    registers_once::<GoToSocial>().await;
    registers_once::<Pleroma>().await;
    registers_once::<Pixelfed>().await;
}

#[tokio::test]
async fn an_app_that_a_server_removed_between_is_registered_again_before_anybody_is_sent_there() {
    async fn is_registered_again<K: Known>() {
        let (stage, _) = stage::<K>().await;
        let before = client_id(&departure(&stage).await);

        stage.network.forget_apps();

        assert_ne!(client_id(&departure(&stage).await), before);
        stage.connect().await;
    }

    is_registered_again::<Stock>().await;
    is_registered_again::<OldMastodon>().await;
    is_registered_again::<Pleroma>().await;
}

#[tokio::test]
async fn a_renewal_that_an_unknown_app_asks_for_says_that_the_grant_is_gone() {
    let (stage, _) = stage::<Pleroma>().await;

    stage.network.forget_apps();

    let renewed = stage.renew().await;
    assert!(matches!(renewed, Err(RefreshRefusal::Gone(_))), "{renewed:?}");
}

#[tokio::test]
async fn the_same_words_from_before_the_call_are_not_taken_for_it() {
    let (stage, account) = stage::<GoToSocial>().await;
    let before = due(&stage, &account, "Good morning", Vec::new()).await;
    stage.publish(&before).await.unwrap();
    let post = due(&stage, &account, "Good morning", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, Trouble::CutBefore, 1);
    assert!(stage.publish(&post).await.is_err());

    stage.clock.advance(SETTLED);
    assert_eq!(stage.resolve(&post, since).await, Resolution::NotThere);
}

/// What is said so long after a call with the text "Ours" that never arrived,
/// when another program has published this since.
async fn asked_after<K: Known>(time: TimeDelta, other: &str) -> (Resolution, usize) {
    let (stage, account) = stage::<K>().await;
    let post = due(&stage, &account, "Ours", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, Trouble::CutBefore, 1);
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
        assert!(matches!(soon, Resolution::Unclear { .. }), "{soon:?}");
        assert_eq!(posts, 1, "the first call may be under way");

        let (answer, posts) = asked_after::<Stock>(SETTLED, other).await;
        assert!(matches!(answer, Resolution::Public(_)), "{answer:?}");
        assert_eq!(posts, 2);
    }
}

#[tokio::test]
async fn where_no_key_is_known_words_tell() {
    for (other, said) in [("Ours", "Recognised"), ("Ours!", "Unclear"), ("Other", "NotThere")] {
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
async fn unlisted<K: Known>(trouble: Trouble, tries: usize) -> (i64, Resolution) {
    let (stage, account) = stage::<K>().await;
    let mut post = stage.post(&account, "Hello", Vec::new());
    stage.network.trouble(Call::LookUp, trouble, tries);
    stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    let late = (stage.clock.now() - post.publish_at).num_seconds().max(0);
    stage.network.trouble(Call::LookUp, trouble, 0);
    stage.clock.skip_to(post.publish_at);
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, Trouble::LoseAnswer, 1);
    stage.publish(&post).await.unwrap_err();
    stage.clock.advance(SETTLED);
    (late, stage.resolve(&post, since).await)
}

#[tokio::test]
async fn a_listing_in_trouble_keeps_no_post_back() {
    const ALWAYS: usize = 1000;
    // It passes in time.
    for trouble in [Trouble::Broken, Trouble::CutBefore, Trouble::Unavailable] {
        let (late, answer) = unlisted::<GoToSocial>(trouble, 2).await;
        assert_eq!(late, 0, "{trouble:?}");
        assert!(matches!(answer, Resolution::Recognised(_)), "{answer:?}");
    }
    // Where keys tell, nothing else has to.
    for trouble in [Trouble::Broken, Trouble::Gibberish, Trouble::Unwanted] {
        let (late, answer) = unlisted::<Stock>(trouble, ALWAYS).await;
        assert_eq!(late, 0, "{trouble:?}");
        assert!(matches!(answer, Resolution::Public(_)), "{answer:?}");
    }
    // Where they do not, a lost answer is then never known; that is said.
    for (trouble, waits) in [(Trouble::Gibberish, false), (Trouble::Unwanted, false), (Trouble::Broken, true)] {
        let (late, answer) = unlisted::<GoToSocial>(trouble, ALWAYS).await;
        assert_eq!((0 < late, late < 180), (waits, true), "{trouble:?}: {late} s");
        assert!(matches!(answer, Resolution::Unknowable { .. }), "{answer:?}");
    }
}

#[tokio::test]
async fn nothing_that_asking_for_an_app_brings_is_left_over() {
    async fn left<K: Known>() -> usize {
        let (stage, _) = stage::<K>().await;
        for _ in 0..3 {
            departure(&stage).await;
        }
        stage.network.grants()
    }
    assert_eq!(left::<Stock>().await, 1);
    assert_eq!(left::<Pleroma>().await, 1);
    assert_eq!(left::<Snac>().await, 1);
}

#[tokio::test]
async fn a_server_that_takes_any_code_is_asked_once() {
    let (stage, _) = stage::<Snac>().await;
    let asked = client_id(&departure(&stage).await);
    let (departure_of_one, departure_of_other) = (departure(&stage).await, departure(&stage).await);

    assert_eq!(client_id(&departure_of_one), asked);
    assert_eq!(client_id(&departure_of_other), asked, "who is on the way there is not cut off");
}

#[tokio::test]
async fn a_dead_app_is_known_by_the_page_or_by_what_the_token_endpoint_says() {
    let (stage, _) = stage::<Snac>().await;
    let before = client_id(&departure(&stage).await);
    let account = stage.connect().await;
    stage.connecting().revoke(&account.credentials, stage.clock.now()).await.unwrap();

    let after = client_id(&departure(&stage).await);

    assert_ne!(after, before, "the app went with its token");
    stage.connect().await;
}

#[tokio::test]
async fn scopes_that_are_not_told_are_as_asked_for() {
    let (_, account) = stage::<Snac>().await;
    assert_eq!(account.scopes, ["read:accounts", "read:statuses", "write:statuses", "write:media"]);
    assert_eq!(account.rules.title, "snac");
}

#[tokio::test]
async fn without_what_was_kept_of_the_files_nothing_is_known() {
    let (stage, account) = stage::<Stock>().await;
    let mut post = due(&stage, &account, "Look", picture()).await;
    let since = stage.clock.now();
    post.progress = Some("of another version".to_owned());

    let answer = stage.resolve(&post, since).await;
    assert!(matches!(answer, Resolution::Unclear { .. }), "{answer:?}");
}

#[tokio::test]
async fn a_refusal_with_files_is_believed_once_it_is_certain_that_no_status_shows_them() {
    let (stage, account) = stage::<GoToSocial>().await;
    let post = due(&stage, &account, "Look", picture()).await;
    stage.network.trouble(Call::Publish, Trouble::Unwanted, 2);

    stage.network.trouble(Call::LookUp, Trouble::Broken, 1);
    let unclear = stage.publish(&post).await;
    assert!(matches!(unclear, Err(Setback::Busy { .. })), "{unclear:?}");
    let certain = stage.publish(&post).await;
    assert!(matches!(certain, Err(Setback::Refused { .. })), "{certain:?}");

    // Refused because it is there already, whatever the files say of themselves.
    let published = stage.publish(&post).await.unwrap();
    stage.network.trouble(Call::Publish, Trouble::Unwanted, 1);
    assert_eq!(stage.publish(&post).await.unwrap(), published);
}

#[tokio::test]
async fn an_app_that_is_removed_while_the_person_decides_is_registered_again_and_the_person_is_told() {
    let stage = Stage::<Server<Stock>>::new().await;
    let callback = stage.decided(Decision::Allow).await;

    stage.network.forget_apps();
    let Err(HandOffRefusal::Refused(words)) = stage.complete(&callback).await else { panic!() };

    assert!(words.ends_with("connect the account once more"), "{words}");
    stage.connect().await;
}

#[tokio::test]
async fn a_server_that_is_none_is_asked_for_again() {
    let stage = Stage::<Server<Stock>>::new().await;
    for typed in ["", "two words", "http://10.0.0.1", "http://127.0.0.1:9", "127.0.0.1", "no-such-host.invalid"] {
        let answers = Answers::from([("server".to_owned(), typed.into())]);
        let Err(HandOffRefusal::Field { name, message }) = stage.depart(&answers).await else { panic!("{typed}") };
        assert_eq!(name, "server");
        assert!(message.contains("name"), "{message}");
    }
}

#[tokio::test]
async fn a_video_is_waited_for_in_steps() {
    let (stage, account) = stage::<Stock>().await;
    stage.network.polls_until_ready(7);
    let mut post = stage.post(&account, "Look", video());
    let mut waits = Vec::new();
    let progress = loop {
        match stage.prepare(&post).await.unwrap() {
            Step::Ready { progress } => break progress,
            Step::Again { progress, at } => {
                post.progress = Some(progress);
                waits.push((at - stage.clock.now()).num_seconds());
                stage.clock.skip_to(at);
            }
        }
    };

    let (look_back, looks) = waits.split_last().unwrap();
    assert_eq!(looks, [1, 2, 4, 8, 16, 30, 30, 30]);
    assert_eq!(stage.clock.now() + TimeDelta::seconds(20), post.publish_at, "after {look_back} s");
    post.progress = progress;
    stage.publish(&post).await.unwrap();
    assert_eq!(stage.network.public()[0].media[0].bytes, video()[0].bytes);
    assert_eq!(stage.network.calls(Call::Upload), 1);
}

#[tokio::test]
async fn a_file_that_waited_too_long_is_uploaded_again() {
    let (stage, account) = stage::<Stock>().await;
    let mut post = due(&stage, &account, "Look", vec![sample(MimeType::Jpeg, 1), sample(MimeType::Png, 2)]).await;
    stage.clock.advance(TimeDelta::hours(25));

    assert!(matches!(stage.publish(&post).await, Err(Setback::Stale { .. })));
    post.progress = None;
    stage.deliver(&mut post).await.unwrap();

    let public = stage.network.public();
    assert_eq!(public.len(), 1);
    assert_eq!(public[0].media.len(), 2);
    assert_eq!(stage.network.calls(Call::Upload), 4);
}

#[tokio::test]
async fn a_file_that_vanished_while_it_was_worked_on_is_uploaded_again() {
    let (stage, account) = stage::<Stock>().await;
    let mut post = stage.post(&account, "Look", video());
    let Ok(Step::Again { progress, .. }) = stage.prepare(&post).await else { panic!() };
    post.progress = Some(progress);
    stage.clock.advance(TimeDelta::hours(25));

    assert!(matches!(stage.prepare(&post).await, Err(Setback::Stale { .. })));
}

#[tokio::test]
async fn files_that_a_status_shows_are_not_uploaded_again_but_found() {
    let (stage, account) = stage::<GoToSocial>().await;
    let post = due(&stage, &account, "Look", picture()).await;
    let published = stage.publish(&post).await.unwrap();

    // As if somebody had believed that it is not there.
    let again = stage.publish(&post).await.unwrap();

    assert_eq!(again, published);
    assert_eq!(stage.network.public().len(), 1);
}

#[tokio::test]
async fn a_refusal_of_a_post_with_good_files_is_final() {
    let (stage, account) = stage::<Stock>().await;
    let post = due(&stage, &account, &"x".repeat(501), picture()).await;

    let Err(Setback::Refused { reason }) = stage.publish(&post).await else { panic!() };
    assert!(reason.contains("character limit"), "{reason}");
}

#[tokio::test]
async fn a_lost_answer_is_found_in_the_listing_of_every_kind_of_server() {
    async fn is_found<K: Known>() {
        let (stage, account) = stage::<K>().await;
        let text = "Café & <crème>\n\n@keeper@far.example https://example.com/a-long-path-that-is-cut?x=1&y=2 #Meer 👨‍👩‍👧‍👦";
        for (trouble, arrives) in [(Trouble::LoseAnswer, true), (Trouble::CutBefore, false)] {
            let before = stage.network.public().len();
            let post = due(&stage, &account, text, picture()).await;
            let since = stage.clock.now();
            stage.network.trouble(Call::Publish, trouble, 1);
            let Err(Setback::Unknown { may_still_run: true, .. }) = stage.publish(&post).await else { panic!() };

            stage.clock.advance(TimeDelta::seconds(2));
            let early = stage.resolve(&post, since).await;
            stage.clock.skip_to(since + SETTLED);
            let late = stage.resolve(&post, since).await;

            assert_eq!(stage.network.public().len() - before, usize::from(arrives));
            for answer in [early, late] {
                match answer {
                    Resolution::Public(it) | Resolution::Recognised(it) if arrives => {
                        assert_eq!(it.platform_post_id, stage.network.public()[before].id);
                    }
                    Resolution::NotThere if !arrives => {}
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
    async fn asked<K: Known>(trouble: Trouble, after: TimeDelta) -> (Resolution, usize, usize) {
        let (stage, account) = stage::<K>().await;
        let post = due(&stage, &account, "Hello", Vec::new()).await;
        let since = stage.clock.now();
        stage.network.trouble(Call::Publish, trouble, 1);
        assert!(stage.publish(&post).await.is_err());
        stage.clock.advance(after);
        stage.network.trouble(Call::LookUp, Trouble::Broken, 1);
        let answer = stage.resolve(&post, since).await;
        (answer, stage.network.calls(Call::Publish), stage.network.public().len())
    }

    // The first call made it, or the second; never both.
    for trouble in [Trouble::LoseAnswer, Trouble::CutBefore] {
        let (answer, calls, public) = asked::<Stock>(trouble, SETTLED).await;
        assert!(matches!(answer, Resolution::Public(_)), "{answer:?}");
        assert_eq!((calls, public), (2, 1), "{trouble:?}");
    }
    // Too early, too late, and where keys are not looked at.
    let early = asked::<Stock>(Trouble::LoseAnswer, TimeDelta::seconds(60)).await;
    let late = asked::<Stock>(Trouble::LoseAnswer, TimeDelta::minutes(56)).await;
    let elsewhere = asked::<GoToSocial>(Trouble::LoseAnswer, SETTLED).await;
    for (answer, calls, _) in [early, late, elsewhere] {
        assert!(matches!(answer, Resolution::Unclear { .. }), "{answer:?}");
        assert_eq!(calls, 1);
    }
}

#[tokio::test]
async fn a_repeat_that_is_refused_for_its_content_says_that_the_first_did_not_arrive() {
    let (stage, account) = stage::<Stock>().await;
    let post = due(&stage, &account, "Hello", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, Trouble::CutBefore, 1);
    assert!(stage.publish(&post).await.is_err());
    stage.clock.advance(SETTLED);
    stage.network.trouble(Call::LookUp, Trouble::Broken, 1);
    stage.network.trouble(Call::Publish, Trouble::Unwanted, 1);

    assert_eq!(stage.resolve(&post, since).await, Resolution::NotThere);
}

/// What is found of a post whose answer was lost, after so many others by this
/// service, and how many looks that took.
async fn found_after(others: usize) -> (Resolution, usize) {
    let (stage, account) = stage::<GoToSocial>().await;
    let post = due(&stage, &account, "Ours", Vec::new()).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, Trouble::LoseAnswer, 1);
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
    assert!(matches!(found, Resolution::Recognised(_)), "{found:?}");
    assert_eq!(looks, 5);
}

#[tokio::test]
async fn a_listing_that_is_too_long_says_nothing() {
    let (found, _) = found_after(250).await;
    assert!(matches!(found, Resolution::Unclear { .. }), "{found:?}");
}

#[tokio::test]
async fn tokens_that_end_are_renewed_and_others_are_not() {
    let (of_mastodon, of_pleroma) = (stage::<Stock>().await.0, stage::<Pleroma>().await.0);
    assert!(!of_mastodon.can_renew());
    assert!(of_pleroma.can_renew());

    of_pleroma.network.end_access_tokens();
    let new = of_pleroma.renew().await.unwrap();
    assert!(new.extra.is_some() && new.expires_at.is_some());
    of_pleroma.connecting().revoke(&new, of_pleroma.clock.now()).await.unwrap();
    assert_eq!(of_pleroma.network.grants(), 0);
}
