use super::*;
use crate::connection::Connection;
use crate::delivery::{AttemptError, Delivery, FailureClass};
use crate::post::{Changes, NewPost, NewSegment, NewTarget, PostStatus};
use crate::testing::{a_connection, a_new_post, a_user, accounts, ids, noon, text};
use crate::validation_errors::ValidationErrors;

fn an_account() -> Connection {
    let mut account = a_connection(&a_user());
    account.rules = account.rules.with_threads();
    account
}

fn entries(texts: &[&str]) -> Vec<NewSegment> {
    let entry = |(index, it): (usize, &&str)| NewSegment {
        field: format!("thread.{index}"),
        text: text(it),
        media: Vec::new(),
    };
    texts.iter().enumerate().map(entry).collect()
}

fn create(account: &Connection, replies: &[&str]) -> Result<Post, ValidationErrors> {
    let accounts = accounts(std::slice::from_ref(account));
    let new = NewPost { thread: entries(replies), ..a_new_post(Some(noon()), std::slice::from_ref(account)) };
    Post::create(new, &[], &a_user(), &accounts, &ids(), noon())
}

fn change(post: &Post, account: &Connection, changes: Changes) -> Result<Post, ValidationErrors> {
    post.change(changes, Vec::new(), &accounts(std::slice::from_ref(account)), &ids(), noon())
}

fn texts(post: &Post) -> Vec<&str> {
    post.segments(&post.targets[0]).into_iter().map(|it| it.text).collect()
}

fn partly_published(post: &Post, public: usize) -> Delivery {
    let mut delivery = Delivery::new(post, &post.targets[0], None, 1, noon());
    for number in 0..public {
        let published = Published::new(format!("p{number}"), noon());
        delivery = delivery.open_intent(noon()).record_publish(Ok(published), noon(), 0);
    }
    let refused = AttemptError::Refused { reason: "too rude".to_owned() };
    delivery.open_intent(noon()).record_publish(Err(refused), noon(), 0)
}

fn failed_after(post: &Post, public: usize) -> Post {
    post.rolled_up(&[partly_published(post, public)], noon())
}

#[test]
fn target_may_have_a_thread_of_its_own() {
    let account = an_account();
    let mut post = create(&account, &["two", "three"]).unwrap();
    assert_eq!(texts(&post), ["Hello", "two", "three"]);

    post.targets[0].thread = Some(Vec::new());
    assert_eq!(texts(&post), ["Hello"]);
    post.targets[0].options = [(FIRST_COMMENT.to_owned(), "see also".into())].into_iter().collect();
    assert_eq!(texts(&post), ["Hello", "see also"]);
    assert_eq!(post.segments(&post.targets[0])[1].kind, SegmentKind::Comment);
}

#[test]
fn each_reply_is_checked_like_a_post() {
    let account = an_account();
    let long = "x".repeat(10_000);

    let errors = create(&account, &["two", &long, &long]).unwrap_err();

    let fields: Vec<_> = errors.iter().map(|it| it.0).collect();
    assert_eq!(fields, ["platforms.0.thread.1.content", "platforms.0.thread.2.content"]);
    let errors = create(&a_connection(&a_user()), &["two", &long]).unwrap_err();
    let errors: Vec<_> = errors.iter().collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].0, "platforms.0.thread");
    assert!(errors[0].1.contains("has no threads; give this account \"thread\": []"), "{}", errors[0].1);
}

#[test]
fn failed_thread_shows_what_is_public() {
    let post = failed_after(&create(&an_account(), &["two", "three"]).unwrap(), 2);

    let target = &post.targets[0];
    assert_eq!((post.status, target.failure), (PostStatus::Failed, Some(FailureClass::PartlyPublic)));
    let views = post.segment_views(target);
    let statuses: Vec<_> = views.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [TargetStatus::Published, TargetStatus::Published, TargetStatus::Failed]);
    assert_eq!(views[2].error_message, target.error_message.as_deref());
    assert_eq!(target.published().unwrap().platform_post_id, "p0");
    post.check_deletable().unwrap_err();
    change(&post, &an_account(), Changes { scheduled_at: Some(None), ..Changes::default() }).unwrap_err();
}

