use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use domain::media::MimeType;
use platforms::FieldValues;
use serde_json::{Value, json};
use url::Url;

use super::instance::Memory;
use super::instance::statuses::Status;
use super::{FlavorType, Server, account};
use crate::conformance::fake_platform::{
    Call, Decision, Detour, FakePlatform, InjectedFault, PublicMedium, PublicPost,
};
use crate::fake::oauth::decide;

#[async_trait]
impl<F: FlavorType> FakePlatform for Server<F> {
    async fn start(clock: Clock) -> Self {
        Self::begin(F::FLAVOR, clock).await
    }

    fn name(&self) -> &'static str {
        "mastodon"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn settings(&self) -> Value {
        json!({})
    }

    fn form_values(&self) -> FieldValues {
        FieldValues::from([("server".to_owned(), self.base_url().into())])
    }

    fn form_values_naming_server(&self) -> Option<FieldValues> {
        Some(self.form_values())
    }

    /// The honest server sends its issuer (RFC 9207). Where a server does not, the issuer of the
    /// authorization response is unknown: the hostile server has registered our redirect URI at the
    /// honest one.
    fn detour_target(&self) -> String {
        self.promise_issuer(self.base_url());
        self.base_url().to_owned()
    }

    fn redirect_users_to(&self, honest: &str, detour: Detour) -> bool {
        if detour == Detour::Named && !self.here.differences.metadata {
            return false;
        }
        self.here.memory().leads_to = Some((detour, honest.to_owned()));
        true
    }

    fn issued_secrets(&self) -> Vec<String> {
        self.access_tokens()
    }

    fn has_received(&self, secret: &str) -> bool {
        self.here.request_log.has(secret)
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        decide(url, account::USERNAME, decision).await
    }

    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize) {
        self.here.injected_faults().order(call, fault, count);
    }

    /// A refresh can fail only where access tokens expire. An upload is not tested with a 413 page
    /// of an intermediary: the instance's own web server refuses a large file in this way.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        (call != Call::Refresh || self.here.differences.token_lifetime.is_some())
            && (call, fault) != (Call::Upload, InjectedFault::Intermediary { status: 413 })
    }

    fn checks_codes(&self) -> bool {
        !self.here.differences.takes_any_code
    }

    fn echo_requests(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        self.here.differences.says_why
    }

    fn revoke(&self) {
        self.here.memory().oauth.revoke_all();
    }

    /// Does nothing where access tokens do not expire.
    fn end_access_tokens(&self) {
        self.here.memory().oauth.end_access_tokens(self.here.clock.now());
    }

    /// Only the message of Pleroma's error shows that a grant is gone, and snac sends no message.
    fn translate_refusals(&self) -> bool {
        self.here.injected_faults().translate();
        self.here.differences.says_why && !self.here.differences.hides_why_tokens_fail
    }

    fn publish_manual_post(&self, text: &str) {
        let now = self.here.clock.now();
        self.here.memory().add_status_by_hand(text, now);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        memory.statuses.iter().filter(|it| it.is_public()).map(|it| public_post(&memory, it)).collect()
    }

    fn grant_count(&self) -> usize {
        self.here.memory().oauth.usable()
    }

    fn call_count(&self, call: Call) -> usize {
        self.here.injected_faults().calls(call)
    }
}

fn public_post(memory: &Memory, status: &Status) -> PublicPost {
    let media = status.media.iter().filter_map(|id| memory.media.iter().find(|it| it.id == *id));
    let media = media.map(|it| PublicMedium {
        mime_type: MimeType::parse(&it.mime_type).expect("the service sends files of its own types"),
        bytes: it.bytes.to_vec(),
        alt_text: it.description.clone(),
    });
    let (id, reply_to) = (status.id.to_string(), status.parent.map(|it| it.to_string()));
    PublicPost { id, text: status.text.clone(), media: media.collect(), reply_to }
}
