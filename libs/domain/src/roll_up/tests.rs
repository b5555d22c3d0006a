use chrono::TimeDelta;

use super::*;
use crate::delivery::{AttemptError, Published, Resolution};
use crate::failure::FailureClass;
use crate::post::{Accounts, Changes, NewTarget};
use crate::testing::{a_connection, a_post, a_user, accounts, ids, noon, text};
use crate::validation_errors::ValidationErrors;

fn delivery_of(post: &Post, target: &Target) -> Delivery {
    Delivery::new(post, target, None, 1, noon())
}

fn published(delivery: Delivery) -> Delivery {
    let published = Published::new("p1".to_owned(), noon());
    delivery.open_intent(noon()).record_publish(Ok(published), noon(), 0)
}

fn refused(delivery: Delivery) -> Delivery {
    let setback = AttemptError::Refused { reason: "not wanted".to_owned() };
    delivery.open_intent(noon()).record_publish(Err(setback), noon(), 0)
}

/// A post of which one target is public and the other has failed, and its accounts.
fn a_half_failed_post() -> (Post, Accounts) {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let deliveries = [published(delivery_of(&post, &post.targets[0])), refused(delivery_of(&post, &post.targets[1]))];
    (post.rolled_up(&deliveries, noon()), accounts(&connections))
}

fn refused_delivery(post: &Post) -> Delivery {
    refused(delivery_of(post, &post.targets[0]))
}

fn fields(faults: &ValidationErrors) -> Vec<&str> {
    faults.iter().map(|it| it.0).collect()
}

#[test]
fn a_post_whose_preparation_went_stale_can_still_be_changed() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let delivery = Delivery::new(&post, &post.targets[0], Some(TimeDelta::minutes(1)), 1, noon());
    let stale = AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };

    let told = post.rolled_up(&[delivery.fail_preparation(stale, noon(), 0)], noon());

    assert_eq!((told.status, told.targets[0].status), (PostStatus::Scheduled, TargetStatus::Pending));
    told.change(Changes::default(), vec![], &accounts(&connections), &ids(), noon()).unwrap();
    told.check_deletable().unwrap();
}

#[test]
fn waiting_post_with_known_outcomes_can_be_changed() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let calling = delivery_of(&post, &post.targets[0]).open_intent(noon());
    let shown = post.rolled_up(std::slice::from_ref(&calling), noon());
    assert_eq!((shown.status, shown.targets[0].status), (PostStatus::Publishing, TargetStatus::Publishing));
    let reason = || "Nothing went out.".to_owned();
    for setback in
        [AttemptError::Unauthorized { reason: reason() }, AttemptError::RetryLater { retry_at: None, reason: reason() }]
    {
        let told = shown.rolled_up(&[calling.clone().record_publish(Err(setback), noon(), 0)], noon());

        assert_eq!((told.status, told.targets[0].status), (PostStatus::Scheduled, TargetStatus::Pending));
        let message = "Nothing went out. We will try again, for up to 24 hours after the scheduled time.";
        assert_eq!(told.targets[0].error_message.as_deref(), Some(message));
        told.check_deletable().unwrap();
        let back = Changes { scheduled_at: Some(None), ..Changes::default() };
        let draft = told.change(back, vec![], &accounts(&connections), &ids(), noon()).unwrap();
        assert_eq!((draft.status, draft.marked().len()), (PostStatus::Draft, 0));
    }
    let unknown = AttemptError::Unknown { may_still_run: false, retry_at: None, reason: reason() };
    let doubted = shown.rolled_up(&[calling.record_publish(Err(unknown), noon(), 0)], noon());
    assert_eq!((doubted.status, doubted.targets[0].status), (PostStatus::Publishing, TargetStatus::Publishing));
}

#[test]
fn post_with_unknown_outcome_cannot_be_changed_while_others_wait() {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let lost = AttemptError::Unknown { may_still_run: false, retry_at: None, reason: "no answer".to_owned() };
    let doubted = delivery_of(&post, &post.targets[0]).open_intent(noon()).record_publish(Err(lost), noon(), 0);
    let unknowable = Resolution::Undeterminable { advice: "look at the account".to_owned() };
    let in_doubt = doubted.record_look_up(unknowable, TimeDelta::zero(), noon(), 0);
    assert!(matches!(in_doubt.state, State::Failed { class: FailureClass::MayBePublic, .. }), "{in_doubt:?}");
    let busy = AttemptError::RetryLater { retry_at: None, reason: "later".to_owned() };
    let waits = delivery_of(&post, &post.targets[1]).open_intent(noon()).record_publish(Err(busy), noon(), 0);

    let told = post.rolled_up(&[in_doubt, waits], noon());

    assert_eq!(told.status, PostStatus::Publishing);
    let words = Changes { text: Some(text("other words")), ..Changes::default() };
    told.change(words, vec![], &accounts(&connections), &ids(), noon()).unwrap_err();
}

