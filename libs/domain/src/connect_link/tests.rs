use super::*;
use crate::testing::{a_connect_link, noon};

fn browser(name: &str) -> FlowOwner {
    FlowOwner::Guest(name.to_owned())
}

fn opened(by: &FlowOwner) -> ConnectLink {
    a_connect_link().open(by, noon()).unwrap()
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
