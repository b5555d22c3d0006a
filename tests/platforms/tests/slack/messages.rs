//! Messages without files.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::options::OptionValue;
use networks::slack::{ARCHIVED, CHANNEL, ELSEWHERE, PRIVATE};
use platforms::conformance::network::{Call, InjectedFault, Network};
use platforms::conformance::stage::Post;

use super::{stage, to};

#[tokio::test]
async fn a_message_is_seen_below_the_address_of_its_workspace() {
    let (stage, account) = stage().await;
    for channel in [CHANNEL, PRIVATE] {
        let mut post = stage.post(&account, "the lamp is lit", Vec::new());
        post.options = to(channel);

        let published = stage.deliver(&mut post).await.unwrap().published;

        let (_, ts) = published.platform_post_id.split_once(':').unwrap();
        let link = format!("https://lighthouse.slack.com/archives/{channel}/p{}", ts.replace('.', ""));
        assert_eq!(published.url, Some(link));
    }
}

#[tokio::test]
async fn nobody_is_called_and_nothing_leads_elsewhere() {
    let (stage, account) = stage().await;
    let text = "<!channel> @here <@U0KEEPER> & <https://evil.invalid|https://good.invalid>";
    let mut post = stage.post(&account, text, Vec::new());

    stage.deliver(&mut post).await.unwrap();

    assert_eq!(stage.network.calls_people(), 0);
    assert_eq!(stage.network.public()[0].text, text);
}

#[tokio::test]
async fn previews_of_links_are_as_the_post_says() {
    let (stage, account) = stage().await;
    for said in [None, Some(true), Some(false)] {
        let mut post = stage.post(&account, "https://example.invalid/", Vec::new());
        let said_option = said.map(|it| ("unfurl_links".to_owned(), OptionValue::Flag(it)));
        post.options =
            [("channel".to_owned(), OptionValue::Text(CHANNEL.to_owned()))].into_iter().chain(said_option).collect();

        stage.deliver(&mut post).await.unwrap();

        assert_eq!(stage.network.latest_unfurls(), (said, said));
    }
}

#[tokio::test]
async fn closed_channel_error_says_what_to_do() {
    let (stage, account) = stage().await;
    for (channel, advice) in [
        (ELSEWHERE, "invite it with /invite"),
        (ARCHIVED, "choose another channel"),
        ("C0NOTHERE00", "the channel does not exist"),
        ("#general", "choose one of the listed channels"),
        ("", "choose one of the listed channels"),
    ] {
        let mut post = stage.post(&account, "hello", Vec::new());
        post.options = to(channel);

        let refused = stage.deliver(&mut post).await.unwrap_err();

        let AttemptError::Refused { reason } = &refused else { panic!("{channel}: {refused:?}") };
        assert!(reason.contains(advice), "{channel}: {reason}");
    }
    assert!(stage.network.public().is_empty());
}

#[tokio::test]
async fn a_text_that_grows_too_long_is_not_sent() {
    let (stage, account) = stage().await;
    let mut post = stage.post(&account, &"<&>".repeat(400), Vec::new());

    let refused = stage.deliver(&mut post).await.unwrap_err();

    assert!(
        matches!(&refused, AttemptError::Refused { reason } if reason.contains("this text has 5200")),
        "{refused:?}"
    );
    assert_eq!(stage.network.calls(Call::Publish), 0);
}

#[tokio::test]
async fn a_second_message_within_a_second_waits() {
    let (stage, account) = stage().await;
    let (first, second) = (stage.post(&account, "one", Vec::new()), stage.post(&account, "two", Vec::new()));
    stage.publish(&first).await.unwrap();

    let setback = stage.publish(&second).await.unwrap_err();

    let AttemptError::RetryLater { retry_at: Some(at), .. } = setback else { panic!("{setback:?}") };
    assert_eq!(at, stage.clock.now() + TimeDelta::seconds(1));
}

