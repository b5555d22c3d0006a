use chrono::TimeDelta;

use super::*;
use crate::delivery::{AttemptError, Published, Resolution};
use crate::failure::FailureClass;
use crate::post::{Accounts, Changes, NewTarget};
use crate::testing::{a_connection, a_post, a_user, accounts, ids, noon, text};
use crate::validation_errors::ValidationErrors;

fn delivery_for(post: &Post, target: &Target) -> Delivery {
    Delivery::new(post, target, None, 1, noon())
}

fn published(delivery: Delivery) -> Delivery {
    let published = Published::new("p1".to_owned(), noon());
    delivery.open_intent(noon()).record_publish(Ok(published), noon(), 0)
}

fn refused(delivery: Delivery) -> Delivery {
    let error = AttemptError::Refused { reason: "not wanted".to_owned() };
    delivery.open_intent(noon()).record_publish(Err(error), noon(), 0)
}

fn a_half_failed_post() -> (Post, Accounts) {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let deliveries = [published(delivery_for(&post, &post.targets[0])), refused(delivery_for(&post, &post.targets[1]))];
    (post.rolled_up(&deliveries, noon()), accounts(&connections))
}

fn refused_delivery(post: &Post) -> Delivery {
    refused(delivery_for(post, &post.targets[0]))
}

fn fields(errors: &ValidationErrors) -> Vec<&str> {
    errors.iter().map(|it| it.0).collect()
}

#[test]
fn post_with_expired_preparation_can_be_changed() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let delivery = Delivery::new(&post, &post.targets[0], Some(TimeDelta::minutes(1)), 1, noon());
    let expired = AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };

    let rolled_up = post.rolled_up(&[delivery.fail_preparation(0, expired, noon(), 0)], noon());

    assert_eq!((rolled_up.status, rolled_up.targets[0].status), (PostStatus::Scheduled, TargetStatus::Pending));
    rolled_up.change(Changes::default(), vec![], &accounts(&connections), &ids(), noon()).unwrap();
    rolled_up.check_deletable().unwrap();
}

#[test]
fn waiting_post_with_known_outcomes_can_be_changed() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let calling = delivery_for(&post, &post.targets[0]).open_intent(noon());
    let publishing = post.rolled_up(std::slice::from_ref(&calling), noon());
    assert_eq!((publishing.status, publishing.targets[0].status), (PostStatus::Publishing, TargetStatus::Publishing));
    let reason = || "Nothing went out.".to_owned();
    for (error, next_step) in [
        (
            AttemptError::Unauthorized { reason: reason() },
            "The post waits for the account for up to 24 hours after the scheduled time.",
        ),
        (
            AttemptError::RetryLater { retry_at: None, reason: reason() },
            "We will try again, for up to 24 hours after the scheduled time.",
        ),
    ] {
        let rolled_up = publishing.rolled_up(&[calling.clone().record_publish(Err(error), noon(), 0)], noon());

        assert_eq!((rolled_up.status, rolled_up.targets[0].status), (PostStatus::Scheduled, TargetStatus::Pending));
        let message = format!("Nothing went out. {next_step}");
        assert_eq!(rolled_up.targets[0].error_message.as_ref(), Some(&message));
        rolled_up.check_deletable().unwrap();
        let back = Changes { scheduled_at: Some(None), ..Changes::default() };
        let draft = rolled_up.change(back, vec![], &accounts(&connections), &ids(), noon()).unwrap();
        assert_eq!((draft.status, draft.marked().len()), (PostStatus::Draft, 0));
    }
    let unknown = AttemptError::Unknown { may_still_run: false, retry_at: None, reason: reason() };
    let with_unknown_outcome = publishing.rolled_up(&[calling.record_publish(Err(unknown), noon(), 0)], noon());
    assert_eq!(
        (with_unknown_outcome.status, with_unknown_outcome.targets[0].status),
        (PostStatus::Publishing, TargetStatus::Publishing)
    );
}

#[test]
fn post_with_unknown_outcome_cannot_be_changed_while_others_wait() {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let lost = AttemptError::Unknown { may_still_run: false, retry_at: None, reason: "no answer".to_owned() };
    let lost_delivery = delivery_for(&post, &post.targets[0]).open_intent(noon()).record_publish(Err(lost), noon(), 0);
    let undeterminable = Resolution::Undeterminable { advice: "look at the account".to_owned() };
    let may_be_public = lost_delivery.record_look_up(undeterminable, TimeDelta::zero(), noon(), 0);
    assert!(matches!(may_be_public.state, State::Failed { class: FailureClass::MayBePublic, .. }), "{may_be_public:?}");
    let busy = AttemptError::RetryLater { retry_at: None, reason: "later".to_owned() };
    let waits = delivery_for(&post, &post.targets[1]).open_intent(noon()).record_publish(Err(busy), noon(), 0);

    let rolled_up = post.rolled_up(&[may_be_public, waits], noon());

    assert_eq!(rolled_up.status, PostStatus::Publishing);
    let changes = Changes { text: Some(text("other words")), ..Changes::default() };
    rolled_up.change(changes, vec![], &accounts(&connections), &ids(), noon()).unwrap_err();
}

