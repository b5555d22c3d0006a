use chrono::TimeDelta;

use super::*;
use crate::connection::Connection;
use crate::delivery::Published;
use crate::id::ConnectionId;
use crate::post::{Changes, NewTarget};
use crate::rules::{Price, Unit};
use crate::testing::{a_connection, a_new_post, a_user, accounts, ids, noon, text};

const PRICE: Price = Price { post: MilliDollars::new(15), with_link: MilliDollars::cents(20), links: Unit::Weighted };
const BUDGET: MilliDollars = MilliDollars::cents(500);

fn account() -> Connection {
    let mut account = a_connection(&a_user());
    account.connection_id = ConnectionId::new(7).unwrap();
    account.rules.price = Some(PRICE);
    account
}

fn budgets() -> Budgets {
    Budgets::new([(account().provider, BUDGET)])
}

fn post(content: &str, at: Option<DateTime<Utc>>) -> Post {
    let accounts = accounts(&[account()]);
    let new = crate::post::NewPost { text: text(content), ..a_new_post(at, &[account()]) };
    let post = Post::create(new, &[], &a_user(), &accounts, &ids(), noon()).unwrap();
    post.charged(&accounts, &budgets(), noon())
}

fn changed(post: &Post, changes: Changes) -> Post {
    let accounts = accounts(&[account()]);
    post.change(changes, Vec::new(), &accounts, &ids(), noon()).unwrap().charged(&accounts, &budgets(), noon())
}

fn changes_by_month(before: Option<&Post>, after: Option<&Post>) -> Vec<(i32, i64)> {
    let now = Month::from_instant(noon()).number();
    changes(before, after).into_iter().map(|(key, it)| (key.month.number() - now, it.by)).collect()
}

fn failed(post: &Post, class: FailureClass) -> Post {
    let mut post = post.clone();
    post.status = PostStatus::Failed;
    let target = &mut post.targets[0];
    (target.status, target.failure) = (TargetStatus::Failed, Some(class));
    target.release_charges();
    post
}

#[test]
fn charge_starts_with_scheduling_and_ends_with_unscheduling() {
    let (draft, scheduled) = (post("Hello", None), post("Hello", Some(noon())));
    assert_eq!(changes_by_month(None, Some(&draft)), []);
    assert_eq!(changes_by_month(None, Some(&scheduled)), [(0, 15)]);
    assert_eq!(
        changes_by_month(
            Some(&draft),
            Some(&changed(&draft, Changes { scheduled_at: Some(Some(noon())), ..Changes::default() }))
        ),
        [(0, 15)]
    );

    let with_link = changed(&scheduled, Changes { text: Some(text("see example.com")), ..Changes::default() });
    assert_eq!(changes_by_month(Some(&scheduled), Some(&with_link)), [(0, 185)]);
    let next = Changes { scheduled_at: Some(Some(noon() + TimeDelta::days(31))), ..Changes::default() };
    assert_eq!(changes_by_month(Some(&with_link), Some(&changed(&with_link, next))), [(0, -200), (1, 200)]);
    let unscheduled = changed(&scheduled, Changes { scheduled_at: Some(None), ..Changes::default() });
    assert_eq!(changes_by_month(Some(&scheduled), Some(&unscheduled)), [(0, -15)]);
    assert_eq!(changes_by_month(Some(&scheduled), None), [(0, -15)]);
}

#[test]
fn platform_without_a_budget_is_not_charged() {
    let (scheduled, free) =
        (post("Hello", Some(noon())), accounts(&[Connection { rules: crate::testing::rules(), ..account() }]));
    let without = scheduled.clone().charged(&accounts(&[account()]), &Budgets::default(), noon());
    assert_eq!(changes_by_month(None, Some(&without)), []);
    assert_eq!(
        changes_by_month(Some(&scheduled), Some(&scheduled.clone().charged(&free, &budgets(), noon()))),
        [(0, -15)]
    );
}

#[test]
fn charge_is_released_only_if_certainly_not_public() {
    let scheduled = post("Hello", Some(noon()));
    let again = || Changes { scheduled_at: Some(Some(noon())), ..Changes::default() };

    let refused = failed(&scheduled, FailureClass::Refused);
    assert_eq!(changes_by_month(Some(&scheduled), Some(&refused)), [(0, -15)]);
    assert_eq!(changes_by_month(Some(&refused), Some(&changed(&refused, again()))), [(0, 15)]);
    assert_eq!(changes_by_month(Some(&refused), None), []);

    let may_be_public = failed(&scheduled, FailureClass::MayBePublic);
    assert_eq!(changes_by_month(Some(&scheduled), Some(&may_be_public)), []);
    assert_eq!(
        changes_by_month(Some(&may_be_public), Some(&changed(&may_be_public, again()))),
        [(0, 15)],
        "a second post"
    );
    assert_eq!(changes_by_month(Some(&may_be_public), None), []);
}

#[test]
fn charge_of_a_public_target_is_final() {
    let mut public = post("Hello", Some(noon()));
    let scheduled = public.clone();
    (public.status, public.targets[0].status) = (PostStatus::Published, TargetStatus::Published);
    public.targets[0].add_public(&[Published::new("p1", noon())]);
    assert_eq!(changes_by_month(Some(&scheduled), Some(&public)), []);

    // Another target failed, and the post is scheduled again.
    public.status = PostStatus::Failed;
    let targets = Some(vec![NewTarget::new(0, account().connection_id)]);
    let after = changed(&public, Changes { targets, text: Some(text("see example.com")), ..Changes::default() });
    assert_eq!(changes_by_month(Some(&public), Some(&after)), []);
}
