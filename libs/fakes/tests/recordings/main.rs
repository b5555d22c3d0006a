//! Fakes respond like the recorded servers: same fields, types, statuses and error codes.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod bluesky;
mod discord;
mod mastodon;
mod matrix;
mod slack;
mod telegram;
mod wordpress;
mod x;

use std::collections::{BTreeMap, BTreeSet};

use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::checks::{connecting, credentials, publishing, recognition, troubles};
use fakes::conformance::fake_platform::StartFake;
use fakes::conformance::shape::{DifferenceKind, Shape, differences};
use fakes::fake::exchanges::{self, Exchange};
use platforms::recordings::{Recording, fields_read};
use serde_json::Value;

/// Differences that are known and accepted.
struct KnownDifferences {
    /// Requests whose responses differ, each with the difference and the reason.
    differences: &'static [(&'static str, &'static str, &'static str)],
    /// Recordings without a matching exchange, each with the reason.
    unmet: &'static [(&'static str, &'static str)],
}

/// The exchanges of a fake with its adapter: accounts are connected, refreshed and disconnected,
/// and posts of all kinds are published or refused. `further` adds exchanges specific to this
/// platform.
async fn exchanges_with(start: StartFake, further: impl Future<Output = ()>) -> Vec<Exchange> {
    let journey = async {
        connecting::callback_is_accepted_once(start).await;
        connecting::form_values_may_be_sufficient(start).await;
        connecting::invalid_form_values_are_refused_with_a_message(start).await;
        credentials::expired_credentials_are_refreshed(start).await;
        credentials::account_info_stays_the_same(start).await;
        credentials::revoked_grant_is_reported_as_ended(start).await;
        credentials::disconnecting_revokes_the_grant(start).await;
        publishing::text_is_published_once(start).await;
        publishing::every_supported_file_type_is_published(start).await;
        publishing::maximum_number_of_files_is_published_in_order(start).await;
        recognition::lost_post_is_found_among_manual_posts(start).await;
        troubles::refusal_is_final_and_has_the_reason(start).await;
        troubles::rate_limit_delays_the_post(start).await;
        troubles::lost_response_is_found_hours_later(start).await;
        troubles::every_fault_of_an_upload_publishes_once(start).await;
        troubles::only_an_ended_grant_asks_for_reconnection(start).await;
        choices(start).await;
        further.await;
    };
    exchanges::record_exchanges(Box::pin(journey)).await
}

/// Reads the choices of all options that a post needs.
async fn choices(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let account = harness.connect().await;
    for (option, _) in harness.fake.options().iter() {
        harness.choices(&account, option).await.unwrap();
    }
}

struct RecordedResponse<'a> {
    status: u16,
    body: &'a Value,
}

impl<'a> RecordedResponse<'a> {
    fn recorded(recording: &'a Recording) -> Self {
        Self { status: recording.status().as_u16(), body: &recording.body }
    }

    /// `None` for HTML pages and files.
    fn from_exchange(exchange: &'a Exchange) -> Option<Self> {
        Some(Self { status: exchange.status, body: exchange.body.as_ref()? })
    }

    fn is_error(&self) -> bool {
        400 <= self.status || self.body["ok"] == false
    }

    /// The machine-readable error code. Messages for people do not count.
    fn code(&self) -> Option<String> {
        let found = ["errcode", "error_code", "code", "error"].iter().find_map(|it| self.body.get(*it))?;
        let code = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
        (!code.contains(' ')).then_some(code)
    }

    /// Whether a response of a fake has the same status and code.
    fn is_like(&self, fake: &RecordedResponse) -> bool {
        let kind = |it: &RecordedResponse| (it.is_error(), it.status, it.code(), it.body.is_null());
        kind(self) == kind(fake)
    }
}

/// A recorded response, with the name of its file.
struct NamedRecording<'a> {
    name: &'a str,
    request: &'a str,
    answer: RecordedResponse<'a>,
}

