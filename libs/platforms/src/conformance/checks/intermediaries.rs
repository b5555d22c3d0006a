//! Responses that do not come from the platform, or not as it sent them: error pages of proxies,
//! CDNs and firewalls, and bodies that are cut off or missing.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;

use super::publishing::needs_media;
use crate::conformance::network::{Call, InjectedFault, Network};
use crate::conformance::samples::sample;
use crate::conformance::stage::Stage;
use crate::connect_flow::RefreshError;

/// Statuses that nginx, Cloudflare and firewalls send themselves; 5xx is in `troubles.rs`.
const STATUSES: [u16; 6] = [400, 401, 403, 404, 408, 413];

/// Statuses with which an intermediary may respond to a call that it has forwarded.
const MAY_BE_FORWARDED: [u16; 5] = [408, 409, 499, 502, 504];

/// The violations that a check finds. All statuses are tried before it fails.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn unless(&mut self, is_right: bool, what: String) {
        if !is_right {
            self.0.push(what);
        }
    }

    fn none(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

fn ends_the_post(setback: &AttemptError) -> bool {
    matches!(setback, AttemptError::Refused { .. } | AttemptError::Unauthorized { .. })
}

fn copies<N: Network>(stage: &Stage<N>, text: &str) -> usize {
    let shown = stage.network.shown(text);
    stage.network.public().iter().filter(|it| it.text == shown).count()
}

/// Each page once, and twice in a row. An intermediary cannot refuse a post, and says nothing about
/// its grant.
pub async fn an_error_page_at_the_publish_call_delays_the_post<N: Network>() {
    let stage = Stage::<N>::new().await;
    let account = stage.connect().await;
    let mut wrong = Wrong::default();
    let later = MAY_BE_FORWARDED.into_iter().filter(|it| !STATUSES.contains(it));
    for status in STATUSES.into_iter().chain(later) {
        let fault = InjectedFault::Intermediary { status };
        if !stage.network.can(Call::Publish, fault) {
            continue;
        }
        for count in [1, 2] {
            let before = stage.network.calls(Call::Publish);
            let text = format!("behind {count} pages with {status}");
            let mut post = stage.post(&account, &text, vec![sample(MimeType::Png, 1)]);
            stage.network.trouble(Call::Publish, fault, count);

            let delivered = stage.deliver(&mut post).await;

            let copies = copies(&stage, &text);
            let is_right = match &delivered {
                Ok(passage) => copies == 1 && !passage.setbacks.iter().any(ends_the_post),
                // The platform may have the request, and the post cannot be looked up.
                Err(AttemptError::Unknown { .. }) => {
                    let is_sent_once = stage.network.calls(Call::Publish) == before + 1;
                    MAY_BE_FORWARDED.contains(&status) && !stage.network.can_be_asked() && is_sent_once
                }
                Err(_) => false,
            };
            wrong.unless(is_right, format!("{text}: {copies} posts, {delivered:?}"));
            stage.network.trouble(Call::Publish, fault, 0);
            stage.clock.advance(TimeDelta::minutes(1));
        }
    }
    wrong.none();
}

/// An intermediary replaced the response to a call that was carried out. If the post cannot be
/// looked up, only some statuses allow for that.
pub async fn a_post_behind_an_error_page_is_not_sent_twice<N: Network>() {
    let mut wrong = Wrong::default();
    for (status, has_picture) in [(403, true), (403, false), (408, true), (408, false), (409, false), (504, false)] {
        let stage = Stage::<N>::new().await;
        let account = stage.connect().await;
        let fault = InjectedFault::IntermediaryAfter { status };
        let can_be_asked = stage.network.can_be_asked();
        if !stage.network.can(Call::Publish, fault) || (!can_be_asked && !MAY_BE_FORWARDED.contains(&status)) {
            continue;
        }
        if !has_picture && needs_media(&account) {
            continue;
        }
        let files = if has_picture { vec![sample(MimeType::Png, 1)] } else { Vec::new() };
        let mut post = stage.post(&account, "behind a page", files);
        stage.network.trouble(Call::Publish, fault, 1);

        let delivered = stage.deliver(&mut post).await;

        let public: Vec<_> = stage.network.public().into_iter().map(|it| it.id).collect();
        let is_right = match &delivered {
            Ok(passage) => public == [passage.published.platform_post_id.clone()],
            Err(AttemptError::Unknown { .. }) => !can_be_asked && public.len() == 1,
            Err(_) => false,
        };
        wrong.unless(is_right, format!("{status}, picture: {has_picture}: {public:?}, {delivered:?}"));
    }
    wrong.none();
}

/// The call was carried out, and its response has no id.
pub async fn a_response_without_an_id_leaves_the_outcome_unknown<N: Network>() {
    let stage = Stage::<N>::new().await;
    let account = stage.connect().await;
    let mut wrong = Wrong::default();
    let troubles = [InjectedFault::CutBody, InjectedFault::EmptyBody];
    for fault in troubles.into_iter().filter(|it| stage.network.can(Call::Publish, *it)) {
        let text = format!("{fault:?}");
        let post = stage.due(&account, &text, vec![sample(MimeType::Png, 1)]).await;
        let since = stage.clock.now();
        stage.network.trouble(Call::Publish, fault, 1);

        let outcome = stage.publish(&post).await;

        let is_unknown = matches!(outcome, Err(AttemptError::Unknown { may_still_run: true, .. }));
        wrong.unless(is_unknown, format!("{fault:?}: {outcome:?}"));
        if stage.network.can_be_asked() {
            let found = stage.settle(&post, since, true).await.expect("it is public");
            assert_eq!(stage.network.public().pop().unwrap().id, found.platform_post_id, "{fault:?}");
        } else {
            let answer = stage.resolve(&post, since).await;
            assert!(matches!(answer, Resolution::Undeterminable { .. }), "{fault:?}: {answer:?}");
        }
        assert_eq!(copies(&stage, &text), 1, "{fault:?}");
        stage.clock.advance(TimeDelta::minutes(1));
    }
    wrong.none();
}

/// For each upload call, and for processing.
pub async fn response_of_an_intermediary_delays_a_file<N: Network>() {
    let stage = Stage::<N>::new().await;
    let account = stage.connect().await;
    let mut wrong = Wrong::default();
    let pages = STATUSES.map(|status| InjectedFault::Intermediary { status });
    for (call, mime_type) in
        [(Call::Upload, MimeType::Png), (Call::Process, MimeType::Mp4), (Call::Upload, MimeType::Mp4)]
    {
        for fault in pages.into_iter().chain([InjectedFault::CutBody, InjectedFault::EmptyBody]) {
            if !stage.network.can(call, fault) {
                continue;
            }
            let text = format!("{call:?} of {mime_type:?} meets {fault:?}");
            let mut post = stage.post(&account, &text, vec![sample(mime_type, 1)]);
            let before = stage.network.calls(call);
            stage.network.trouble(call, fault, 1);

            let delivered = stage.deliver(&mut post).await;

            stage.network.trouble(call, fault, 0);
            if stage.network.calls(call) == before {
                // The platform has no such call for this file.
                break;
            }
            let copies = copies(&stage, &text);
            let is_right = match &delivered {
                Ok(passage) => copies == 1 && !passage.setbacks.iter().any(ends_the_post),
                Err(_) => false,
            };
            wrong.unless(is_right, format!("{text}: {copies} posts, {delivered:?}"));
            stage.clock.advance(TimeDelta::minutes(1));
        }
    }
    wrong.none();
}

/// The post is public all the time.
pub async fn an_error_page_at_a_look_up_proves_nothing<N: Network>() {
    let stage = Stage::<N>::new().await;
    let account = stage.connect().await;
    if !stage.network.can_be_asked() {
        return;
    }
    let post = stage.due(&account, "unknown outcome", vec![sample(MimeType::Png, 1)]).await;
    let since = stage.clock.now();
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    stage.publish(&post).await.unwrap_err();
    stage.clock.advance(TimeDelta::minutes(5));

    let mut wrong = Wrong::default();
    // Some adapters look up by repeating the call, or read first how far the file is.
    let calls = [Call::LookUp, Call::Publish, Call::Process];
    for fault in STATUSES.map(|status| InjectedFault::Intermediary { status }) {
        if !stage.network.can(Call::LookUp, fault) {
            continue;
        }
        for call in calls {
            stage.network.trouble(call, fault, 3);
        }
        let answer = stage.resolve(&post, since).await;
        wrong.unless(matches!(answer, Resolution::Pending { .. }), format!("{fault:?}: {answer:?}"));
        for call in calls {
            stage.network.trouble(call, fault, 0);
        }
    }
    wrong.none();
    let found = stage.settle(&post, since, true).await.expect("it is public");
    let public: Vec<_> = stage.network.public().into_iter().map(|it| it.id).collect();
    assert_eq!(public, [found.platform_post_id]);
}

/// Only the platform itself can end a grant.
pub async fn an_error_page_does_not_end_a_grant<N: Network>() {
    let stage = Stage::<N>::new().await;
    let account = stage.connect().await;
    let mut wrong = Wrong::default();
    let pages = STATUSES.map(|status| InjectedFault::Intermediary { status });
    let reads = [Call::Account, Call::Exchange];
    for fault in pages {
        if !reads.iter().any(|it| stage.network.can(*it, fault)) {
            continue;
        }
        let asked = || reads.iter().map(|it| stage.network.calls(*it)).sum::<usize>();
        let before = asked();
        for call in reads {
            stage.network.trouble(call, fault, 5);
        }
        let said = stage.connecting().about(&account.profile, &account.credentials, stage.clock.now()).await;
        assert!(before < asked() || matches!(said, Ok(None)), "{fault:?} was not met: {said:?}");
        let is_right = !matches!(&said, Err(setback) if ends_the_post(setback));
        wrong.unless(is_right, format!("account, {fault:?}: {said:?}"));
        for call in reads {
            stage.network.trouble(call, fault, 0);
        }
    }
    if stage.can_renew() {
        if stage.renews_what_lives() {
            // Some platforms do not extend young tokens.
            stage.clock.advance(TimeDelta::days(2));
        }
        for fault in pages.into_iter().filter(|it| stage.network.can(Call::Refresh, *it)) {
            stage.network.trouble(Call::Refresh, fault, 1);
            let renewed = stage.renew().await.map(|_| ());
            let is_right = matches!(renewed, Err(RefreshError::Unreachable(_)));
            wrong.unless(is_right, format!("refresh, {fault:?}: {renewed:?}"));
        }
        stage.renew().await.unwrap();
    }
    wrong.none();
}
