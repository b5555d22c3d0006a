//! A post as users change it and deliveries tell it.

use chrono::TimeDelta;

use super::*;
use crate::delivery::{Published, Setback};
use crate::testing::{a_connection, a_new_post, a_post, a_user, accounts, ids, noon, text};

fn delivery_of(post: &Post, target: &Target) -> Delivery {
    Delivery::new(post, target, None, 1, noon())
}

fn published(delivery: Delivery) -> Delivery {
    let published = Published { platform_post_id: "p1".to_owned(), at: noon() };
    delivery.intended(noon()).settled(Ok(published), noon(), 0)
}

fn refused(delivery: Delivery) -> Delivery {
    let setback = Setback::Refused { reason: "not wanted".to_owned() };
    delivery.intended(noon()).settled(Err(setback), noon(), 0)
}

/// A post with a public and a failed target, and its accounts.
fn a_half_failed_post() -> (Post, Accounts) {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let deliveries = [published(delivery_of(&post, &post.targets[0])), refused(delivery_of(&post, &post.targets[1]))];
    (post.rolled_up(&deliveries, noon()), accounts(&connections))
}

fn fields(faults: &Faults) -> Vec<&str> {
    faults.iter().map(|it| it.0).collect()
}

#[test]
fn a_post_without_a_time_is_a_draft_and_is_not_checked_against_platforms() {
    let user = a_user();
    let connection = a_connection(&user);
    let new = NewPost { text: text(&"x".repeat(1000)), ..a_new_post(None, std::slice::from_ref(&connection)) };

    let post = Post::create(new, vec![], &user, &accounts(&[connection]), &ids(), noon()).unwrap();

    assert_eq!(post.status, PostStatus::Draft);
    assert_eq!(post.marked().len(), 0);
}

#[test]
fn a_scheduled_post_is_checked_and_marks_its_accounts() {
    let user = a_user();
    let connection = a_connection(&user);
    let new = a_new_post(Some(noon()), std::slice::from_ref(&connection));
    let long = NewPost { text: text(&"x".repeat(501)), ..new.clone() };
    let accounts = accounts(&[connection]);

    let faults = Post::create(long, vec![], &user, &accounts, &ids(), noon()).unwrap_err();
    let post = Post::create(new, vec![], &user, &accounts, &ids(), noon()).unwrap();

    assert_eq!(fields(&faults), ["platforms.0.content"]);
    assert_eq!(post.status, PostStatus::Scheduled);
    assert_eq!(post.marked().len(), 1);
}

#[test]
fn a_scheduled_post_needs_a_target() {
    let faults = Post::create(a_new_post(Some(noon()), &[]), vec![], &a_user(), &Accounts::new(), &ids(), noon());
    assert_eq!(fields(&faults.unwrap_err()), ["platforms"]);
}

#[test]
fn an_account_that_cannot_be_used_is_one_fault_not_two() {
    let user = a_user();
    let new = a_new_post(Some(noon()), &[a_connection(&user)]);

    let faults = Post::create(new, vec![], &user, &Accounts::new(), &ids(), noon()).unwrap_err();

    assert_eq!(fields(&faults), ["platforms.0.connected_account_id"]);
}

#[test]
fn an_account_of_nobody_and_one_that_needs_reconnection_are_faults() {
    let user = a_user();
    let gone = a_connection(&user);
    let revoked = Connection { needs_reconnection: true, ..a_connection(&user) };
    let new = a_new_post(Some(noon()), &[gone, revoked.clone()]);

    let faults = Post::create(new, vec![], &user, &accounts(&[revoked]), &ids(), noon()).unwrap_err();

    assert_eq!(fields(&faults), ["platforms.0.connected_account_id", "platforms.1.connected_account_id"]);
}

#[test]
fn replacing_the_targets_keeps_the_ids_of_those_that_stay() {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, None, &connections[..1]);
    let targets = a_new_post(None, &connections).targets;

    let wanted = Changes { targets: Some(targets), ..Changes::default() };
    let changed = post.change(wanted, &accounts(&connections), &ids(), noon()).unwrap();

    assert_eq!(changed.targets[0].target_id, post.targets[0].target_id);
    assert_eq!(changed.targets.len(), 2);
    assert_eq!(changed.revision, 2);
}

#[test]
fn unscheduling_makes_a_draft_without_marks() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);

    let wanted = Changes { scheduled_at: Some(None), ..Changes::default() };
    let changed = post.change(wanted, &accounts(&connections), &ids(), noon()).unwrap();

    assert_eq!((changed.status, changed.scheduled_at), (PostStatus::Draft, None));
    assert!(changed.marked().is_empty());
}

#[test]
fn a_publishing_or_published_post_cannot_be_changed() {
    let post = a_post(&a_user(), None, &[]);
    for status in [PostStatus::Publishing, PostStatus::Published] {
        let post = Post { status, ..post.clone() };
        let refused = post.change(Changes::default(), &Accounts::new(), &ids(), noon()).unwrap_err();
        assert_eq!(fields(&refused), ["status"]);
        assert_eq!(fields(&post.check_deletable().unwrap_err()), ["status"]);
    }
}

