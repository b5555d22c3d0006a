//! Lost responses, concurrent changes by other users of the site, and output of PHP and plugins.

use fakes::wordpress::Wordpress;

use crate::prelude::*;

/// Nothing is left behind: neither of the calls that look for a draft, create one, look for a file
/// and change the draft, nor of the upload.
#[tokio::test]
async fn lost_draft_or_file_is_found() {
    let (harness, account) = connected::<Wordpress>().await;
    let mut sent = 0;
    let calls = [(Call::Process, 0), (Call::Process, 1), (Call::Process, 2), (Call::Process, 3), (Call::Upload, 0)];
    for (call, passing) in calls {
        for fault in [
            InjectedFault::LoseResponse,
            InjectedFault::ServerErrorAfter,
            InjectedFault::CutBefore,
            InjectedFault::Intermediary { status: 401 },
            InjectedFault::Intermediary { status: 404 },
        ] {
            harness.fake.faults().order_after(call, passing, fault);
            let text = format!("{call:?} {passing} {fault:?}");

            let delivered = harness.deliver(&mut harness.post(&account, &text, vec![sample(MimeType::Png, 1)])).await;

            assert_eq!(delivered.unwrap().errors.len(), 1, "{text}");
            sent += 1;
            assert_eq!((harness.fake.public_posts().len(), harness.fake.keeps()), (sent, (sent, sent)), "{text}");
        }
    }
}

#[tokio::test]
async fn deleted_draft_is_created_again() {
    let (harness, account) = connected::<Wordpress>().await;
    let mut post = harness.due(&account, "deleted meanwhile", Vec::new()).await;
    harness.fake.delete_drafts();

    let delivered = harness.deliver(&mut post).await;

    // The stored progress names the old draft, which is missing only for the publish call.
    let delivered = delivered.unwrap();
    assert!(matches!(delivered.errors.as_slice(), [AttemptError::PreparationExpired { .. }]), "{:?}", delivered.errors);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn post_deleted_after_a_lost_call_is_not_published_again() {
    let (harness, account) = connected::<Wordpress>().await;
    let post = harness.due(&account, "unknown outcome, and deleted", Vec::new()).await;
    let since = harness.lose_outcome(&post, InjectedFault::CutBefore).await;
    harness.fake.delete_drafts();
    harness.clock.advance(TimeDelta::minutes(2));

    assert_matches!(harness.resolve(&post, since).await, Resolution::Refused { reason } if reason.contains("deleted"));
}

/// Byte-order marks, PHP notices and comments of cache plugins surround every response. The site
/// is found although no page names its API.
#[tokio::test]
async fn output_of_php_and_plugins_around_json_is_ignored() {
    let harness = AdapterHarness::<Wordpress<true>>::new().await;
    harness.fake.make_noisy();

    let account = harness.connect().await;
    let mut post = harness
        .post(&account, "through the noise", vec![sample(MimeType::Png, 1)])
        .with(json!({ "tags": ["boats", "boats"] }));
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);

    harness.fake.revoke();
    let mut post = harness.post(&account, "after the password was deleted", Vec::new());
    assert_matches!(harness.deliver(&mut post).await, Err(AttemptError::Unauthorized { .. }));
}
