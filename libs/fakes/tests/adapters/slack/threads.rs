//! Replies below a message.

use fakes::slack::{CHANNEL, Slack};

use super::harness;
use crate::prelude::*;

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
    let (harness, account) = harness().await;
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
        let (harness, account) = harness().await;
        let root = root(&harness, &account, Vec::new()).await;
        let reply = harness.reply(&account, (&root, &root), "two", Vec::new());
        let since = harness.lose_outcome(&reply, InjectedFault::LoseResponse).await;
        harness.fake.refuses("conversations.replies", code);

        let resolution = harness.resolve(&reply, since).await;

        assert!(matches!(resolution, Resolution::Undeterminable { .. }), "{code}: {resolution:?}");
    }
}

#[tokio::test]
async fn reply_to_a_message_without_thread_is_refused() {
    let (harness, account) = harness().await;
    let root = root(&harness, &account, Vec::new()).await;
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    let reply = harness.deliver(&mut reply).await.unwrap().published;
    harness.clock.advance(TimeDelta::seconds(2));
    let unknown = Published::new("gone", harness.clock.now()).with_handle("1503435956.000247");
    for (root, reason) in [(&reply, "accepts no replies"), (&unknown, "not in the channel any more")] {
        let refused = harness.publish(&harness.reply(&account, (root, root), "three", Vec::new())).await.unwrap_err();

        assert!(matches!(&refused, AttemptError::Refused { reason: it } if it.contains(reason)), "{refused:?}");
    }
}