#[test]
fn a_post_whose_preparation_went_stale_can_still_be_changed() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let delivery = Delivery::new(&post, &post.targets[0], Some(TimeDelta::minutes(1)), 1, noon());
    let stale = Setback::Stale { reason: "a file has expired".to_owned() };

    let told = post.rolled_up(&[delivery.preparation_failed(stale, noon(), 0)], noon());

    assert_eq!((told.status, told.targets[0].status), (PostStatus::Scheduled, TargetStatus::Pending));
    told.change(Changes::default(), &accounts(&connections), &ids(), noon()).unwrap();
    told.check_deletable().unwrap();
}

#[test]
fn a_post_ends_failed_when_one_target_does_and_the_others_stay_public() {
    let (post, _) = a_half_failed_post();

    assert_eq!(post.status, PostStatus::Failed);
    assert_eq!(post.targets[0].status, TargetStatus::Published);
    assert_eq!(post.targets[1].error_message.as_deref(), Some("not wanted"));
    assert!(post.marked().is_empty());
}

#[test]
fn a_failed_post_with_a_new_time_tries_only_what_is_not_public() {
    let (post, accounts) = a_half_failed_post();

    let wanted = Changes { scheduled_at: Some(Some(noon())), text: Some(text("Other")), ..Changes::default() };
    let changed = post.change(wanted, &accounts, &ids(), noon()).unwrap();

    let again: Vec<_> = changed.to_deliver().map(|it| it.target_id).collect();
    assert_eq!(again, [post.targets[1].target_id]);
    assert_eq!(changed.text_of(&changed.targets[0]).as_str(), "Hello");
    assert_eq!(changed.text_of(&changed.targets[1]).as_str(), "Other");
}

#[test]
fn a_public_target_can_be_neither_removed_nor_reworded() {
    let (post, accounts) = a_half_failed_post();
    let public = post.targets[0].connection_id;
    let failed = post.targets[1].connection_id;
    let named = |connection_id, text| NewTarget { index: 0, connection_id, text };
    let refused = |targets| {
        let wanted = Changes { targets: Some(targets), ..Changes::default() };
        post.change(wanted, &accounts, &ids(), noon()).unwrap_err()
    };

    assert_eq!(fields(&refused(vec![named(failed, None)])), ["platforms"]);
    assert_eq!(fields(&refused(vec![named(public, Some(text("Other")))])), ["platforms.0.content"]);
}

#[test]
fn a_failed_post_goes_back_to_draft_only_when_nothing_is_public() {
    let (post, accounts) = a_half_failed_post();
    let changes = || Changes { scheduled_at: Some(None), ..Changes::default() };
    let refused = post.change(changes(), &accounts, &ids(), noon()).unwrap_err();
    assert_eq!(fields(&refused), ["scheduled_at"]);

    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let failed = post.rolled_up(&[refused_delivery(&post)], noon());
    assert_eq!(failed.status, PostStatus::Failed);
    let draft = failed.change(changes(), &crate::testing::accounts(&connections), &ids(), noon()).unwrap();
    assert_eq!(draft.status, PostStatus::Draft);
    assert_eq!(draft.targets[0].status, TargetStatus::Pending);
}

fn refused_delivery(post: &Post) -> Delivery {
    refused(delivery_of(post, &post.targets[0]))
}

#[test]
fn deliveries_of_another_revision_say_nothing() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let stale = published(delivery_of(&post, &post.targets[0]));
    let edited = Post { revision: 2, ..post };

    assert_eq!(edited.rolled_up(&[stale], noon()), edited);
}

#[test]
fn rolling_up_twice_changes_nothing_more() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let deliveries = [published(delivery_of(&post, &post.targets[0]))];

    let once = post.rolled_up(&deliveries, noon());
    let twice = once.rolled_up(&deliveries, noon() + TimeDelta::seconds(9));

    assert_eq!(once.status, PostStatus::Published);
    assert_eq!(once, twice);
}

#[test]
fn texts_that_no_item_could_hold_are_refused() {
    let user = a_user();
    let connections: Vec<_> = (0..6).map(|_| a_connection(&user)).collect();
    let mut new = a_new_post(None, &connections);
    for target in &mut new.targets {
        target.text = Some(text(&"x".repeat(60_000)));
    }

    let faults = Post::create(new, vec![], &user, &accounts(&connections), &ids(), noon()).unwrap_err();

    assert_eq!(fields(&faults), ["content"]);
}

#[test]
fn a_target_that_has_ended_is_not_told_what_was_so_before() {
    let user = a_user();
    let post = a_post(&user, Some(noon()), &[a_connection(&user)]);
    let waiting = Delivery::new(&post, &post.targets[0], None, 1, noon()).intended(noon());
    let published = Published { platform_post_id: "p1".to_owned(), at: noon() };
    let told = post.rolled_up(&[waiting.clone().settled(Ok(published), noon(), 0)], noon());
    // As if another target were still on its way.
    let told = Post { status: PostStatus::Publishing, ..told };

    assert_eq!(told.rolled_up(&[waiting], noon()).targets, told.targets);
}
