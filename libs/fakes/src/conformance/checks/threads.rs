//! Replies that continue a post as a thread, and the first comment.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Published};
use domain::media::MimeType;
use domain::options::Options;
use platforms::{Account, RefreshPolicy, Step};

use crate::conformance::adapter_harness::{AdapterHarness, Post};
use crate::conformance::fake_platform::{Call, InjectedFault, PublicPost, StartFake};
use crate::conformance::samples::{Sample, sample};

const FAULTS: [InjectedFault; 4] =
    [InjectedFault::LoseResponse, InjectedFault::CutBefore, InjectedFault::ServerErrorAfter, InjectedFault::EmptyBody];

const REPLIES: usize = 3;

/// Each reply follows the one before it, or the first post, and has its own files.
pub async fn thread_is_published_in_order_with_its_files(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if !has_threads(&account) {
        return;
    }
    let root = root(&harness, &account, "one").await;
    let mut published = vec![root.clone()];
    for (number, text) in (1..).zip(["two", "three", "four"]) {
        let parent = published.last().unwrap().clone();
        let mut reply = harness.reply(&account, (&root, &parent), text, picture(&account, number));
        published.push(harness.deliver(&mut reply).await.unwrap().published);
        harness.clock.advance(TimeDelta::seconds(1));
    }

    let public = harness.fake.public_posts();
    let ids = |posts: &[PublicPost]| posts.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    let published_ids: Vec<_> = published.iter().map(|it| it.platform_post_id.clone()).collect();
    assert_eq!(ids(&public), published_ids);
    for (index, post) in public.iter().enumerate().skip(1) {
        let parent = if harness.fake.replies_to_root() { 0 } else { index - 1 };
        assert_eq!(post.reply_to.as_ref(), Some(&published_ids[parent]), "reply {index}");
        assert_eq!(post.media.len(), picture(&account, 1).len(), "reply {index}");
    }
}

/// At each position of the thread, whatever is lost: the reply is public once, and the next one
/// follows it.
pub async fn lost_reply_is_found_and_sent_once(start: StartFake) {
    for fault in FAULTS {
        for position in 0..REPLIES {
            let harness = AdapterHarness::start(start).await;
            let account = harness.connect().await;
            let is_played = harness.fake.can_fail(Call::Publish, fault) && harness.fake.can_look_up();
            if !has_threads(&account) || !is_played {
                return;
            }
            let root = root(&harness, &account, "one").await;
            let mut parent = root.clone();
            for (index, text) in ["two", "three", "four"].into_iter().enumerate() {
                if index == position {
                    harness.fake.inject_fault(Call::Publish, fault, 1);
                }
                let mut reply = harness.reply(&account, (&root, &parent), text, Vec::new());
                parent = harness.deliver(&mut reply).await.unwrap().published;
                harness.clock.advance(TimeDelta::seconds(90));
            }

            let texts: Vec<_> = harness.fake.public_posts().into_iter().map(|it| it.text).collect();
            let expected: Vec<_> =
                ["one", "two", "three", "four"].iter().map(|it| harness.fake.displayed_text(it)).collect();
            assert_eq!(texts, expected, "{fault:?} at reply {}", position + 1);
        }
    }
}

pub async fn equal_threads_are_not_mixed_up(start: StartFake) {
    for fault in [InjectedFault::LoseResponse, InjectedFault::CutBefore] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        let is_played = harness.fake.can_fail(Call::Publish, fault)
            && harness.fake.can_look_up()
            && harness.fake.accepts_repeated_texts();
        if !has_threads(&account) || !is_played {
            return;
        }
        let first = root(&harness, &account, "the same").await;
        let mut reply = harness.reply(&account, (&first, &first), "and more", Vec::new());
        harness.deliver(&mut reply).await.unwrap();
        let second = root(&harness, &account, "the same").await;
        harness.fake.inject_fault(Call::Publish, fault, 1);
        let mut reply = harness.reply(&account, (&second, &second), "and more", Vec::new());

        let published = harness.deliver(&mut reply).await.unwrap().published;

        let public = harness.fake.public_posts();
        assert_eq!(public.len(), 4, "{fault:?}: {public:?}");
        let found = public.iter().find(|it| it.id == published.platform_post_id).expect("it is public");
        assert_eq!(found.reply_to.as_ref(), Some(&second.platform_post_id), "{fault:?}");
    }
}

pub async fn refused_reply_leaves_the_thread_as_it_is(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if !has_threads(&account) || !harness.fake.can_fail(Call::Publish, InjectedFault::Refused) {
        return;
    }
    let root = root(&harness, &account, "one").await;
    harness.fake.inject_fault(Call::Publish, InjectedFault::Refused, 1);
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());

    let refused = harness.deliver(&mut reply).await;

    assert!(matches!(refused, Err(AttemptError::Refused { .. })), "{refused:?}");
    assert_eq!(harness.fake.public_posts().len(), 1);
    let mut again = harness.reply(&account, (&root, &root), "two, corrected", Vec::new());
    harness.deliver(&mut again).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 2);
}

