use chrono::{DateTime, TimeDelta, Utc};
use domain::budget::{BudgetKey, Budgets, MilliDollars, Month};
use domain::post::{Authority, Changes, NewPost, NewTarget, PostStatus};
use domain::rules::{Price, Unit};
use domain::testing::{noon, text};
use publishing::testing::{PublishFault, PublishingHarness};
use scheduling::{Changed, Created, NotCreated, PostValidated};

/// A deployment that allows each user five cents a month, and a platform that charges two for a
/// post.
async fn harness() -> PublishingHarness {
    let mut harness = PublishingHarness::new().await;
    let price = Price { post: MilliDollars::new(20), with_link: MilliDollars::new(40), links: Unit::Weighted };
    harness.accounts[0].rules.price = Some(price);
    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    harness.scheduling.rules.budgets = Budgets::new([(harness.accounts[0].provider.clone(), MilliDollars::cents(5))]);
    harness
}

fn soon() -> DateTime<Utc> {
    noon() + TimeDelta::hours(1)
}

async fn spent(harness: &PublishingHarness, at: DateTime<Utc>) -> u64 {
    let budget_key = BudgetKey { platform: harness.accounts[0].provider.clone(), month: Month::from_instant(at) };
    harness.store.spent(harness.user.user_id, &budget_key).await.unwrap().get()
}

fn request(harness: &PublishingHarness, content: &str, at: DateTime<Utc>) -> NewPost {
    NewPost {
        targets: vec![NewTarget::new(0, harness.accounts[0].connection_id)],
        scheduled_at: Some(at),
        ..NewPost::new(text(content))
    }
}

async fn refused(harness: &PublishingHarness, content: &str, at: DateTime<Utc>) -> String {
    match harness.scheduling.create_post(harness.user.user_id, request(harness, content, at), None).await.unwrap() {
        Created::Refused(NotCreated::NotInPlan(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn post_over_budget_is_refused_with_amounts() {
    let harness = harness().await;
    harness.schedule("one", soon()).await;
    harness.schedule("two", soon()).await;

    let message = refused(&harness, "three", soon()).await;

    let expected = format!("in {} cost $0.04 of the $0.05 that this deployment allows", Month::from_instant(noon()));
    assert!(message.contains(&expected) && message.contains("would cost $0.02 more; cancel another post"), "{message}");
    assert_eq!(spent(&harness, noon()).await, 40);
    let checked =
        harness.scheduling.validate_post(harness.user.user_id, request(&harness, "three", soon())).await.unwrap();
    assert!(matches!(checked, PostValidated::Refused(NotCreated::NotInPlan(_))), "{checked:?}");
    harness.schedule("three", noon() + TimeDelta::days(31)).await;
}

#[tokio::test]
async fn concurrent_posts_do_not_exceed_the_budget_together() {
    let harness = harness().await;
    let create = |it: u32| {
        harness.scheduling.create_post(harness.user.user_id, request(&harness, &it.to_string(), soon()), None)
    };

    let ends = futures::future::join_all((0..6).map(create)).await;

    let made = ends.iter().filter(|it| matches!(it, Ok(Created::New(_)))).count();
    let refused = |it: &&Result<_, _>| matches!(it, Ok(Created::Refused(NotCreated::NotInPlan(_))));
    assert_eq!((made, ends.iter().filter(refused).count(), spent(&harness, noon()).await), (2, 4, 40), "{ends:?}");
}

#[tokio::test]
async fn accepted_post_is_published_after_the_budget_shrinks() {
    let mut harness = harness().await;
    let post = harness.schedule("one", soon()).await;
    harness.scheduling.rules.budgets = Budgets::new([(harness.accounts[0].provider.clone(), MilliDollars::default())]);

    harness.live(soon() + TimeDelta::minutes(1)).await;

    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    assert_eq!(spent(&harness, noon()).await, 20, "it stays spent");
}

#[tokio::test]
async fn cancelled_moved_or_reduced_post_releases_its_budget() {
    let harness = harness().await;
    let [first, second] = [harness.schedule("one", soon()).await, harness.schedule("two", soon()).await];
    let too_expensive = harness.rewrite(&first, "one https://a.de").await;
    assert!(matches!(&too_expensive, Changed::NotInPlan(why) if why.contains("$0.02 more")), "{too_expensive:?}");
    assert_eq!(harness.post(&first).await.text, text("one"), "it stays as it was");

    harness
        .scheduling
        .delete_post(harness.user.user_id, harness.post(&second).await, Authority::Posts, None)
        .await
        .unwrap();
    assert_eq!(spent(&harness, noon()).await, 20);
    assert!(matches!(harness.rewrite(&first, "one https://a.de").await, Changed::Done(_)));
    assert_eq!(spent(&harness, noon()).await, 40);

    let next = noon() + TimeDelta::days(31);
    assert!(matches!(harness.reschedule(&first, Some(next)).await, Changed::Done(_)));
    assert_eq!((spent(&harness, noon()).await, spent(&harness, next).await), (0, 40));
    let draft = Changes { scheduled_at: Some(None), ..Changes::default() };
    assert!(matches!(harness.change(&first, draft).await, Changed::Done(_)));
    assert_eq!(spent(&harness, next).await, 0);
}

#[tokio::test]
async fn retried_post_costs_once_and_refused_post_nothing() {
    let harness = harness().await;
    harness.fake.faults.lock().unwrap().extend([PublishFault::Busy(None), PublishFault::TheirError]);
    let post = harness.schedule("one", soon()).await;
    harness.live(soon() + TimeDelta::minutes(5)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    assert_eq!(spent(&harness, noon()).await, 20);

    harness.fake.faults.lock().unwrap().push_back(PublishFault::Refused);
    let at = soon() + TimeDelta::minutes(10);
    let post = harness.schedule("two", at).await;
    assert_eq!(spent(&harness, noon()).await, 40);
    harness.live(at + TimeDelta::minutes(1)).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Failed);
    assert_eq!(spent(&harness, noon()).await, 20);

    let again = harness.reschedule(&post, Some(at + TimeDelta::hours(1))).await;
    assert!(matches!(again, Changed::Done(_)), "{again:?}");
    assert_eq!(spent(&harness, noon()).await, 40);
}
