//! Messages without files.

use fakes::slack::{ARCHIVED, CHANNEL, ELSEWHERE, PRIVATE};

use super::{harness, to};
use crate::prelude::*;

#[tokio::test]
async fn a_message_is_seen_below_the_address_of_its_workspace() {
    let (harness, account) = harness().await;
    for channel in [CHANNEL, PRIVATE] {
        let mut post = harness.post(&account, "the lamp is lit", Vec::new());
        post.options = to(channel);

        let published = harness.deliver(&mut post).await.unwrap().published;

        let (_, ts) = published.platform_post_id.split_once(':').unwrap();
        let link = format!("https://lighthouse.slack.com/archives/{channel}/p{}", ts.replace('.', ""));
        assert_eq!(published.url, Some(link));
    }
}

#[tokio::test]
async fn mentions_and_link_labels_are_escaped() {
    let (harness, account) = harness().await;
    let text = "<!channel> @here <@U0KEEPER> & <https://evil.invalid|https://good.invalid>";
    let mut post = harness.post(&account, text, Vec::new());

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.calls_people(), 0);
    assert_eq!(harness.fake.public_posts()[0].text, text);
}

#[tokio::test]
async fn previews_of_links_are_as_the_post_says() {
    let (harness, account) = harness().await;
    for said in [None, Some(true), Some(false)] {
        let mut post = harness.post(&account, "https://example.invalid/", Vec::new());
        let said_option = said.map(|it| ("unfurl_links", OptionValue::Flag(it)));
        post.options = options(&[("channel", text(CHANNEL))].into_iter().chain(said_option).collect::<Vec<_>>());

        harness.deliver(&mut post).await.unwrap();

        assert_eq!(harness.fake.latest_unfurls(), (said, said));
    }
}

#[tokio::test]
async fn closed_channel_error_says_what_to_do() {
    let (harness, account) = harness().await;
    for (channel, advice) in [
        (ELSEWHERE, "invite it with /invite"),
        (ARCHIVED, "choose another channel"),
        ("C0NOTHERE00", "the channel does not exist"),
        ("#general", "choose one of the listed channels"),
        ("", "choose one of the listed channels"),
    ] {
        let mut post = harness.post(&account, "hello", Vec::new());
        post.options = to(channel);

        let refused = harness.deliver(&mut post).await.unwrap_err();

        let AttemptError::Refused { reason } = &refused else { panic!("{channel}: {refused:?}") };
        assert!(reason.contains(advice), "{channel}: {reason}");
    }
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn a_channel_that_cannot_be_read_to_its_end_proves_nothing() {
    let (harness, account) = harness().await;
    let post = harness.post(&account, "is it there?", Vec::new());
    let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
    harness.fake.has_pages_of(2);
    harness.fake.chats(40);
    let busy = harness.resolve(&post, since).await;
    assert!(matches!(busy, Resolution::Pending { .. }), "{busy:?}");

    harness.fake.has_pages_of(999);
    harness.fake.remove_from_channels();
    let outside = harness.resolve(&post, since).await;
    assert!(matches!(&outside, Resolution::Pending { reason } if reason.contains("/invite")), "{outside:?}");

    harness.fake.refuses("conversations.history", "missing_scope");
    let ended = harness.resolve(&post, since).await;
    assert!(matches!(ended, Resolution::Unauthorized { .. }), "{ended:?}");
}
