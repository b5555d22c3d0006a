use super::*;
use crate::post::SegmentKind;

fn at(count: i64) -> DateTime<Utc> {
    noon() + seconds(count)
}

fn segment(id: &str) -> Published {
    Published::new(id.to_owned(), noon())
}

fn refused() -> AttemptError {
    AttemptError::Refused { reason: "too rude".to_owned() }
}

/// Due at noon: a post, two replies, and a comment if there is one.
fn thread(has_comment: bool) -> Delivery {
    let mut segments = vec![SegmentKind::Post, SegmentKind::Reply, SegmentKind::Reply];
    segments.extend(has_comment.then_some(SegmentKind::Comment));
    Delivery { segments, ..a_delivery() }
}

fn publish(delivery: Delivery, id: &str, now: DateTime<Utc>) -> Delivery {
    assert_eq!(delivery.next_step(now), NextStep::Publish);
    delivery.open_intent(now).record_publish(Ok(Published { at: now, ..segment(id) }), now, 0)
}

#[test]
fn next_segment_begins_at_once_with_a_clean_record() {
    let delayed = thread(false).open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    let found = delayed.record_look_up(Resolution::Found(segment("p1")), seconds(60), at(70), 0);

    assert_eq!(
        (found.next_step(at(70)), found.current_segment(), &found.state),
        (NextStep::Publish, 1, &State::Waiting)
    );
    assert_eq!((found.attempts, found.has_begun, found.unknown_since, &found.note), (0, false, None, &None));
    assert_eq!(found.gives_up_at(), at(70) + RETRY_WINDOW, "a segment has a retry window of its own");
    let all = publish(publish(found, "p2", at(70)), "p3", at(71));
    assert_eq!((&all.state, all.next_step(at(71))), (&State::Published, NextStep::RollUp));
    let ids: Vec<_> = all.published.iter().map(|it| it.platform_post_id.as_str()).collect();
    assert_eq!(ids, ["p1", "p2", "p3"]);
}

#[test]
fn unknown_outcome_is_settled_before_the_next_segment() {
    let second = publish(thread(false), "p1", noon()).open_intent(noon());
    let lost = second.record_publish(Err(unknown(true)), at(1), 0);

    assert_eq!(lost.next_step(at(30)), NextStep::LookUp);
    assert!(lost.is_between_segments() && lost.may_have_published());
    let not_found = lost.record_look_up(Resolution::NotFound, seconds(60), at(80), 0);
    assert_eq!((not_found.current_segment(), not_found.next_step(at(90))), (1, NextStep::Publish));
}

#[test]
fn reply_that_fails_leaves_the_thread_partly_public() {
    let second = publish(thread(false), "p1", noon()).open_intent(noon());
    let ended = second.clone().record_publish(Err(refused()), at(1), 0);

    let State::Failed { reason, class: FailureClass::PartlyPublic } = &ended.state else { panic!("{:?}", ended.state) };
    assert_eq!(reason, "1 of the 3 posts of this thread are public. too rude");
    let lost = second.record_publish(Err(unknown(false)), at(1), 0);
    let advice = Resolution::Undeterminable { advice: "look at the channel".to_owned() };
    let State::Failed { reason, class } = lost.record_look_up(advice, seconds(60), at(3), 0).state else { panic!() };
    assert_eq!(class, FailureClass::MayBePublic);
    assert!(reason.starts_with("1 of the 3") && reason.ends_with("look at the channel"), "{reason}");
    let refused = thread(false).open_intent(noon()).record_publish(Err(refused()), noon(), 0);
    assert!(matches!(refused.state, State::Failed { class: FailureClass::Refused, .. }), "nothing is public");
}