#[test]
fn delayed_target_next_to_a_public_one_can_be_removed() {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let public = published(delivery_for(&post, &post.targets[0]));
    let next = delivery_for(&post, &post.targets[1]);
    assert_eq!(post.rolled_up(&[public.clone(), next.clone()], noon()).status, PostStatus::Publishing);

    let gone = AttemptError::Unauthorized { reason: "connect it again".to_owned() };
    let delayed = next.open_intent(noon()).record_publish(Err(gone), noon(), 0);
    let rolled_up = post.rolled_up(&[public, delayed], noon());
    assert_eq!(rolled_up.status, PostStatus::Scheduled);
    assert!(rolled_up.check_deletable().is_err(), "a part of it is public");
    let only = NewTarget::new(0, post.targets[0].connection_id);
    let wanted = Changes { targets: Some(vec![only]), ..Changes::default() };
    let dropped = rolled_up.change(wanted, vec![], &accounts(&connections), &ids(), noon()).unwrap();
    assert_eq!((dropped.status, dropped.marked().len()), (PostStatus::Published, 0));
}

#[test]
fn post_fails_if_one_target_fails() {
    let (post, _) = a_half_failed_post();

    assert_eq!(post.status, PostStatus::Failed);
    assert_eq!(post.targets[0].status, TargetStatus::Published);
    assert_eq!(post.targets[1].error_message.as_deref(), Some("not wanted"));
    assert!(post.marked().is_empty());
}

#[test]
fn rescheduled_post_delivers_only_targets_that_are_not_public() {
    let (post, accounts) = a_half_failed_post();

    let wanted = Changes { scheduled_at: Some(Some(noon())), text: Some(text("Other")), ..Changes::default() };
    let changed = post.change(wanted, vec![], &accounts, &ids(), noon()).unwrap();

    let again: Vec<_> = changed.targets_to_deliver().map(|it| it.target_id).collect();
    assert_eq!(again, [post.targets[1].target_id]);
    assert_eq!(changed.text_of(&changed.targets[0]).as_str(), "Hello");
    assert_eq!(changed.text_of(&changed.targets[1]).as_str(), "Other");
}

#[test]
fn public_target_can_be_neither_removed_nor_changed() {
    let (post, accounts) = a_half_failed_post();
    let public = post.targets[0].connection_id;
    let failed = post.targets[1].connection_id;
    let named = |connection_id, text| NewTarget { text, ..NewTarget::new(0, connection_id) };
    let refused = |targets| {
        let wanted = Changes { targets: Some(targets), ..Changes::default() };
        post.change(wanted, vec![], &accounts, &ids(), noon()).unwrap_err()
    };

    assert_eq!(fields(&refused(vec![named(failed, None)])), ["platforms"]);
    assert_eq!(fields(&refused(vec![named(public, Some(text("Other")))])), ["platforms.0.content"]);
}

#[test]
fn failed_post_becomes_a_draft_only_if_nothing_is_public() {
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
    let stale = published(delivery_for(&post, &post.targets[0]));
    let edited = Post { revision: 2, ..post };

    assert_eq!(edited.rolled_up(&[stale], noon()), edited);
}

#[test]
fn second_roll_up_changes_nothing() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);
    let deliveries = [published(delivery_for(&post, &post.targets[0]))];

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
    let rolled_up = post.rolled_up(&[waiting.clone().record_publish(Ok(published), noon(), 0)], noon());
    // As if another target were still being published.
    let rolled_up = Post { status: PostStatus::Publishing, ..rolled_up };

    assert_eq!(rolled_up.rolled_up(&[waiting], noon()).targets, rolled_up.targets);
}

#[test]
fn removal_counts_while_another_target_is_sent_again() {
    let (post, accounts) = a_half_failed_post();
    let removed = published(delivery_for(&post, &post.targets[0])).record_removal("not wanted".to_owned());
    let wanted = Changes { scheduled_at: Some(Some(noon())), ..Changes::default() };
    let rescheduled = post.change(wanted, vec![], &accounts, &ids(), noon()).unwrap();
    let again = delivery_for(&rescheduled, &rescheduled.targets[1]);

    let waiting = rescheduled.rolled_up(&[removed.clone(), again.clone()], noon());
    let ended = waiting.rolled_up(&[removed, published(again)], noon());

    assert_eq!((waiting.status, waiting.targets[0].status), (PostStatus::Scheduled, TargetStatus::Failed));
    assert!(!waiting.targets[0].is_public());
    assert_eq!((ended.status, ended.targets[1].status), (PostStatus::Failed, TargetStatus::Published));
}
