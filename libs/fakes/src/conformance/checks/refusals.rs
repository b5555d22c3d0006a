//! The meaning of an error does not depend on the language of its message.

use chrono::TimeDelta;
use domain::media::MimeType;

use crate::conformance::adapter_harness::AdapterHarness;
use crate::conformance::fake_platform::{Call, Decision, InjectedFault, StartFake};
use crate::conformance::samples::sample;

const TROUBLES: [InjectedFault; 4] = [
    InjectedFault::Refused,
    InjectedFault::ServerError,
    InjectedFault::Unavailable,
    InjectedFault::RateLimited { retry_after: TimeDelta::seconds(45) },
];

/// Users set their account to their language, and some platforms write their messages in it.
pub async fn decisions_do_not_depend_on_the_language_of_refusals(start: StartFake) {
    let (harness, translated) = (AdapterHarness::start(start).await, AdapterHarness::start(start).await);
    if translated.fake.translate_refusals() {
        let (translated_decisions, plain_decisions) = (decisions(&translated).await, decisions(&harness).await);
        let differing: Vec<_> = translated_decisions
            .iter()
            .zip(&plain_decisions)
            .filter(|(translated, plain_decisions)| translated != plain_decisions)
            .collect();
        assert!(differing.is_empty(), "translated, and not: {differing:#?}");
    }
}

/// The decisions of the adapter where the platform refuses, in the order of the calls.
async fn decisions(harness: &AdapterHarness) -> Vec<String> {
    let mut decided = Vec::new();
    if harness.fake.has_authorization_page() && harness.fake.checks_codes() {
        let mut forged = harness.callback_after(Decision::Allow).await;
        forged.query.insert(harness.fake.proof_parameter().to_owned(), "forged".to_owned());
        decided.push(format!("forged: {}", kind(harness.complete(&forged).await)));
    }
    let account = harness.connect().await;
    for (call, mime_type) in [
        (Call::Publish, harness.main_type(&account)),
        (Call::Upload, harness.main_type(&account)),
        (Call::Process, MimeType::Mp4),
    ] {
        for fault in TROUBLES.into_iter().filter(|it| harness.fake.can_fail(call, *it)) {
            let mut post = harness.post(&account, &format!("{call:?} {fault:?}"), vec![sample(mime_type, 1)]);
            harness.fake.inject_fault(call, fault, 1);
            let prepared = harness.prepare_all(&mut post, &mut Vec::new()).await;
            harness.clock.skip_to(post.publish_at);
            let published = if prepared.is_ok() { kind(harness.publish(&post).await) } else { String::new() };
            decided.push(format!("{call:?} {fault:?}: {} {published}", kind(prepared)));
            harness.fake.inject_fault(call, fault, 0);
            harness.clock.advance(TimeDelta::minutes(1));
        }
    }
    let files = harness.required_files(&account, 1);
    let repeated = harness.due(&account, "said twice", files).await;
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    for _ in 0..2 {
        decided.push(format!("repeated: {}", kind(harness.publish(&repeated).await)));
        harness.clock.advance(TimeDelta::minutes(1));
    }
    let ended = harness.due(&account, "ended", vec![sample(harness.main_type(&account), 2)]).await;
    harness.fake.end_access_tokens();
    decided.push(format!("ended: {}", kind(harness.publish(&ended).await)));
    harness.fake.revoke();
    decided.push(format!("revoked: {}", kind(harness.publish(&ended).await)));
    if harness.can_refresh() {
        decided.push(format!("refresh: {}", kind(harness.refresh().await)));
    }
    decided
}

/// The variant with its fields before the message; times in whole seconds.
fn kind<T, E: std::fmt::Debug>(result: Result<T, E>) -> String {
    let Err(error) = result else { return "Ok".to_owned() };
    format!("{error:?}").split(['.', '"']).next().unwrap_or_default().to_owned()
}