/// Compares the responses of a fake with the recordings of its platform.
fn hold(platform: &str, exchanges: &[Exchange], known: &KnownDifferences) {
    let recordings = Recording::all(platform);
    let recordings: Vec<_> = recordings
        .iter()
        .map(|(name, it)| NamedRecording { name, request: &it.request, answer: RecordedResponse::recorded(it) })
        .collect();
    let mut found = BTreeSet::new();
    let mut met = BTreeSet::new();
    let mut answered: BTreeMap<&str, Shape> = BTreeMap::new();
    for exchange in exchanges {
        let Some(answer) = RecordedResponse::from_exchange(exchange) else { continue };
        let is_asked = |it: &&NamedRecording| is_same_request(it.request, &exchange.request);
        let Some(NamedRecording { request, .. }) = recordings.iter().find(is_asked) else { continue };
        // All errors of a platform have the same shape.
        let is_alike =
            |it: &&NamedRecording| it.answer.is_error() == answer.is_error() && (answer.is_error() || is_asked(it));
        let alike: Vec<_> = recordings.iter().filter(is_alike).collect();
        let shape = Shape::from_value(answer.body);
        found.extend(find_unrecorded(&alike, &shape).into_iter().map(|it| (*request, it)));
        found.extend(find_other_status(&alike, &answer).map(|it| (*request, it)));
        met.extend(alike.iter().filter(|it| it.answer.is_like(&answer)).map(|it| it.name));
        if !answer.is_error() {
            let before = answered.remove(request).unwrap_or_default();
            answered.insert(request, before.merge(shape));
        }
    }
    for (request, fields) in &fields_read(platform) {
        let Some(answered) = answered.get(request.as_str()) else { continue };
        let recorded = recordings.iter().filter(|it| it.request == request && !it.answer.is_error());
        found.extend(recorded.flat_map(|it| find_missing(it, answered, fields)));
    }
    let mut problems: Vec<_> = found
        .iter()
        .filter(|(request, it)| !known.differences.iter().any(|(of, what, _)| of == request && what == it))
        .map(|(request, it)| format!("{request}: {it}"))
        .collect();
    let is_found = |request: &str, what: &str| found.iter().any(|(of, it)| *of == request && it == what);
    let outdated = known.differences.iter().filter(|(request, what, _)| !is_found(request, what));
    problems.extend(outdated.map(|(request, what, _)| format!("{request}: no longer {what}")));
    let names: BTreeSet<_> = recordings.iter().map(|it| it.name).collect();
    let unmet: BTreeSet<_> = known.unmet.iter().map(|(name, _)| *name).collect();
    problems
        .extend(names.difference(&met).filter(|it| !unmet.contains(*it)).map(|it| format!("no answer is like {it}")));
    problems.extend(unmet.intersection(&met).map(|it| format!("an answer is like {it}")));
    assert!(problems.is_empty(), "{platform}:\n{}", problems.join("\n"));
}

/// Fields that only the fake has. A real server may have more fields than a fake.
fn find_unrecorded(alike: &[&NamedRecording], shape: &Shape) -> Vec<String> {
    let Some(recorded) = alike.iter().map(|it| Shape::from_value(it.answer.body)).reduce(Shape::merge) else {
        return Vec::new();
    };
    let found = differences(&recorded, shape).into_iter().filter(|it| it.kind != DifferenceKind::Missing);
    found.map(|it| it.to_string()).collect()
}

/// A status that is in no recording, for a success or for an error with this code.
fn find_other_status(alike: &[&NamedRecording], answer: &RecordedResponse) -> Option<String> {
    let is_alike = |it: &RecordedResponse| match answer.code() {
        // Any server error may have a general code.
        Some(code) if answer.is_error() => answer.status < 500 && it.code() == Some(code),
        _ => !answer.is_error(),
    };
    let recorded: BTreeSet<_> = alike.iter().filter(|it| is_alike(&it.answer)).map(|it| it.answer.status).collect();
    let is_other = !recorded.is_empty() && !recorded.contains(&answer.status);
    is_other.then(|| format!("{} {:?}, recorded with {recorded:?}", answer.status, answer.code()))
}

/// Fields that an adapter reads from a recording and the fake never sends.
fn find_missing<'a>(
    recorded: &NamedRecording<'a>,
    answered: &Shape,
    fields_read: &BTreeSet<String>,
) -> Vec<(&'a str, String)> {
    let found = differences(&Shape::from_value(recorded.answer.body), answered);
    let is_read = |path: &str| fields_read.iter().any(|it| it == path || it.starts_with(&format!("{path}/")));
    let missing = found.into_iter().filter(|it| it.kind == DifferenceKind::Missing && is_read(&it.path));
    missing.map(|it| (recorded.request, it.to_string())).collect()
}

/// Whether a fake and a recorded server received the same request. Braces in the recorded request
/// match any text within a segment. The paths of some recordings are below the API's base path,
/// such as `/api/v10`.
fn is_same_request(recorded: &str, asked: &str) -> bool {
    let (Some((method, recorded)), Some((asked_method, asked))) = (recorded.split_once(' '), asked.split_once(' '))
    else {
        return false;
    };
    let is_segment = |recorded: &str, asked: &str| match (recorded.split_once('{'), recorded.rsplit_once('}')) {
        (Some((start, _)), Some((_, end))) => asked.starts_with(start) && asked.ends_with(end),
        _ => recorded == asked,
    };
    let recorded: Vec<_> = recorded.trim_matches('/').rsplit('/').collect();
    let asked: Vec<_> = asked.trim_matches('/').rsplit('/').collect();
    method == asked_method
        && recorded.len() <= asked.len()
        && recorded.iter().zip(&asked).all(|(recorded, asked)| is_segment(recorded, asked))
}