#[test]
fn delayed_target_next_to_a_public_one_can_be_removed() {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let public = published(delivery_of(&post, &post.targets[0]));
    let next = delivery_of(&post, &post.targets[1]);
    assert_eq!(post.rolled_up(&[public.clone(), next.clone()], noon()).status, PostStatus::Publishing);

    let gone = AttemptError::Unauthorized { reason: "connect it again".to_owned() };
    let struck = next.open_intent(noon()).record_publish(Err(gone), noon(), 0);
    let told = post.rolled_up(&[public, struck], noon());
    assert_eq!(told.status, PostStatus::Scheduled);
    assert!(told.check_deletable().is_err(), "a part of it is public");
    let only = NewTarget::of(0, post.targets[0].connection_id);
    let wanted = Changes { targets: Some(vec![only]), ..Changes::default() };
    let dropped = told.change(wanted, vec![], &accounts(&connections), &ids(), noon()).unwrap();
    assert_eq!((dropped.status, dropped.marked().len()), (PostStatus::Published, 0));
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
    let changed = post.change(wanted, vec![], &accounts, &ids(), noon()).unwrap();

    let again: Vec<_> = changed.to_deliver().map(|it| it.target_id).collect();
    assert_eq!(again, [post.targets[1].target_id]);
    assert_eq!(changed.text_of(&changed.targets[0]).as_str(), "Hello");
    assert_eq!(changed.text_of(&changed.targets[1]).as_str(), "Other");
}

#[test]
fn public_target_can_be_neither_removed_nor_changed() {
    let (post, accounts) = a_half_failed_post();
    let public = post.targets[0].connection_id;
    let failed = post.targets[1].connection_id;
    let named = |connection_id, text| NewTarget { text, ..NewTarget::of(0, connection_id) };
    let refused = |targets| {
        let wanted = Changes { targets: Some(targets), ..Changes::default() };
        post.change(wanted, vec![], &accounts, &ids(), noon()).unwrap_err()
    };

    assert_eq!(fields(&refused(vec![named(failed, None)])), ["platforms"]);
    assert_eq!(fields(&refused(vec![named(public, Some(text("Other")))])), ["platforms.0.content"]);
}

#[test]
fn a_failed_post_goes_back_to_draft_only_when_nothing_is_public() {
    let (post, accounts) = a_half_failed_post();
    let changes = || Changes { scheduled_at: Some(None), ..Changes::default() };
    let refused = post.change(changes(), vec![], &accounts, &ids(), noon()).unwrap_err();
    assert_eq!(fields(&refused), ["scheduled_at"]);

    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let failed = post.rolled_up(&[refused_delivery(&post)], noon());
    assert_eq!(failed.status, PostStatus::Failed);
    let draft = failed.change(changes(), vec![], &crate::testing::accounts(&connections), &ids(), noon()).unwrap();
    assert_eq!(draft.status, PostStatus::Draft);
    assert_eq!(draft.targets[0].status, TargetStatus::Pending);
}

#[test]
fn deliveries_of_another_revision_are_ignored() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let stale = published(delivery_of(&post, &post.targets[0]));
    let edited = Post { revision: 2, ..post };

    assert_eq!(edited.rolled_up(&[stale], noon()), edited);
}

#[test]
fn second_roll_up_changes_nothing() {
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
fn outdated_delivery_does_not_reopen_an_ended_target() {
    let user = a_user();
    let post = a_post(&user, Some(noon()), &[a_connection(&user)]);
    let waiting = Delivery::new(&post, &post.targets[0], None, 1, noon()).open_intent(noon());
    let published = Published::new("p1".to_owned(), noon());
    let told = post.rolled_up(&[waiting.clone().record_publish(Ok(published), noon(), 0)], noon());
    // As if another target were still being published.
    let told = Post { status: PostStatus::Publishing, ..told };

    assert_eq!(told.rolled_up(&[waiting], noon()).targets, told.targets);
}