/// A post with an unknown outcome: the response was lost.
async fn lost<'a>(
    stage: &platforms::conformance::stage::Stage<networks::slack::Slack>,
    account: &'a platforms::Account,
) -> Post<'a> {
    let post = stage.post(account, "is it there?", Vec::new());
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    let setback = stage.publish(&post).await.unwrap_err();
    assert!(matches!(setback, AttemptError::Unknown { may_still_run: true, .. }), "{setback:?}");
    post
}

#[tokio::test]
async fn a_lost_message_is_found_among_what_others_say() {
    let (stage, account) = stage().await;
    let since = stage.clock.now();
    let post = lost(&stage, &account).await;
    stage.network.chats(7);
    stage.network.has_pages_of(2);
    stage.clock.advance(TimeDelta::hours(5));

    let found = stage.resolve(&post, since).await;

    let Resolution::Found(found) = found else { panic!("{found:?}") };
    assert_eq!(found.platform_post_id, stage.network.public()[0].id);
    assert!(found.url.is_some());
    assert_eq!(stage.network.calls(Call::LookUp), 4);
}

#[tokio::test]
async fn a_channel_that_cannot_be_read_to_its_end_proves_nothing() {
    let (stage, account) = stage().await;
    let since = stage.clock.now();
    let post = lost(&stage, &account).await;
    stage.network.has_pages_of(2);
    stage.network.chats(40);
    let busy = stage.resolve(&post, since).await;
    assert!(matches!(busy, Resolution::Pending { .. }), "{busy:?}");

    stage.network.has_pages_of(999);
    stage.network.kicks();
    let outside = stage.resolve(&post, since).await;
    assert!(matches!(&outside, Resolution::Pending { reason } if reason.contains("/invite")), "{outside:?}");

    for (code, outcome) in [("internal_error", "Pending"), ("missing_scope", "Unauthorized")] {
        stage.network.refuses("conversations.history", code);
        let answer = format!("{:?}", stage.resolve(&post, since).await);
        assert!(answer.starts_with(outcome), "{code}: {answer}");
    }
    for trouble in
        [InjectedFault::CutBefore, InjectedFault::Broken, InjectedFault::Unavailable, InjectedFault::Gibberish]
    {
        stage.network.trouble(Call::LookUp, trouble, 1);
        let answer = stage.resolve(&post, since).await;
        assert!(matches!(answer, Resolution::Pending { .. }), "{trouble:?}: {answer:?}");
    }
}

/// Slack's message can be looked up, so the page may have replaced the response of a call that was accepted.
#[tokio::test]
async fn page_of_an_intermediary_ends_neither_post_nor_connection() {
    let (stage, account) = stage().await;
    for (sent, status) in (1..).zip([400, 401, 403, 404, 408, 413]) {
        let mut post = stage.post(&account, &format!("behind {status}"), Vec::new());
        stage.network.trouble(Call::Publish, InjectedFault::Intermediary { status }, 1);

        let passage = stage.deliver(&mut post).await.unwrap();

        assert!(matches!(passage.setbacks[..], [AttemptError::Unknown { .. }]), "{status}: {:?}", passage.setbacks);
        assert_eq!(stage.network.public().len(), sent, "{status}");
        stage.clock.advance(TimeDelta::minutes(1));
    }
}

#[tokio::test]
async fn a_call_that_failed_inside_is_asked_about() {
    for code in ["internal_error", "fatal_error", "service_unavailable", "request_timeout"] {
        let (stage, account) = stage().await;
        let mut post = stage.post(&account, "once", Vec::new());
        stage.network.refuses("chat.postMessage", code);

        let passage = stage.deliver(&mut post).await.unwrap();

        assert!(matches!(passage.setbacks[..], [AttemptError::Unknown { .. }]), "{code}: {:?}", passage.setbacks);
        assert_eq!(stage.network.public().len(), 1, "{code}");
    }
}
