//! Injected faults, and `FakePlatform` for the conformance suite.

use axum::response::{IntoResponse, Response};
use domain::media::MimeType;
use http::request::Parts;
use serde_json::Value;

use super::api::{error, is_in};
use super::videos::{Video, defaults};
use super::{Fake, Youtube};
use crate::conformance::fake_platform::{Call, FakePlatform, InjectedFault, PublicPost};
use crate::fake::fake_platform::{comment, medium, oauth_fake_platform};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::{Fault, classify_token_call};
use crate::google::oauth::token_error;

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = &["/error/message", "/error/errors/0/message", "/error_description"];

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        match (head.method.as_str(), head.uri.path()) {
            ("POST", "/token") => Some(classify_token_call(head, body)),
            ("POST", "/revoke") => Some(Call::Revoke),
            ("GET", "/youtube/v3/channels") => Some(Call::Account),
            ("PUT", "/upload/youtube/v3/videos") => (!body.is_empty()).then_some(Call::Upload),
            ("GET", "/youtube/v3/videos") if head.uri.query()?.contains("processingDetails") => Some(Call::Process),
            ("GET", "/youtube/v3/videos" | "/youtube/v3/commentThreads") => Some(Call::LookUp),
            ("POST", "/youtube/v3/commentThreads") => Some(Call::Publish),
            ("PUT", "/youtube/v3/videos") => {
                let video: Value = serde_json::from_slice(body).ok()?;
                is_in("public unlisted", video["status"]["privacyStatus"].as_str()?).then_some(Call::Publish)
            }
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        let (code, reason, message) = match (call, fault) {
            (Call::Exchange | Call::Refresh, InjectedFault::Refused) => {
                return token_error(&Fault::InvalidGrant("the refresh token is revoked"));
            }
            (Call::Upload, InjectedFault::Refused) => (400, "invalidVideoMetadata", "The request metadata is invalid."),
            (_, InjectedFault::Refused) => (403, "forbiddenPrivacySetting", "The privacy setting is invalid."),
            (_, InjectedFault::RateLimited { .. }) => (429, "rateLimitExceeded", "Too many requests per minute."),
            (_, InjectedFault::Unavailable) => (503, "backendError", "The service is currently unavailable."),
            _ => (500, "backendError", "Backend Error"),
        };
        error(code, "youtube.video", reason, message).into_response()
    }

    fn inject_fault(&self, head: &Parts) {
        let query = head.uri.query().unwrap_or_default();
        self.memory().videos.iter_mut().for_each(|it| it.is_spoiled |= query.contains(&it.id));
    }
}

impl FakePlatform for Youtube {
    oauth_fake_platform!("youtube");

    fn has_alt_texts(&self, _: MimeType) -> bool {
        false
    }

    /// YouTube refuses angle brackets: the adapter replaces them.
    fn displayed_text(&self, text: &str) -> String {
        text.replace('<', "‹").replace('>', "›")
    }

    /// YouTube does not say when it accepts calls again.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        call != Call::Publish || !matches!(fault, InjectedFault::RateLimited { .. })
    }

    fn publish_manual_post(&self, text: &str) {
        let mut parts = defaults();
        parts["snippet"]["title"] = "By hand".into();
        parts["snippet"]["description"] = text.into();
        self.fake.memory().add(parts, Vec::new(), self.fake.clock.now());
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let mut videos = self.videos();
        videos.retain(|it| it.public_number.is_some());
        videos.sort_by_key(|it| it.public_number);
        videos.into_iter().map(public_post).collect()
    }

    fn comments(&self) -> Option<Vec<PublicPost>> {
        let text = |thread: &Value, pointer: &str| thread.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let post = |it: &Value| {
            let words = text(it, "/snippet/topLevelComment/snippet/textOriginal");
            comment(&text(it, "/id"), &words, &text(it, "/snippet/videoId"))
        };
        Some(self.fake.memory().comments.iter().map(post).collect())
    }
}

fn public_post(video: Video) -> PublicPost {
    let text = video.parts["snippet"]["description"].as_str().unwrap().to_owned();
    let bytes = Some(video.bytes).filter(|it| !it.is_empty());
    PublicPost { id: video.id, text, media: bytes.map(|it| medium(it, None)).into_iter().collect(), reply_to: None }
}
