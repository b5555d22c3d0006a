//! The meaning of an error does not depend on the language of its message.

use chrono::TimeDelta;
use domain::media::MimeType;

use super::publishing::needs_media;
use crate::conformance::network::{Call, Decision, InjectedFault, Network};
use crate::conformance::samples::sample;
use crate::conformance::stage::Stage;

const TROUBLES: [InjectedFault; 4] = [
    InjectedFault::Unwanted,
    InjectedFault::Broken,
    InjectedFault::Unavailable,
    InjectedFault::Limited { retry_after: TimeDelta::seconds(45) },
];

/// Users set their account to their language, and some platforms write their messages in it.
pub async fn decisions_do_not_depend_on_the_language_of_refusals<N: Network>() {
    let (stage, translated) = (Stage::<N>::new().await, Stage::<N>::new().await);
    if translated.network.translate_refusals() {
        let (decided, here) = (decisions(&translated).await, decisions(&stage).await);
        let other: Vec<_> = decided.iter().zip(&here).filter(|(translated, here)| translated != here).collect();
        assert!(other.is_empty(), "translated, and not: {other:#?}");
    }
}

/// The decisions of the adapter where the platform refuses, in the order of the calls.
async fn decisions<N: Network>(stage: &Stage<N>) -> Vec<String> {
    let mut decided = Vec::new();
    if stage.network.has_page() && stage.network.checks_codes() {
        let mut forged = stage.decided(Decision::Allow).await;
        forged.query.insert(stage.network.proof().to_owned(), "forged".to_owned());
        decided.push(format!("forged: {}", kind(stage.complete(&forged).await)));
    }
    let account = stage.connect().await;
    for (call, mime_type) in
        [(Call::Publish, MimeType::Png), (Call::Upload, MimeType::Png), (Call::Process, MimeType::Mp4)]
    {
        for fault in TROUBLES.into_iter().filter(|it| stage.network.can(call, *it)) {
            let mut post = stage.post(&account, &format!("{call:?} {fault:?}"), vec![sample(mime_type, 1)]);
            stage.network.trouble(call, fault, 1);
            let prepared = stage.prepare_all(&mut post, &mut Vec::new()).await;
            stage.clock.skip_to(post.publish_at);
            let published = if prepared.is_ok() { kind(stage.publish(&post).await) } else { String::new() };
            decided.push(format!("{call:?} {fault:?}: {} {published}", kind(prepared)));
            stage.network.trouble(call, fault, 0);
            stage.clock.advance(TimeDelta::minutes(1));
        }
    }
    let files = if needs_media(&account) { vec![sample(MimeType::Png, 1)] } else { Vec::new() };
    let repeated = stage.due(&account, "said twice", files).await;
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    for _ in 0..2 {
        decided.push(format!("repeated: {}", kind(stage.publish(&repeated).await)));
        stage.clock.advance(TimeDelta::minutes(1));
    }
    let ended = stage.due(&account, "ended", vec![sample(MimeType::Png, 2)]).await;
    stage.network.end_access_tokens();
    decided.push(format!("ended: {}", kind(stage.publish(&ended).await)));
    stage.network.revoke();
    decided.push(format!("revoked: {}", kind(stage.publish(&ended).await)));
    if stage.can_renew() {
        decided.push(format!("refresh: {}", kind(stage.renew().await)));
    }
    decided
}

/// The variant with its fields before the message; times in whole seconds.
fn kind<T, E: std::fmt::Debug>(answer: Result<T, E>) -> String {
    let Err(refusal) = answer else { return "Ok".to_owned() };
    format!("{refusal:?}").split(['.', '"']).next().unwrap_or_default().to_owned()
}