#[test]
fn message_of_an_unknown_outcome_names_its_segment() {
    let lose = |it: Delivery| it.open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    let advice = || Resolution::Undeterminable { advice: "look at the channel".to_owned() };
    let reply = lose(publish(thread(true), "p1", noon()));
    let comment = lose(publish(publish(publish(thread(true), "p1", noon()), "p2", noon()), "p3", noon()));

    let State::Failed { reason, .. } = reply.record_look_up(advice(), seconds(60), at(3), 0).state else { panic!() };
    assert_eq!(reason, "1 of the 3 posts of this thread are public. The reply may be public: look at the channel");
    let error = comment.clone().record_look_up(advice(), seconds(60), at(3), 0).comment_error;
    assert_eq!(error.as_deref(), Some("The comment may be public: look at the channel"));
    let not_found = comment.record_look_up(Resolution::NotFound, seconds(60), at(80), 0);
    let error = not_found.open_intent(at(90)).record_publish(Err(refused()), at(90), 0).comment_error.unwrap();
    assert!(error.starts_with("The comment may be public: the outcome of an earlier attempt is unknown."), "{error}");
    assert!(error.ends_with("too rude"), "{error}");
}

#[test]
fn comment_that_fails_leaves_the_delivery_published() {
    let public = publish(publish(publish(thread(true), "p1", noon()), "p2", noon()), "p3", noon());
    assert_eq!((public.current_kind(), &public.state), (Some(SegmentKind::Comment), &State::Waiting));

    let ended = public.open_intent(noon()).record_publish(Err(refused()), noon(), 0);

    assert_eq!((&ended.state, ended.comment_error.as_deref()), (&State::Published, Some("too rude")));
    assert_eq!(ended.published.len(), 3);
}

#[test]
fn all_segments_are_prepared_before_the_due_time() {
    let early = noon() - seconds(100);
    let prepared = Delivery { preparations: vec![Preparation::open(early); 3], next_step_at: early, ..thread(false) };
    // The first segment continues shortly before noon, and the others do not wait for that.
    let waits = prepared.record_preparation(0, again(noon() - seconds(20)));
    assert_eq!(waits.next_step(early), NextStep::Prepare(1));
    let second = waits.record_preparation(1, ready("second"));
    assert_eq!(second.next_step(early), NextStep::Prepare(2));
    let third = second.record_preparation(2, PreparationStep::NeedsParent { progress: Some("third".to_owned()) });
    assert_eq!(third.next_step(early), NextStep::Wait(noon() - seconds(20)));
    let all = third.record_preparation(0, ready("first"));
    assert_eq!((all.next_step(early), all.next_step_at), (NextStep::Wait(noon()), noon()));

    let two = publish(publish(all, "p1", noon()), "p2", noon());

    assert_eq!((two.next_step(noon()), two.progress(2)), (NextStep::Prepare(2), Some("third")));
    let last = two.record_preparation(2, ready("with its parent"));
    assert_eq!((last.next_step(noon()), last.progress(2)), (NextStep::Publish, Some("with its parent")));
}

#[test]
fn error_of_a_later_segment_does_not_delay_the_post() {
    let early = noon() - seconds(100);
    let open = Delivery { preparations: vec![Preparation::open(early); 3], next_step_at: early, ..thread(false) };
    let first = open.record_preparation(0, ready("first")).record_preparation(2, ready("third"));
    let busy = first.fail_preparation(1, busy(), noon() - seconds(1), 0);

    assert_eq!((busy.note.as_ref(), busy.attempts, busy.next_step(noon())), (None, 0, NextStep::Publish));
    let public = publish(busy, "p1", noon());
    assert_eq!(public.next_step(noon()), NextStep::Prepare(1), "at its turn at the latest");

    let refused = public.fail_preparation(1, refused(), noon(), 0);
    assert!(matches!(refused.state, State::Failed { class: FailureClass::PartlyPublic, .. }));
}

/// A file that the platform refuses is found before anything is public.
#[test]
fn refusal_in_the_preparation_of_a_reply_publishes_nothing() {
    let early = noon() - seconds(100);
    let open = Delivery { preparations: vec![Preparation::open(early); 3], next_step_at: early, ..thread(false) };
    let failed = open.fail_preparation(2, refused(), early, 0);

    assert_eq!(failed.state, State::Failed { reason: "too rude".to_owned(), class: FailureClass::Refused });
}
