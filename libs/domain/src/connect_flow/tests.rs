use FlowState::{AwaitingApproval, AwaitingCallback, ChoosingAccounts, CollectingInput, Completed, Completing, Failed};

use super::*;
use crate::testing::{a_user, noon};

const ALL: [FlowState; 7] =
    [CollectingInput, AwaitingCallback, AwaitingApproval, Completing, ChoosingAccounts, Completed, Failed];

fn user() -> UserId {
    UserId::new(7).unwrap()
}

fn a_flow(state: FlowState) -> ConnectFlow {
    let ended_at = matches!(state, Completed | Failed).then(noon);
    ConnectFlow { state, ended_at, ..ConnectFlow::start(user(), "sandbox".to_owned(), noon()) }
}

fn later(seconds: i64) -> DateTime<Utc> {
    noon() + TimeDelta::seconds(seconds)
}

fn guest(name: &str) -> FlowOwner {
    FlowOwner::Guest(name.to_owned())
}

/// The states from which a transition is permitted, each with the state to which it leads.
fn permitted(
    transition: impl Fn(ConnectFlow, DateTime<Utc>) -> Result<ConnectFlow, FlowStateError>,
) -> Vec<(FlowState, FlowState)> {
    for state in ALL {
        assert_eq!(transition(a_flow(state), later(600)), Err(FlowStateError), "{state:?} has expired");
    }
    let after = |state| Some((state, transition(a_flow(state), noon()).ok()?.state));
    ALL.into_iter().filter_map(after).collect()
}

#[test]
fn each_transition_is_permitted_from_its_states_until_expiry() {
    let forms = |to| vec![(CollectingInput, to), (AwaitingCallback, to)];
    assert_eq!(permitted(|it, now| it.await_callback(None, vec![1], now)), forms(AwaitingCallback));
    assert_eq!(permitted(|it, now| it.await_approval(None, vec![1], now)), forms(AwaitingApproval));
    assert_eq!(permitted(|it, now| it.accept_accounts(None, now)), forms(Completing));
    assert_eq!(permitted(ConnectFlow::receive_callback), [(AwaitingCallback, Completing)]);
    assert_eq!(permitted(ConnectFlow::poll), [(AwaitingApproval, AwaitingApproval)]);
    assert_eq!(permitted(ConnectFlow::approve), [(AwaitingApproval, Completing)]);
    assert_eq!(permitted(|it, now| it.offer_accounts(vec![1], now)), [(Completing, ChoosingAccounts)]);
    let ids = [ConnectionId::new(1).unwrap()];
    let completed = permitted(|it, now| it.complete(&ids, None, now));
    assert_eq!(completed, [(Completing, Completed), (ChoosingAccounts, Completed)]);
    let open = [CollectingInput, AwaitingCallback, AwaitingApproval, Completing, ChoosingAccounts];
    assert_eq!(permitted(|it, now| it.fail("no", now)), open.map(|it| (it, Failed)));
    assert_eq!(ALL.map(FlowState::can_cancel), [true, true, true, false, true, false, false]);
}

#[test]
fn flow_is_open_for_ten_minutes_and_remembered_for_a_day() {
    let flow = a_flow(CollectingInput);
    assert!(flow.is_open(later(599)) && !flow.is_open(later(600)));
    let day = TimeDelta::days(1);
    assert!(flow.is_remembered(later(599) + day) && !flow.is_remembered(later(600) + day));
    let ended = flow.fail("no", later(7)).unwrap();
    assert!(!ended.is_open(later(7)));
    assert!(ended.is_remembered(later(6) + day) && !ended.is_remembered(later(7) + day));
}

#[test]
fn sealed_data_lasts_only_as_long_as_its_state() {
    let with_sealed = |state| ConnectFlow { sealed: Some(vec![1]), ..a_flow(state) };
    assert_eq!(a_flow(CollectingInput).await_callback(None, vec![2], noon()).unwrap().sealed, Some(vec![2]));
    assert_eq!(a_flow(CollectingInput).await_approval(None, vec![2], noon()).unwrap().sealed, Some(vec![2]));
    assert_eq!(a_flow(Completing).offer_accounts(vec![2], noon()).unwrap().sealed, Some(vec![2]));
    assert_eq!(with_sealed(AwaitingCallback).accept_accounts(None, noon()).unwrap().sealed, None);
    assert_eq!(with_sealed(AwaitingCallback).receive_callback(noon()).unwrap().sealed, None);
    assert_eq!(with_sealed(AwaitingApproval).poll(noon()).unwrap().sealed, Some(vec![1]));
    assert_eq!(with_sealed(AwaitingApproval).approve(noon()).unwrap().sealed, None);
    assert_eq!(with_sealed(ChoosingAccounts).fail("no", noon()).unwrap().sealed, None);
    let ids = [ConnectionId::new(1).unwrap()];
    assert_eq!(with_sealed(ChoosingAccounts).complete(&ids, None, noon()).unwrap().sealed, None);
}

