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
async fn mentions_and_link_labels_are_escaped() {
    let (stage, account) = stage().await;
    let text = "<!channel> @here <@U0KEEPER> & <https://evil.invalid|https://good.invalid>";
    let mut post = stage.post(&account, text, Vec::new());

    stage.deliver(&mut post).await.unwrap();

    assert_eq!(stage.fake.calls_people(), 0);
    assert_eq!(stage.fake.public_posts()[0].text, text);
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

        assert_eq!(stage.fake.latest_unfurls(), (said, said));
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
    assert!(stage.fake.public_posts().is_empty());
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
    assert_eq!(stage.fake.call_count(Call::Publish), 0);
}

#[tokio::test]
async fn a_second_message_within_a_second_waits() {
    let (stage, account) = stage().await;
    let (first, second) = (stage.post(&account, "one", Vec::new()), stage.post(&account, "two", Vec::new()));
    stage.publish(&first).await.unwrap();

    let error = stage.publish(&second).await.unwrap_err();

    let AttemptError::RetryLater { retry_at: Some(at), .. } = error else { panic!("{error:?}") };
    assert_eq!(at, stage.clock.now() + TimeDelta::seconds(1));
}

/// A post with an unknown outcome: the response was lost.
async fn publish_with_lost_response<'a>(
    stage: &platforms::conformance::stage::Stage<networks::slack::Slack>,
    account: &'a platforms::Account,
) -> Post<'a> {
    let post = stage.post(account, "is it there?", Vec::new());
    stage.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    let error = stage.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unknown { may_still_run: true, .. }), "{error:?}");
    post
}

#[tokio::test]
async fn a_lost_message_is_found_among_what_others_say() {
    let (stage, account) = stage().await;
    let since = stage.clock.now();
    let post = publish_with_lost_response(&stage, &account).await;
    stage.fake.chats(7);
    stage.fake.has_pages_of(2);
    stage.clock.advance(TimeDelta::hours(5));

    let found = stage.resolve(&post, since).await;

    let Resolution::Found(found) = found else { panic!("{found:?}") };
    assert_eq!(found.platform_post_id, stage.fake.public_posts()[0].id);
    assert!(found.url.is_some());
    assert_eq!(stage.fake.call_count(Call::LookUp), 4);
}

#[tokio::test]
async fn a_channel_that_cannot_be_read_to_its_end_proves_nothing() {
    let (stage, account) = stage().await;
    let since = stage.clock.now();
    let post = publish_with_lost_response(&stage, &account).await;
    stage.fake.has_pages_of(2);
    stage.fake.chats(40);
    let busy = stage.resolve(&post, since).await;
    assert!(matches!(busy, Resolution::Pending { .. }), "{busy:?}");

    stage.fake.has_pages_of(999);
    stage.fake.remove_from_channels();
    let outside = stage.resolve(&post, since).await;
    assert!(matches!(&outside, Resolution::Pending { reason } if reason.contains("/invite")), "{outside:?}");

    for (code, outcome) in [("internal_error", "Pending"), ("missing_scope", "Unauthorized")] {
        stage.fake.refuses("conversations.history", code);
        let answer = format!("{:?}", stage.resolve(&post, since).await);
        assert!(answer.starts_with(outcome), "{code}: {answer}");
    }
    for fault in
        [InjectedFault::CutBefore, InjectedFault::ServerError, InjectedFault::Unavailable, InjectedFault::HtmlPage]
    {
        stage.fake.inject_fault(Call::LookUp, fault, 1);
        let answer = stage.resolve(&post, since).await;
        assert!(matches!(answer, Resolution::Pending { .. }), "{fault:?}: {answer:?}");
    }
}

/// Slack's message can be looked up, so the page may have replaced the response of a call that was accepted.
#[tokio::test]
async fn page_of_an_intermediary_ends_neither_post_nor_connection() {
    let (stage, account) = stage().await;
    for (sent, status) in (1..).zip([400, 401, 403, 404, 408, 413]) {
        let mut post = stage.post(&account, &format!("behind {status}"), Vec::new());
        stage.fake.inject_fault(Call::Publish, InjectedFault::Intermediary { status }, 1);

        let passage = stage.deliver(&mut post).await.unwrap();

        assert!(matches!(passage.errors[..], [AttemptError::Unknown { .. }]), "{status}: {:?}", passage.errors);
        assert_eq!(stage.fake.public_posts().len(), sent, "{status}");
        stage.clock.advance(TimeDelta::minutes(1));
    }
}

#[tokio::test]
async fn internal_error_is_looked_up() {
    for code in ["internal_error", "fatal_error", "service_unavailable", "request_timeout"] {
        let (stage, account) = stage().await;
        let mut post = stage.post(&account, "once", Vec::new());
        stage.fake.refuses("chat.postMessage", code);

        let passage = stage.deliver(&mut post).await.unwrap();

        assert!(matches!(passage.errors[..], [AttemptError::Unknown { .. }]), "{code}: {:?}", passage.errors);
        assert_eq!(stage.fake.public_posts().len(), 1, "{code}");
    }
}
