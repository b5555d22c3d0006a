//! Threads where servers differ: what a missing parent means.

use fakes::mastodon::{FlavorType, GoToSocial, OldMastodon, Pleroma, Server, Snac, Stock};

use super::{SETTLED, picture};
use crate::prelude::*;

/// The files are still on the server, so they are not uploaded again.
#[tokio::test]
async fn reply_to_a_deleted_post_is_refused() {
    async fn is_refused<K: FlavorType>() {
        for files in [Vec::new(), picture()] {
            let (harness, account) = connected::<Server<K>>().await;
            let root = publish_text(&harness, &account, "one").await;
            harness.fake.delete(&root.platform_post_id);
            let refused = harness.deliver(&mut harness.reply(&account, (&root, &root), "two", files.clone())).await;

            assert_matches!(&refused, Err(AttemptError::Refused { .. }));
            assert_eq!(harness.fake.call_count(Call::Upload), files.len());
            assert_eq!(harness.fake.public_posts(), []);
        }
    }

    is_refused::<Stock>().await;
    is_refused::<OldMastodon>().await;
    is_refused::<GoToSocial>().await;
}

/// Such a reply is public without a parent, and is not published twice.
#[tokio::test]
async fn lost_reply_to_a_deleted_post_stays_undecided_where_the_server_accepts_it() {
    async fn is_undecided<K: FlavorType>() {
        let (harness, account) = connected::<Server<K>>().await;
        let root = publish_text(&harness, &account, "one").await;
        let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
        harness.prepare_all(&mut reply, &mut Vec::new()).await.unwrap();
        harness.fake.delete(&root.platform_post_id);
        let since = harness.lose_outcome(&reply, InjectedFault::LoseResponse).await;
        harness.clock.advance(SETTLED);

        assert_matches!(harness.resolve(&reply, since).await, Resolution::Pending { .. });
        assert_eq!(harness.fake.public_posts().len(), 1);
    }

    is_undecided::<Pleroma>().await;
    is_undecided::<Snac>().await;
}

/// Mastodon looks for the parent before it checks the key.
#[tokio::test]
async fn refused_repeat_of_a_reply_to_a_deleted_post_proves_nothing() {
    let (harness, account) = connected::<Server<Stock>>().await;
    let root = publish_text(&harness, &account, "one").await;
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    harness.prepare_all(&mut reply, &mut Vec::new()).await.unwrap();
    let since = harness.lose_outcome(&reply, InjectedFault::LoseResponse).await;
    harness.fake.delete(&root.platform_post_id);
    harness.clock.advance(SETTLED);
    harness.fake.inject_fault(Call::LookUp, InjectedFault::ServerError, 1);

    assert_matches!(harness.resolve(&reply, since).await, Resolution::Pending { .. });
}

/// The key alone finds a reply, like a post.
#[tokio::test]
async fn key_finds_a_reply_when_the_listing_fails() {
    for fault in [InjectedFault::LoseResponse, InjectedFault::CutBefore] {
        let (harness, account) = connected::<Server<Stock>>().await;
        let root = publish_text(&harness, &account, "one").await;
        let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
        harness.prepare_all(&mut reply, &mut Vec::new()).await.unwrap();
        let since = harness.lose_outcome(&reply, fault).await;
        harness.clock.advance(SETTLED);
        harness.fake.inject_fault(Call::LookUp, InjectedFault::ServerError, 1);

        assert_matches!(harness.resolve(&reply, since).await, Resolution::Found(_), "{fault:?}");
        let public = harness.fake.public_posts();
        assert_eq!((public.len(), public[1].reply_to.as_ref()), (2, Some(&root.platform_post_id)), "{fault:?}");
    }
}

/// A snapshot of the account's posts is not needed, because a reply is newer than its parent.
#[tokio::test]
async fn look_up_of_a_reply_reads_until_its_parent() {
    let (harness, account) = connected::<Server<GoToSocial>>().await;
    harness.fake.publish_manual_posts(90);
    let root = publish_text(&harness, &account, "one").await;
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    let before = harness.fake.call_count(Call::LookUp);
    harness.prepare_all(&mut reply, &mut Vec::new()).await.unwrap();
    assert_eq!(harness.fake.call_count(Call::LookUp), before);
    let since = harness.lose_outcome(&reply, InjectedFault::CutBefore).await;
    harness.clock.advance(SETTLED);

    assert_eq!(harness.resolve(&reply, since).await, Resolution::NotFound);

    assert_eq!(harness.fake.call_count(Call::LookUp), before + 1);
}