#[test]
fn completed_flow_names_its_connections_and_the_accounts_left_out() {
    let ids = [3, 1, 2].map(|it| ConnectionId::new(it).unwrap());
    let flow = a_flow(Completing).complete(&ids, Some("not all"), later(1)).unwrap();
    assert_eq!((flow.connection_id, &flow.also_connected[..]), (Some(ids[0]), &ids[1..]));
    assert_eq!((flow.reason.as_deref(), flow.ended_at), (Some("not all"), Some(later(1))));
    assert_eq!(a_flow(Completing).complete(&[], None, noon()), Err(FlowStateError));
}

#[test]
fn failed_flow_shows_its_reason() {
    let flow = a_flow(AwaitingCallback).fail("access was denied", later(1)).unwrap();
    assert_eq!((flow.reason.as_deref(), flow.ended_at), (Some("access was denied"), Some(later(1))));
}

#[test]
fn stored_flow_has_only_the_fields_of_its_state() {
    let stored = |flow: &ConnectFlow| serde_json::to_value(flow).unwrap();
    let started = a_flow(CollectingInput);
    let milliseconds = |time: DateTime<Utc>| time.timestamp_millis();
    let expected = serde_json::json!({
        "user_id": 7,
        "provider": "sandbox",
        "state": "collecting_input",
        "created_at": milliseconds(noon()),
        "expires_at": milliseconds(later(600)),
    });
    assert_eq!(stored(&started), expected);

    for (owner, name) in [(FlowOwner::Owner, "owner"), (guest("hash"), "hash")] {
        let submitted = started.clone().submit(CollectingInput, &owner, noon()).unwrap();
        let stored = stored(&submitted);
        assert_eq!((&stored["owner"], &stored["submissions"]), (&name.into(), &1.into()));
        assert_eq!(serde_json::from_value::<ConnectFlow>(stored).unwrap(), submitted);
    }
}

#[test]
fn one_submission_is_processed_at_a_time_until_its_lease_ends() {
    let by = FlowOwner::Owner;
    let locked = a_flow(CollectingInput).submit(CollectingInput, &by, noon()).unwrap();
    assert_eq!((locked.lock_expires_at, locked.submissions), (Some(later(30)), 1));

    let submit = |flow: &ConnectFlow, now| flow.clone().submit(CollectingInput, &by, now);
    assert_eq!(submit(&locked, later(29)), Err(FlowLockError::Busy));
    assert_eq!(submit(&locked, later(30)).unwrap().lock_expires_at, Some(later(60)));
    let released = ConnectFlow { lock_expires_at: None, ..locked };
    assert_eq!(submit(&released, noon()).unwrap().submissions, 2);
}

#[test]
fn eleventh_submission_gets_no_lock() {
    let submit = |submissions| {
        ConnectFlow { submissions, ..a_flow(ChoosingAccounts) }.submit(ChoosingAccounts, &FlowOwner::Owner, noon())
    };
    assert!(submit(9).is_ok());
    assert_eq!(submit(10), Err(FlowLockError::Spent));
}

#[test]
fn submission_of_an_earlier_page_gets_no_lock() {
    let submitted = a_flow(ChoosingAccounts).submit(CollectingInput, &FlowOwner::Owner, noon());
    assert_eq!(submitted, Err(FlowLockError::MovedOn));
}

#[test]
fn owner_takes_over_but_another_guest_does_not() {
    let submit = |owner: Option<FlowOwner>, by| {
        let submitted = ConnectFlow { owner, ..a_flow(CollectingInput) }.submit(CollectingInput, by, noon());
        submitted.map(|it| it.owner.unwrap())
    };
    let (first, second) = (guest("1"), guest("2"));
    assert_eq!(submit(None, &first), Ok(first.clone()));
    assert_eq!(submit(Some(first.clone()), &first), Ok(first.clone()));
    assert_eq!(submit(Some(first.clone()), &second), Err(FlowLockError::Theirs));
    assert_eq!(submit(Some(first.clone()), &FlowOwner::Owner), Ok(FlowOwner::Owner));
    assert_eq!(submit(Some(FlowOwner::Owner), &first), Err(FlowLockError::Theirs));
}