/// Before the due time nothing of the thread is public, so a reply is prepared without a parent.
pub async fn reply_is_prepared_before_its_parent_is_public(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let file = picture(&account, 1);
    let Some(lead) = file.first().and_then(|it| harness.lead(std::slice::from_ref(&it.attachment))) else { return };
    if !has_threads(&account) {
        return;
    }
    let anyone = Published::new("not public yet", harness.clock.now());
    let mut reply = harness.reply(&account, (&anyone, &anyone), "two", file);
    reply.reply_to = None;
    reply.publish_at = harness.clock.now() + lead;
    for _ in 0..30 {
        match harness.prepare(&reply).await.unwrap() {
            Step::Again { progress, at } => {
                reply.progress = Some(progress);
                harness.clock.skip_to(at);
            }
            Step::Ready { progress } | Step::NeedsParent { progress } => {
                reply.progress = progress;
                break;
            }
        }
    }
    assert_eq!(harness.fake.public_posts(), [], "preparation makes nothing public");

    let root = root(&harness, &account, "one").await;
    reply.reply_to = Some((root.clone(), root.clone()));
    reply.publish_at = harness.clock.now();
    harness.deliver(&mut reply).await.unwrap();

    let public = harness.fake.public_posts();
    assert_eq!(public.len(), 2);
    assert_eq!((public[1].media.len(), public[1].reply_to.as_ref()), (1, Some(&root.platform_post_id)));
}

/// The access token, or the whole grant, ends between two segments. What is public stays, and the
/// next segment is refused as unauthorized. It is published once after a refresh, or after the user
/// has connected the account again, and the thread continues.
pub async fn thread_continues_after_its_grant_ended(start: StartFake) {
    for is_revoked in [false, true] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        if !has_threads(&account) {
            return;
        }
        // Other platforms refresh nothing that has expired.
        let is_refreshed = harness.can_refresh() && harness.publisher().refresh_policy() == RefreshPolicy::Rotating;
        if !is_revoked && !is_refreshed {
            continue;
        }
        let root = root(&harness, &account, "one").await;
        let mut second = harness.reply(&account, (&root, &root), "two", picture(&account, 1));
        harness.prepare_all(&mut second, &mut Vec::new()).await.unwrap();
        if is_revoked {
            harness.fake.revoke();
        }
        harness.fake.end_access_tokens();

        let ended = harness.publish(&second).await;

        let has_reason = |it: &AttemptError| matches!(it, AttemptError::Unauthorized { reason } if !reason.is_empty());
        assert!(ended.as_ref().is_err_and(has_reason), "revoked {is_revoked}: {ended:?}");
        assert_eq!(harness.fake.public_posts().len(), 1, "revoked {is_revoked}");
        if is_revoked {
            harness.fake.readmit();
            harness.connect().await;
        } else {
            harness.refresh().await.unwrap();
        }
        let second = harness.deliver(&mut second).await.unwrap().published;
        let mut third = harness.reply(&account, (&root, &second), "three", Vec::new());
        let third = harness.deliver(&mut third).await.unwrap().published;

        let public: Vec<_> = harness.fake.public_posts().into_iter().map(|it| (it.id, it.reply_to)).collect();
        let [root, second, third] = [root, second, third].map(|it| it.platform_post_id);
        let parent = if harness.fake.replies_to_root() { &root } else { &second }.clone();
        let expected = [(root.clone(), None), (second, Some(root)), (third, Some(parent))];
        assert_eq!(public, expected, "revoked {is_revoked}");
    }
}

/// Whatever is lost, there is one comment at most, and if its outcome can be looked up, exactly one.
pub async fn comment_is_published_once(start: StartFake) {
    let faults = FAULTS.map(Some).into_iter().chain([None]);
    for fault in faults {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        if harness.fake.comments().is_none() {
            return;
        }
        let root = root(&harness, &account, "Look").await;
        match fault {
            Some(fault) if !harness.fake.can_fail(Call::Publish, fault) => continue,
            Some(fault) => harness.fake.inject_fault(Call::Publish, fault, 1),
            None => {}
        }
        let mut comment = harness.comment(&account, &root, "The link is below");

        let result = harness.deliver_comment(&mut comment).await;

        let comments = harness.fake.comments().unwrap();
        match result {
            Ok(published) => {
                let [shown] = comments.as_slice() else { panic!("{fault:?}: {comments:?}") };
                assert_eq!((&shown.id, shown.text.as_str()), (&published.platform_post_id, "The link is below"));
                assert_eq!(shown.reply_to.as_ref(), Some(&root.platform_post_id));
            }
            Err(AttemptError::Unknown { .. }) if !harness.fake.can_look_up_comments() => {
                assert!(comments.len() <= 1, "{fault:?}: {comments:?}");
            }
            Err(error) => panic!("{fault:?}: {error:?}"),
        }
    }
}

fn has_threads(account: &Account) -> bool {
    0 < account.rules.max_thread
}

/// A picture, if the account's posts may have one.
fn picture(account: &Account, number: u8) -> Vec<Sample> {
    let file = sample(MimeType::Png, number);
    let is_accepted =
        account.rules.reply_breaches("x", std::slice::from_ref(&file.attachment), Options::NONE).is_empty();
    is_accepted.then_some(file).into_iter().collect()
}

async fn root(harness: &AdapterHarness, account: &Account, text: &str) -> Published {
    let mut post: Post<'_> = harness.post(account, text, harness.required_files(account, 9));
    harness.deliver(&mut post).await.unwrap().published
}
