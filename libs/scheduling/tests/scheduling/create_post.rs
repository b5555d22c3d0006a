use chrono::TimeDelta;
use domain::connection::Connection;
use domain::idempotency::IdempotencyKey;
use domain::plan::Plans;
use domain::post::{Changes, NewPost, Post};
use domain::testing::{a_new_post, a_profile, limited_to, noon, text};
use publishing::testing::PublishingHarness;
use scheduling::{Changed, Created, NotCreated, PostValidated, SchedulingError};
use storage::{IdempotentRequest, PostWrite, PostWritten, StorageError};

fn request(harness: &PublishingHarness) -> (IdempotentRequest, NewPost) {
    let key = IdempotentRequest {
        owner: harness.user.user_id.into(),
        route: "POST /posts",
        key: IdempotencyKey::parse(b"one").unwrap(),
        body_hash: "hash".to_owned(),
    };
    (key, NewPost::new(text("Hello")))
}

#[tokio::test]
async fn unreadable_stored_response_is_an_internal_error() {
    let harness = PublishingHarness::new().await;
    let (key, request) = request(&harness);
    let post = harness.schedule("Another", noon()).await;
    let post = harness.post(&post).await;
    let stored_response = Some((&key, "{".to_owned()));
    let write = PostWrite { before: Some(&post), after: Some(&post), kept: stored_response, ..PostWrite::default() };
    assert_eq!(harness.store.write_post(&write, noon()).await.unwrap(), PostWritten::Done);

    let created = harness.scheduling.create_post(harness.user.user_id, request, Some(&key)).await;

    assert!(matches!(created, Err(SchedulingError::Storage(StorageError::Answer(_)))), "{created:?}");
}

#[tokio::test]
async fn limited_owner_does_not_change_a_post_that_left_its_profile() {
    let harness = PublishingHarness::new().await;
    let profile = a_profile(&harness.user);
    let request = NewPost { of_profile: Some(profile.reference()), ..NewPost::new(text("Hello")) };
    let created = harness.scheduling.create_post(limited_to(&profile), request, None).await.unwrap();
    let Created::New(read) = created else { panic!("{created:?}") };
    let moved = Post { of_profile: None, ..(*read).clone() };
    let write = PostWrite { before: Some(&read), after: Some(&moved), ..PostWrite::default() };
    assert_eq!(harness.store.write_post(&write, noon()).await.unwrap(), PostWritten::Done);

    let change = Changes { text: Some(text("Changed")), ..Changes::default() };
    let changed = harness.scheduling.change_post(limited_to(&profile), *read, change).await.unwrap();

    assert!(matches!(changed, Changed::NotThere), "{changed:?}");
    assert_eq!(harness.post(&moved).await.text, moved.text);
}

#[tokio::test]
async fn plan_limits_the_scheduled_posts_of_a_profile() {
    let mut harness = PublishingHarness::new().await;
    let profile = a_profile(&harness.user);
    harness.store.create_profile(&profile, None).await.unwrap();
    let (id, of_profile) = (harness.scheduling.ids.fresh(), Some(profile.reference()));
    let of_customer = Connection { connection_id: id, of_profile, ..harness.accounts[0].clone() };
    harness.connect(&of_customer, PublishingHarness::credentials(None), None).await;
    harness.scheduling.rules.plans =
        serde_json::from_str::<Plans>(r#"{"default":{"max_scheduled_posts_per_profile":1}}"#).unwrap();
    let user = harness.user.user_id;
    let at = noon() + TimeDelta::hours(1);
    let request = |at| a_new_post(at, std::slice::from_ref(&of_customer));
    let Created::New(first) = harness.scheduling.create_post(user, request(Some(at)), None).await.unwrap() else {
        panic!("no post")
    };

    let created = harness.scheduling.create_post(user, request(Some(at)), None).await.unwrap();
    let validated = harness.scheduling.validate_post(user, request(Some(at))).await.unwrap();
    let draft = harness.scheduling.create_post(user, request(None), None).await.unwrap();
    let Created::New(draft) = draft else { panic!("{draft:?}") };
    let schedule = || Changes { scheduled_at: Some(Some(at)), ..Changes::default() };
    let changed = harness.scheduling.change_post(user, (*draft).clone(), schedule()).await.unwrap();

    assert!(matches!(created, Created::Refused(NotCreated::NotInPlan(_))), "{created:?}");
    assert!(matches!(validated, PostValidated::Refused(NotCreated::NotInPlan(_))), "{validated:?}");
    assert!(
        matches!(&changed, Changed::NotInPlan(why) if why.contains("scheduled posts of each profile to 1")),
        "{changed:?}"
    );
    let other = harness.scheduling.create_post(user, a_new_post(Some(at), &harness.accounts), None).await.unwrap();
    assert!(matches!(other, Created::New(_)), "accounts without a profile: {other:?}");
    let later = Changes { scheduled_at: Some(Some(at + TimeDelta::hours(1))), ..Changes::default() };
    let Changed::Done(first) = harness.scheduling.change_post(user, *first, later).await.unwrap() else { panic!() };
    let unschedule = Changes { scheduled_at: Some(None), ..Changes::default() };
    harness.scheduling.change_post(user, *first, unschedule).await.unwrap();
    let changed = harness.scheduling.change_post(user, *draft, schedule()).await.unwrap();
    assert!(matches!(changed, Changed::Done(_)), "{changed:?}");
}
