//! Messages without files, and replies.

use fakes::slack::{ARCHIVED, CHANNEL, ELSEWHERE, PRIVATE, Slack};

use super::to;
use crate::prelude::*;

#[tokio::test]
async fn message_has_a_url_of_its_workspace() {
    let (harness, account) = connected::<Slack>().await;
    for channel in [CHANNEL, PRIVATE] {
        let mut post = harness.post(&account, "the lamp is lit", Vec::new()).with(to(channel));

        let published = harness.deliver(&mut post).await.unwrap().published;

        let (_, ts) = published.platform_post_id.split_once(':').unwrap();
        let link = format!("https://lighthouse.slack.com/archives/{channel}/p{}", ts.replace('.', ""));
        assert_eq!(published.url, Some(link));
    }
}

#[tokio::test]
async fn mentions_and_link_labels_are_escaped() {
    let (harness, account) = connected::<Slack>().await;
    let text = "<!channel> @here <@U0KEEPER> & <https://evil.invalid|https://good.invalid>";
    harness.deliver(&mut harness.post(&account, text, Vec::new())).await.unwrap();

    assert_eq!(harness.fake.calls_people(), 0);
    assert_eq!(harness.fake.public_posts()[0].text, text);
}

#[tokio::test]
async fn link_previews_follow_the_option() {
    let (harness, account) = connected::<Slack>().await;
    for said in [None, Some(true), Some(false)] {
        let mut options = to(CHANNEL);
        if let Some(said) = said {
            options["unfurl_links"] = said.into();
        }
        harness
            .deliver(&mut harness.post(&account, "https://example.invalid/", Vec::new()).with(options))
            .await
            .unwrap();

        assert_eq!(harness.fake.latest_unfurls(), (said, said));
    }
}

#[tokio::test]
async fn closed_channel_error_says_what_to_do() {
    let (harness, account) = connected::<Slack>().await;
    for (channel, advice) in [
        (ELSEWHERE, "invite it with /invite"),
        (ARCHIVED, "choose another channel"),
        ("C0NOTHERE00", "the channel does not exist"),
        ("#general", "choose one of the listed channels"),
        ("", "choose one of the listed channels"),
    ] {
        let mut post = harness.post(&account, "hello", Vec::new()).with(to(channel));

        assert_refused(harness.deliver(&mut post).await, advice);
    }
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn partly_readable_channel_proves_nothing() {
    let (harness, account) = connected::<Slack>().await;
    let post = harness.post(&account, "is it there?", Vec::new());
    let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
    harness.fake.has_pages_of(2);
    harness.fake.chats(40);
    assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. });

    harness.fake.has_pages_of(999);
    harness.fake.remove_from_channels();
    assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { reason } if reason.contains("/invite"));

    harness.fake.refuses("conversations.history", "missing_scope");
    assert_matches!(harness.resolve(&post, since).await, Resolution::Unauthorized { .. });
}

async fn root(harness: &AdapterHarness<Slack>, account: &Account, media: Vec<Sample>) -> Published {
    let root = harness.deliver(&mut harness.post(account, "one", media)).await.unwrap().published;
    harness.clock.advance(TimeDelta::seconds(2));
    root
}

fn picture() -> Vec<Sample> {
    vec![sample(MimeType::Png, 1)]
}

#[tokio::test]
async fn reply_with_files_alone_has_a_link_to_its_thread() {
    let (harness, account) = connected::<Slack>().await;
    let root = root(&harness, &account, picture()).await;

    let mut reply = harness.reply(&account, (&root, &root), "", picture());
    let link = harness.deliver(&mut reply).await.unwrap().published.url.unwrap();

    let ts = root.handle.unwrap();
    assert!(link.ends_with(&format!("?thread_ts={ts}&cid={CHANNEL}")), "{link}");
    let reply = harness.fake.public_posts().pop().unwrap();
    assert_eq!((reply.text.as_str(), reply.media.len(), reply.reply_to), ("", 1, Some(root.platform_post_id)));
}

/// One reading of the documentation: a bot may read channels, but not their threads.
#[tokio::test]
async fn unreadable_thread_ends_neither_post_nor_connection() {
    for code in ["not_allowed_token_type", "thread_not_found"] {
        let (harness, account) = connected::<Slack>().await;
        let root = root(&harness, &account, Vec::new()).await;
        let reply = harness.reply(&account, (&root, &root), "two", Vec::new());
        let since = harness.lose_outcome(&reply, InjectedFault::LoseResponse).await;
        harness.fake.refuses("conversations.replies", code);

        assert_matches!(harness.resolve(&reply, since).await, Resolution::Undeterminable { .. }, "{code}");
    }
}

#[tokio::test]
async fn reply_to_a_message_without_thread_is_refused() {
    let (harness, account) = connected::<Slack>().await;
    let root = root(&harness, &account, Vec::new()).await;
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    let reply = harness.deliver(&mut reply).await.unwrap().published;
    harness.clock.advance(TimeDelta::seconds(2));
    let unknown = Published::new("gone", harness.clock.now()).with_handle("1503435956.000247");
    for (root, reason) in [(&reply, "accepts no replies"), (&unknown, "not in the channel any more")] {
        let refused = harness.publish(&harness.reply(&account, (root, root), "three", Vec::new())).await.unwrap_err();

        assert_matches!(&refused, AttemptError::Refused { reason: it } if it.contains(reason));
    }
}
