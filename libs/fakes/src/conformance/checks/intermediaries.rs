//! Responses that do not come from the platform, or not as it sent them: error pages of proxies,
//! CDNs and firewalls, and bodies that are cut off or missing.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use platforms::RefreshError;

use crate::conformance::adapter_harness::AdapterHarness;
use crate::conformance::adapter_harness::files::needs_media;
use crate::conformance::fake_platform::{Call, InjectedFault, StartFake};
use crate::conformance::samples::sample;

/// Statuses that nginx, Cloudflare and firewalls send themselves; 5xx is in `troubles.rs`.
const STATUSES: [u16; 6] = [400, 401, 403, 404, 408, 413];

/// Statuses with which an intermediary may respond to a call that it has forwarded.
const MAY_BE_FORWARDED: [u16; 5] = [408, 409, 499, 502, 504];

/// The violations that a check finds. All statuses are tried before it fails.
#[derive(Default)]
struct Violations(Vec<String>);

impl Violations {
    fn check(&mut self, is_right: bool, message: String) {
        if !is_right {
            self.0.push(message);
        }
    }

    fn assert_empty(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

fn is_final(error: &AttemptError) -> bool {
    matches!(error, AttemptError::Refused { .. } | AttemptError::Unauthorized { .. })
}

fn copies(harness: &AdapterHarness, text: &str) -> usize {
    let shown = harness.fake.displayed_text(text);
    harness.fake.public_posts().iter().filter(|it| it.text == shown).count()
}

/// Each page once, and twice in a row. An intermediary cannot refuse a post, and says nothing about
/// its grant.
pub async fn an_error_page_at_the_publish_call_delays_the_post(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let mut violations = Violations::default();
    let later = MAY_BE_FORWARDED.into_iter().filter(|it| !STATUSES.contains(it));
    for status in STATUSES.into_iter().chain(later) {
        let fault = InjectedFault::Intermediary { status };
        if !harness.fake.can_fail(Call::Publish, fault) {
            continue;
        }
        for count in [1, 2] {
            let before = harness.fake.call_count(Call::Publish);
            let text = format!("behind {count} pages with {status}");
            let mut post = harness.post(&account, &text, vec![sample(harness.main_type(&account), 1)]);
            harness.fake.inject_fault(Call::Publish, fault, count);

            let delivered = harness.deliver(&mut post).await;

            let copies = copies(&harness, &text);
            let is_right = match &delivered {
                Ok(delivery) => copies == 1 && !delivery.errors.iter().any(is_final),
                // The platform may have the request, and the post cannot be looked up.
                Err(AttemptError::Unknown { .. }) => {
                    let is_sent_once = harness.fake.call_count(Call::Publish) == before + 1;
                    MAY_BE_FORWARDED.contains(&status) && !harness.fake.can_look_up() && is_sent_once
                }
                Err(_) => false,
            };
            violations.check(is_right, format!("{text}: {copies} posts, {delivered:?}"));
            harness.fake.inject_fault(Call::Publish, fault, 0);
            harness.clock.advance(TimeDelta::minutes(1));
        }
    }
    violations.assert_empty();
}

/// An intermediary replaced the response to a call that was carried out. If the post cannot be
/// looked up, only some statuses allow for that.
pub async fn a_post_behind_an_error_page_is_not_sent_twice(start: StartFake) {
    let mut violations = Violations::default();
    for (status, has_picture) in [(403, true), (403, false), (408, true), (408, false), (409, false), (504, false)] {
        let harness = AdapterHarness::start(start).await;
        let account = harness.connect().await;
        let fault = InjectedFault::IntermediaryAfter { status };
        let can_look_up = harness.fake.can_look_up();
        if !harness.fake.can_fail(Call::Publish, fault) || (!can_look_up && !MAY_BE_FORWARDED.contains(&status)) {
            continue;
        }
        if !has_picture && needs_media(&account) {
            continue;
        }
        let files = if has_picture { vec![sample(harness.main_type(&account), 1)] } else { Vec::new() };
        let mut post = harness.post(&account, "behind a page", files);
        harness.fake.inject_fault(Call::Publish, fault, 1);

        let delivered = harness.deliver(&mut post).await;

        let public: Vec<_> = harness.fake.public_posts().into_iter().map(|it| it.id).collect();
        let is_right = match &delivered {
            Ok(delivery) => public == [delivery.published.platform_post_id.clone()],
            Err(AttemptError::Unknown { .. }) => !can_look_up && public.len() == 1,
            Err(_) => false,
        };
        violations.check(is_right, format!("{status}, picture: {has_picture}: {public:?}, {delivered:?}"));
    }
    violations.assert_empty();
}

pub async fn a_response_without_an_id_leaves_the_outcome_unknown(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let mut violations = Violations::default();
    let faults = [InjectedFault::CutBody, InjectedFault::EmptyBody];
    for fault in faults.into_iter().filter(|it| harness.fake.can_fail(Call::Publish, *it)) {
        let text = format!("{fault:?}");
        let post = harness.due(&account, &text, vec![sample(harness.main_type(&account), 1)]).await;
        let since = harness.clock.now();
        harness.fake.inject_fault(Call::Publish, fault, 1);

        let outcome = harness.publish(&post).await;

        let is_unknown = matches!(outcome, Err(AttemptError::Unknown { may_still_run: true, .. }));
        violations.check(is_unknown, format!("{fault:?}: {outcome:?}"));
        if harness.fake.can_look_up() {
            let found = harness.settle(&post, since, true).await.expect("it is public");
            assert_eq!(harness.fake.public_posts().pop().unwrap().id, found.platform_post_id, "{fault:?}");
        } else {
            let resolution = harness.resolve(&post, since).await;
            assert!(matches!(resolution, Resolution::Undeterminable { .. }), "{fault:?}: {resolution:?}");
        }
        assert_eq!(copies(&harness, &text), 1, "{fault:?}");
        harness.clock.advance(TimeDelta::minutes(1));
    }
    violations.assert_empty();
}

/// For each upload call, and for processing.
pub async fn response_of_an_intermediary_delays_a_file(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let mut violations = Violations::default();
    let pages = STATUSES.map(|status| InjectedFault::Intermediary { status });
    for (call, mime_type) in harness.file_calls(&account) {
        for fault in pages.into_iter().chain([InjectedFault::CutBody, InjectedFault::EmptyBody]) {
            if !harness.fake.can_fail(call, fault) {
                continue;
            }
            let text = format!("{call:?} of {mime_type:?} meets {fault:?}");
            let mut post = harness.post(&account, &text, vec![sample(mime_type, 1)]);
            let (before, public) = (harness.fake.call_count(call), harness.fake.public_posts().len());
            harness.fake.inject_fault(call, fault, 1);

            let delivered = harness.deliver(&mut post).await;

            harness.fake.inject_fault(call, fault, 0);
            if harness.fake.call_count(call) == before {
                // The platform has no such call for this file.
                break;
            }
            let copies = harness.fake.public_posts().len() - public;
            let is_right = match &delivered {
                Ok(delivery) => copies == 1 && !delivery.errors.iter().any(is_final),
                Err(_) => false,
            };
            violations.check(is_right, format!("{text}: {copies} posts, {delivered:?}"));
            harness.clock.advance(TimeDelta::minutes(1));
        }
    }
    violations.assert_empty();
}

/// The post is public all the time.
pub async fn an_error_page_at_a_look_up_proves_nothing(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    if !harness.fake.can_look_up() {
        return;
    }
    let post = harness.due(&account, "unknown outcome", vec![sample(harness.main_type(&account), 1)]).await;
    let since = harness.clock.now();
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.publish(&post).await.unwrap_err();
    harness.clock.advance(TimeDelta::minutes(5));

    let mut violations = Violations::default();
    // Some adapters look up by repeating the call, or read first how far the file is.
    let calls = [Call::LookUp, Call::Publish, Call::Process];
    for fault in STATUSES.map(|status| InjectedFault::Intermediary { status }) {
        if !harness.fake.can_fail(Call::LookUp, fault) {
            continue;
        }
        for call in calls {
            harness.fake.inject_fault(call, fault, 3);
        }
        let resolution = harness.resolve(&post, since).await;
        violations.check(matches!(resolution, Resolution::Pending { .. }), format!("{fault:?}: {resolution:?}"));
        for call in calls {
            harness.fake.inject_fault(call, fault, 0);
        }
    }
    violations.assert_empty();
    let found = harness.settle(&post, since, true).await.expect("it is public");
    let public: Vec<_> = harness.fake.public_posts().into_iter().map(|it| it.id).collect();
    assert_eq!(public, [found.platform_post_id]);
}

/// Only the platform itself can end a grant.
pub async fn an_error_page_does_not_end_a_grant(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    let mut violations = Violations::default();
    let pages = STATUSES.map(|status| InjectedFault::Intermediary { status });
    let reads = [Call::Account, Call::Exchange];
    for fault in pages {
        if !reads.iter().any(|it| harness.fake.can_fail(*it, fault)) {
            continue;
        }
        let count_reads = || reads.iter().map(|it| harness.fake.call_count(*it)).sum::<usize>();
        let before = count_reads();
        for call in reads {
            harness.fake.inject_fault(call, fault, 5);
        }
        let details =
            harness.connector().account_details(&account.profile, &account.credentials, harness.clock.now()).await;
        assert!(before < count_reads() || matches!(details, Ok(None)), "{fault:?} was not met: {details:?}");
        let is_right = !matches!(&details, Err(error) if is_final(error));
        violations.check(is_right, format!("account, {fault:?}: {details:?}"));
        for call in reads {
            harness.fake.inject_fault(call, fault, 0);
        }
    }
    if harness.can_refresh() {
        if harness.is_extending() {
            // Some platforms do not extend young tokens.
            harness.clock.advance(TimeDelta::days(2));
        }
        for fault in pages.into_iter().filter(|it| harness.fake.can_fail(Call::Refresh, *it)) {
            harness.fake.inject_fault(Call::Refresh, fault, 1);
            let refreshed = harness.refresh().await.map(|_| ());
            let is_right = matches!(refreshed, Err(RefreshError::Unreachable(_)));
            violations.check(is_right, format!("refresh, {fault:?}: {refreshed:?}"));
        }
        harness.refresh().await.unwrap();
    }
    violations.assert_empty();
}