#[test]
fn participant_whose_flow_was_taken_over_does_not_go_to_the_platform() {
    let flow = || ConnectFlow { owner: Some(FlowOwner::Owner), ..a_flow(CollectingInput) };
    for by in [None, Some(&guest("1"))] {
        assert_eq!(flow().await_callback(by, vec![1], noon()), Err(FlowStateError));
        assert_eq!(flow().await_approval(by, vec![1], noon()), Err(FlowStateError));
        assert_eq!(flow().accept_accounts(by, noon()), Err(FlowStateError));
    }
    assert!(flow().await_callback(Some(&FlowOwner::Owner), vec![1], noon()).is_ok());
}

#[test]
fn platform_is_polled_at_most_every_ten_seconds() {
    let polled = a_flow(AwaitingApproval).poll(noon()).unwrap();
    assert_eq!(polled.clone().poll(later(9)), Err(FlowStateError));
    assert_eq!(polled.poll(later(10)).unwrap().next_check_at, Some(later(20)));
}

#[test]
fn owner_may_continue_and_another_user_may_not() {
    let access = |user, entry_point| a_flow(CollectingInput).access(user, None, entry_point, Guests::Denied);
    for entry_point in [EntryPoint::Page, EntryPoint::Form, EntryPoint::Callback] {
        assert_eq!(access(Some(user()), entry_point), FlowAccess::Owner);
        assert_eq!(access(Some(a_user().user_id), entry_point), FlowAccess::Denied);
        assert_eq!(access(None, entry_point), FlowAccess::Denied);
    }
}

#[test]
fn first_guest_continues_alone() {
    let (first, second) = (guest("1"), guest("2"));
    let access = |state, owner: Option<&FlowOwner>, guest, entry_point| {
        let flow = ConnectFlow { owner: owner.cloned(), ..a_flow(state) };
        flow.access(None, guest, entry_point, Guests::Permitted)
    };
    for state in ALL {
        let is_open_to_guests = matches!(state, CollectingInput | AwaitingCallback | Failed);
        let expected = if is_open_to_guests { FlowAccess::Guest } else { FlowAccess::Denied };
        for guest in [None, Some(&first)] {
            assert_eq!(access(state, None, guest, EntryPoint::Page), expected, "{state:?}");
            assert_eq!(access(state, None, guest, EntryPoint::Form), expected, "{state:?}");
            assert_eq!(access(state, None, guest, EntryPoint::Callback), FlowAccess::Denied, "{state:?}");
        }
        for entry_point in [EntryPoint::Page, EntryPoint::Form, EntryPoint::Callback] {
            assert_eq!(access(state, Some(&first), Some(&first), entry_point), FlowAccess::Guest);
            assert_eq!(access(state, Some(&first), Some(&second), entry_point), FlowAccess::AnotherBrowser);
            assert_eq!(access(state, Some(&first), None, entry_point), FlowAccess::AnotherBrowser);
            assert_eq!(access(state, Some(&FlowOwner::Owner), Some(&first), entry_point), FlowAccess::Denied);
        }
    }
}

#[test]
fn owner_does_not_receive_the_callback_of_a_guest() {
    let flow = ConnectFlow { owner: Some(guest("1")), ..a_flow(AwaitingCallback) };
    let access = |entry_point| flow.access(Some(user()), None, entry_point, Guests::Permitted);
    assert_eq!(access(EntryPoint::Callback), FlowAccess::AnotherBrowser);
    assert_eq!([access(EntryPoint::Page), access(EntryPoint::Form)], [FlowAccess::Owner; 2]);
}

#[test]
fn flow_of_a_connect_link_belongs_to_its_browser_only() {
    let link = FlowLink { key: "key".to_owned(), remembered_until: later(86_400 * 8) };
    let flow = ConnectFlow { link: Some(link), owner: Some(guest("first")), ..a_flow(CollectingInput) };
    for entry_point in [EntryPoint::Page, EntryPoint::Form, EntryPoint::Callback] {
        for guests in [Guests::Denied, Guests::Permitted] {
            let access = |user, by: &str| flow.access(user, Some(&guest(by)), entry_point, guests);
            assert_eq!(access(None, "first"), FlowAccess::Guest);
            assert_eq!(access(Some(user()), "second"), FlowAccess::AnotherBrowser);
            assert_eq!(flow.access(None, None, entry_point, guests), FlowAccess::AnotherBrowser);
        }
    }
    assert!(flow.is_remembered(later(86_400 * 7)) && !a_flow(CollectingInput).is_remembered(later(86_400 * 7)));
}
