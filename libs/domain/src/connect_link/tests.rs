use super::*;
use crate::testing::{a_connect_link, ids, noon};

fn browser(name: &str) -> FlowOwner {
    FlowOwner::Guest(name.to_owned())
}

fn opened(by: &FlowOwner) -> ConnectLink {
    a_connect_link().open(by, noon()).unwrap()
}

fn opened_for_consents(by: &FlowOwner) -> ConnectLink {
    let consents = Some(LinkConsents { post_id: ids().fresh(), accounts: Vec::new(), are_given: false });
    ConnectLink { consents, ..opened(by) }
}

#[test]
fn first_browser_that_opens_a_link_is_the_only_one() {
    let (first, second) = (browser("first"), browser("second"));
    let link = opened(&first);

    assert_eq!(link.clone().open(&first, noon()).unwrap().browser, Some(first.clone()));
    assert_eq!(link.clone().open(&second, noon()), Err(LinkError::AnotherBrowser));
    assert_eq!(link.clone().start_flow(&second, "flow", noon()), Err(LinkError::AnotherBrowser));
    assert_eq!(link.clone().finish(&second, noon()), Err(LinkError::AnotherBrowser));
    assert_eq!(link.check(None, noon()), Err(LinkError::AnotherBrowser));
    assert_eq!(a_connect_link().check(None, noon()), Err(LinkError::AnotherBrowser));
}

#[test]
fn link_connects_nothing_after_its_expiry_or_its_end() {
    let by = browser("first");
    let expiry = a_connect_link().expires_at;
    let ended = opened(&by).finish(&by, noon()).unwrap();
    assert_eq!(ended.clone().start_flow(&by, "flow", noon()), Err(LinkError::Ended));
    assert_eq!(ended.clone().open(&by, noon()), Err(LinkError::Ended));
    assert_eq!(ended.finish(&by, expiry), Err(LinkError::Ended));
    assert_eq!(opened(&by).start_flow(&by, "flow", expiry), Err(LinkError::Expired));
    assert_eq!(a_connect_link().open(&by, expiry), Err(LinkError::Expired));
    assert!(opened(&by).finish(&by, expiry).unwrap().has_ended, "the customer can still return");
}

#[test]
fn link_starts_a_bounded_number_of_flows() {
    let by = browser("first");
    let mut link = opened(&by);
    for number in 0..MAX_FLOWS {
        link = link.start_flow(&by, &number.to_string(), noon()).unwrap();
    }
    assert_eq!(link.flows.len(), MAX_FLOWS);
    assert_eq!(link.start_flow(&by, "one more", noon()), Err(LinkError::Spent));
}

#[test]
fn every_change_increases_the_revision() {
    let by = browser("first");
    let link = opened(&by);
    let started = link.clone().start_flow(&by, "flow", noon()).unwrap();
    let ended = started.clone().finish(&by, noon()).unwrap();
    let revisions = [a_connect_link().revision, link.revision, started.revision, ended.revision];
    assert!(revisions.is_sorted_by(|before, after| before < after), "{revisions:?}");
}

#[test]
fn link_offers_its_platforms_or_all() {
    let restricted = ConnectLink { platforms: vec!["mastodon".to_owned()], ..a_connect_link() };
    assert!(restricted.offers("mastodon") && !restricted.offers("bluesky"));
    assert!(a_connect_link().offers("bluesky"));
}

#[test]
fn link_for_consents_connects_no_accounts() {
    let by = browser("first");
    let link = opened_for_consents(&by);

    assert!(!link.offers("mastodon"));
    assert_eq!(link.start_flow(&by, "flow", noon()), Err(LinkError::AnotherPurpose));
    assert_eq!(opened(&by).complete(&by, noon()), Err(LinkError::AnotherPurpose));
}

#[test]
fn link_for_consents_is_completed_when_all_are_given() {
    let (by, other) = (browser("first"), browser("second"));
    let link = opened_for_consents(&by);
    let expiry = link.expires_at;

    let given = link.clone().complete(&by, noon()).unwrap();
    let cancelled = link.clone().finish(&by, noon()).unwrap();

    assert_eq!((given.has_ended, given.result(false)), (true, LinkResult::Completed));
    assert_eq!((cancelled.has_ended, cancelled.result(true)), (true, LinkResult::Cancelled));
    assert_eq!(cancelled.complete(&by, noon()), Err(LinkError::Ended));
    assert_eq!(given.finish(&by, noon()), Err(LinkError::Ended));
    assert_eq!(link.clone().complete(&other, noon()), Err(LinkError::AnotherBrowser));
    assert!(
        link.complete(&by, expiry).unwrap().has_ended,
        "the consents are stored, whether the link has expired or not"
    );
}

#[test]
fn link_for_accounts_is_completed_when_one_is_connected() {
    assert_eq!(a_connect_link().result(true), LinkResult::Completed);
    assert_eq!(a_connect_link().result(false), LinkResult::Cancelled);
}