#[test]
fn new_time_resumes_at_the_first_segment_that_is_not_public() {
    let account = an_account();
    let created = create(&account, &["two", "three"]).unwrap();
    let post = failed_after(&created, 2);
    let changes = Changes {
        scheduled_at: Some(Some(noon())),
        text: Some(text("Other")),
        thread: Some(entries(&["other", "polite", "four"])),
        ..Changes::default()
    };

    let resumed = change(&post, &account, changes).unwrap();

    assert_eq!(texts(&resumed), ["Hello", "two", "polite", "four"], "what is public stays as it is");
    assert_eq!((resumed.status, resumed.targets[0].status), (PostStatus::Scheduled, TargetStatus::Publishing));
    let delivery = Delivery::new(&resumed, &resumed.targets[0], None, 1, noon());
    assert_eq!((delivery.current_segment(), delivery.segments.len()), (2, 4));
    assert!(!delivery.is_between_segments(), "nothing of this revision is public yet");
    let shorter = Changes { thread: Some(Vec::new()), ..Changes::default() };
    let shorter = change(&post, &account, shorter).unwrap();
    assert_eq!((texts(&shorter), shorter.status), (vec!["Hello", "two"], PostStatus::Published));
    let rolled_up = shorter.rolled_up(&[partly_published(&created, 2)], noon());
    assert_eq!(rolled_up.targets, shorter.targets, "the rest that failed is no part of it");
}

#[test]
fn public_segments_of_a_target_cannot_be_changed() {
    let account = an_account();
    let post = failed_after(&create(&account, &["two", "three"]).unwrap(), 2);
    let with_entry = |content: &str, thread: &[&str]| {
        let entry = NewTarget {
            text: Some(text(content)),
            thread: Some(entries(thread)),
            ..NewTarget::new(0, account.connection_id)
        };
        change(&post, &account, Changes { targets: Some(vec![entry]), ..Changes::default() })
    };

    let fields = |errors: ValidationErrors| errors.iter().map(|it| it.0.to_owned()).collect::<Vec<_>>();
    assert_eq!(fields(with_entry("Other", &["two"]).unwrap_err()), ["platforms.0.content"]);
    assert_eq!(fields(with_entry("Hello", &["other", "three"]).unwrap_err()), ["platforms.0.thread"]);
    assert_eq!(fields(with_entry("Hello", &[]).unwrap_err()), ["platforms.0.thread"]);
    let changed = with_entry("Hello", &["two", "polite"]).unwrap();
    assert_eq!(texts(&changed), ["Hello", "two", "polite"]);
}

#[test]
fn waiting_thread_is_publishing_and_cannot_be_changed() {
    let account = an_account();
    let post = create(&account, &["two"]).unwrap();
    let published = Published::new("p0", noon());
    let delivery = Delivery::new(&post, &post.targets[0], None, 1, noon());
    let delivery = delivery.open_intent(noon()).record_publish(Ok(published), noon(), 0);
    let busy = AttemptError::RetryLater { retry_at: None, reason: "busy".to_owned() };
    let waiting = delivery.open_intent(noon()).record_publish(Err(busy), noon(), 0);

    let post = post.rolled_up(&[waiting], noon());

    assert_eq!((post.status, post.targets[0].status), (PostStatus::Publishing, TargetStatus::Publishing));
    let message = post.targets[0].error_message.as_deref().unwrap();
    assert!(message.starts_with("1 of the 2 posts of this thread are public. busy"), "{message}");
    change(&post, &account, Changes::default()).unwrap_err();
}

#[test]
fn failed_comment_leaves_its_target_published() {
    let mut post = create(&an_account(), &[]).unwrap();
    post.targets[0].options = [(FIRST_COMMENT.to_owned(), "see also".into())].into_iter().collect();

    let post = failed_after(&post, 1);

    let target = &post.targets[0];
    assert_eq!((post.status, target.error_message.as_deref()), (PostStatus::Published, None));
    let comment = post.segment_views(target)[1];
    assert_eq!((comment.status, comment.error_message), (TargetStatus::Failed, Some("too rude")));
}

/// Another target failed, so the post can be changed.
#[test]
fn published_target_gets_no_further_replies() {
    let accounts = [an_account(), Connection { connection_id: ids().fresh(), ..an_account() }];
    let mut post = create(&accounts[0], &["two"]).unwrap();
    let mut published = post.targets[0].clone();
    published.target_id = ids().fresh();
    published.connection_id = accounts[1].connection_id;
    published.status = TargetStatus::Published;
    published.add_public(&[Published::new("p0", noon()), Published::new("p1", noon())]);
    post.targets.push(published);
    post.status = PostStatus::Failed;

    let replies = Changes { thread: Some(entries(&["two", "three", "four"])), ..Changes::default() };
    let accounts = crate::testing::accounts(&accounts);
    let changed = post.change(replies, Vec::new(), &accounts, &ids(), noon()).unwrap();

    let lengths: Vec<_> = changed.targets.iter().map(|it| changed.segments(it).len()).collect();
    assert_eq!(lengths, [4, 2]);
}
