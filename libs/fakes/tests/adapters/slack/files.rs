//! Files: uploaded first, and shared with one call.

use fakes::slack::{PRIVATE, Slack};

use super::to;
use crate::prelude::*;

fn two() -> Vec<Sample> {
    vec![sample(MimeType::Png, 1), sample(MimeType::Jpeg, 2)]
}

#[tokio::test]
async fn shared_file_is_public_once_the_channel_shows_it() {
    let (harness, account) = connected::<Slack>().await;
    for channel in [fakes::slack::CHANNEL, PRIVATE] {
        let post = harness.due(&account, "look", two()).await.with(to(channel));
        let since = harness.clock.now();

        let shared = harness.publish(&post).await.unwrap_err();
        let early = harness.resolve(&post, since).await;
        harness.clock.advance(TimeDelta::seconds(10));
        let later = harness.resolve(&post, since).await;

        assert_matches!(&shared, AttemptError::Accepted { .. });
        assert_matches!(&early, Resolution::Pending { .. });
        let Resolution::Found(found) = later else { panic!("{later:?}") };
        let begins = format!("https://lighthouse.slack.com/archives/{channel}/p");
        assert!(found.url.as_ref().unwrap().starts_with(&begins), "{:?}", found.url);
    }
}

/// Two pictures, one of them with alternative text, in a share that Slack accepts and never shows,
/// six minutes after the publish call.
async fn unshown<'a>(harness: &AdapterHarness<Slack>, account: &'a Account) -> (Post<'a>, DateTime<Utc>) {
    let files = vec![described(MimeType::Png, 1, "waves"), sample(MimeType::Jpeg, 2)];
    let post = harness.due(account, "look", files).await;
    harness.fake.drop_shares(1);
    let since = harness.clock.now();
    assert_matches!(harness.publish(&post).await, Err(AttemptError::Accepted { .. }));
    harness.clock.advance(TimeDelta::minutes(4));
    assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. });
    harness.clock.advance(TimeDelta::minutes(2));
    (post, since)
}

#[tokio::test]
async fn deleted_file_is_not_sent_again() {
    let (harness, account) = connected::<Slack>().await;
    let post = harness.due(&account, "look", two()).await;
    let since = harness.clock.now();
    harness.publish(&post).await.unwrap_err();
    harness.clock.advance(TimeDelta::seconds(10));
    harness.fake.delete_files();

    assert_matches!(harness.resolve(&post, since).await, Resolution::Refused { reason } if reason.contains("deleted"));
}

#[tokio::test]
async fn missing_share_is_repeated_without_alt_texts() {
    let (harness, account) = connected::<Slack>().await;
    let (mut post, since) = unshown(&harness, &account).await;

    assert_eq!(harness.resolve(&post, since).await, Resolution::NotFound);
    assert_eq!(harness.fake.files(), 0, "the first share can no longer appear");
    let delivered = harness.deliver(&mut post).await.unwrap();

    let [AttemptError::PreparationExpired { reason }] = &delivered.errors[..] else { panic!("{:?}", delivered.errors) };
    assert!(reason.contains("uploaded again without alt texts"), "{reason}");
    let public = harness.fake.public_posts();
    assert_eq!((public.len(), &public[0].id), (1, &delivered.published.platform_post_id));
    assert!(public[0].media.iter().all(|it| it.alt_text.is_none()));
}

#[tokio::test]
async fn second_missing_share_fails_the_post() {
    let (harness, account) = connected::<Slack>().await;
    let (mut post, since) = unshown(&harness, &account).await;
    assert_eq!(harness.resolve(&post, since).await, Resolution::NotFound);
    assert_matches!(harness.publish(&post).await, Err(AttemptError::PreparationExpired { .. }));
    post.progress = None;
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.fake.drop_shares(1);
    let since = harness.clock.now();
    harness.publish(&post).await.unwrap_err();
    harness.clock.advance(TimeDelta::minutes(6));

    assert_matches!(harness.resolve(&post, since).await, Resolution::Refused { reason }
        if reason.contains("never showed them in the channel"));
    assert!(harness.fake.public_posts().is_empty() && harness.fake.files() == 0);
}

/// Otherwise the first share could still appear in addition to the second.
#[tokio::test]
async fn files_that_cannot_be_deleted_are_not_shared_again() {
    let (harness, account) = connected::<Slack>().await;
    let (post, since) = unshown(&harness, &account).await;
    harness.fake.refuses("files.delete", "cant_delete_file");
    assert_matches!(harness.resolve(&post, since).await, Resolution::Pending { .. });

    let since = harness.clock.now() - TimeDelta::minutes(6);
    assert_eq!(harness.resolve(&post, since).await, Resolution::NotFound);
}

/// There is no evidence that the first share failed because of its alternative texts: Slack never
/// received it.
#[tokio::test]
async fn forgotten_uploads_after_a_lost_call_keep_their_alt_texts() {
    let (harness, account) = connected::<Slack>().await;
    let files = vec![described(MimeType::Png, 1, "waves"), sample(MimeType::Jpeg, 2)];
    let mut post = harness.due(&account, "again", files).await;
    let since = harness.lose_outcome(&post, InjectedFault::CutBefore).await;
    harness.fake.forgets_uploads();
    assert_eq!(harness.settle(&post, since, true).await, None);

    let delivered = harness.deliver(&mut post).await.unwrap();

    assert!(
        matches!(delivered.errors.first(), Some(AttemptError::PreparationExpired { .. })),
        "{:?}",
        delivered.errors
    );
    let public = harness.fake.public_posts();
    assert_eq!((public.len(), public[0].media[0].alt_text.as_deref()), (1, Some("waves")));
}

#[tokio::test]
async fn refused_file_is_named() {
    let (harness, account) = connected::<Slack>().await;
    let post = harness.post(&account, "look", two());
    harness.fake.refuses("files.getUploadURLExternal", "storage_limit_reached");

    let refused = harness.prepare(&post).await.unwrap_err();

    let message = "file 1 of 2: the workspace's storage is full";
    assert_matches!(&refused, AttemptError::Refused { reason } if reason.starts_with(message));
}
