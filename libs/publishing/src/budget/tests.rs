use chrono::{DateTime, TimeDelta, Utc};
use domain::budget::{BudgetKey, Budgets, Month};
use domain::post::{Authority, NewTarget, PostStatus};
use domain::rules::{Price, Unit};
use domain::testing::{noon, text};

use super::*;
use crate::testing::{PublishFault, Rig};
use crate::{ChangePost, Changed, CreatePost, Created, NotCreated, PostValidated};

/// A deployment that allows each user five cents a month, and a platform that charges two for a
/// post.
async fn rig() -> Rig {
    let mut rig = Rig::new().await;
    let price = Price { post: MilliDollars::new(20), with_link: MilliDollars::new(40), links: Unit::Weighted };
    rig.accounts[0].rules.price = Some(price);
    rig.reconnect(0, Rig::credentials(None), None).await;
    rig.publishing.budgets = Budgets::new([(rig.accounts[0].provider.clone(), MilliDollars::cents(5))]);
    rig
}

fn soon() -> DateTime<Utc> {
    noon() + TimeDelta::hours(1)
}

async fn spent(rig: &Rig, at: DateTime<Utc>) -> u64 {
    let budget_key = BudgetKey { platform: rig.accounts[0].provider.clone(), month: Month::from_instant(at) };
    rig.store.spent(rig.user.user_id, &budget_key).await.unwrap().get()
}

fn request(rig: &Rig, content: &str, at: DateTime<Utc>) -> CreatePost {
    CreatePost {
        text: Some(text(content)),
        targets: vec![NewTarget::new(0, rig.accounts[0].connection_id)],
        scheduled_at: Some(at),
        ..CreatePost::default()
    }
}

async fn refused(rig: &Rig, content: &str, at: DateTime<Utc>) -> String {
    match rig.publishing.create_post(rig.user.user_id, request(rig, content, at)).await.unwrap() {
        Created::Refused(NotCreated::NotInPlan(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn post_over_budget_is_refused_with_amounts() {
    let rig = rig().await;
    rig.schedule("one", soon()).await;
    rig.schedule("two", soon()).await;

    let message = refused(&rig, "three", soon()).await;

    let expected = format!("in {} cost $0.04 of the $0.05 that this deployment allows", Month::from_instant(noon()));
    assert!(message.contains(&expected) && message.contains("would cost $0.02 more; cancel another post"), "{message}");
    assert_eq!(spent(&rig, noon()).await, 40);
    let checked = rig.publishing.validate_post(rig.user.user_id, request(&rig, "three", soon())).await.unwrap();
    assert!(matches!(checked, PostValidated::Refused(NotCreated::NotInPlan(_))), "{checked:?}");
    rig.schedule("three", noon() + TimeDelta::days(31)).await;
}

#[tokio::test]
async fn concurrent_posts_do_not_exceed_the_budget_together() {
    let rig = rig().await;
    let create = |it: u32| rig.publishing.create_post(rig.user.user_id, request(&rig, &it.to_string(), soon()));

    let ends = futures::future::join_all((0..6).map(create)).await;

    let made = ends.iter().filter(|it| matches!(it, Ok(Created::New(_)))).count();
    let refused = |it: &&Result<_, _>| matches!(it, Ok(Created::Refused(NotCreated::NotInPlan(_))));
    assert_eq!((made, ends.iter().filter(refused).count(), spent(&rig, noon()).await), (2, 4, 40), "{ends:?}");
}

#[tokio::test]
async fn accepted_post_is_published_after_the_budget_shrinks() {
    let mut rig = rig().await;
    let post = rig.schedule("one", soon()).await;
    rig.publishing.budgets = Budgets::new([(rig.accounts[0].provider.clone(), MilliDollars::default())]);

    rig.live(soon() + TimeDelta::minutes(1)).await;

    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
    assert_eq!(spent(&rig, noon()).await, 20, "it stays spent");
}

#[tokio::test]
async fn cancelled_moved_or_reduced_post_releases_its_budget() {
    let rig = rig().await;
    let [first, second] = [rig.schedule("one", soon()).await, rig.schedule("two", soon()).await];
    let too_expensive = rig.rewrite(&first, "one https://a.de").await;
    assert!(matches!(&too_expensive, Changed::NotInPlan(why) if why.contains("$0.02 more")), "{too_expensive:?}");
    assert_eq!(rig.post(&first).await.text, text("one"), "it stays as it was");

    rig.publishing.delete_post(rig.post(&second).await, Authority::Posts, None).await.unwrap();
    assert_eq!(spent(&rig, noon()).await, 20);
    assert!(matches!(rig.rewrite(&first, "one https://a.de").await, Changed::Done(_)));
    assert_eq!(spent(&rig, noon()).await, 40);

    let next = noon() + TimeDelta::days(31);
    assert!(matches!(rig.reschedule(&first, Some(next)).await, Changed::Done(_)));
    assert_eq!((spent(&rig, noon()).await, spent(&rig, next).await), (0, 40));
    let draft = ChangePost { scheduled_at: Some(None), ..ChangePost::default() };
    assert!(matches!(rig.change(&first, draft).await, Changed::Done(_)));
    assert_eq!(spent(&rig, next).await, 0);
}

#[tokio::test]
async fn retried_post_costs_once_and_refused_post_nothing() {
    let rig = rig().await;
    rig.network.faults.lock().unwrap().extend([PublishFault::Busy(None), PublishFault::TheirError]);
    let post = rig.schedule("one", soon()).await;
    rig.live(soon() + TimeDelta::minutes(5)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
    assert_eq!(spent(&rig, noon()).await, 20);

    rig.network.faults.lock().unwrap().push_back(PublishFault::Refused);
    let at = soon() + TimeDelta::minutes(10);
    let post = rig.schedule("two", at).await;
    assert_eq!(spent(&rig, noon()).await, 40);
    rig.live(at + TimeDelta::minutes(1)).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Failed);
    assert_eq!(spent(&rig, noon()).await, 20);

    let again = rig.reschedule(&post, Some(at + TimeDelta::hours(1))).await;
    assert!(matches!(again, Changed::Done(_)), "{again:?}");
    assert_eq!(spent(&rig, noon()).await, 40);
}
