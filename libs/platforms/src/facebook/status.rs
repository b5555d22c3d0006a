//! The status of a video.
//!
//! Facts: uploading, processing and publishing have a status each: `not_started`, `in_progress`,
//! `complete` or `error`. Source: `video-api/guides/reels-publishing`, and `VideoStatus` of the
//! business SDK.

use serde::Deserialize;

use super::Facebook;
use crate::caller::Caller;
use crate::kit::CallError;
use crate::meta::WithUsage;
use crate::response;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    #[serde(rename = "video_status")]
    whole: String,
    uploading_phase: Phase,
    processing_phase: Phase,
    publishing_phase: Phase,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Phase {
    status: String,
    // The guides spell it with one r.
    #[serde(alias = "bytes_transfered")]
    bytes_transferred: u64,
    publish_status: String,
    errors: Vec<PhaseError>,
    /// Some responses have one error instead of a list.
    error: Option<PhaseError>,
}

#[derive(Debug, Deserialize)]
struct PhaseError {
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct StatusResponse {
    #[serde(default)]
    status: Status,
}

impl Phase {
    fn is(&self, status: &str) -> bool {
        self.status == status
    }
}

impl Status {
    pub(super) async fn fetch(facebook: &Facebook, caller: Caller<'_>, id: &str) -> Result<WithUsage<Self>, CallError> {
        let response = facebook.graph.get::<StatusResponse>(caller, &format!("/{id}"), &[("fields", "status")]).await?;
        Ok(WithUsage { body: response.body.status, usage: response.usage })
    }

    /// Whether all of its bytes have arrived.
    pub(super) fn is_there(&self) -> bool {
        self.uploading_phase.is("complete") || matches!(self.whole.as_str(), "upload_complete" | "ready")
    }

    pub(super) fn arrived(&self) -> u64 {
        self.uploading_phase.bytes_transferred
    }

    pub(super) fn is_worked_on(&self) -> bool {
        self.processing_phase.is("in_progress")
    }

    pub(super) fn is_expired(&self) -> bool {
        self.whole == "expired"
    }

    pub(super) fn is_public(&self) -> bool {
        self.publishing_phase.is("complete")
            && matches!(self.publishing_phase.publish_status.as_str(), "" | "published")
    }

    /// Whether the publish call was accepted and is being carried out.
    pub(super) fn is_publishing(&self) -> bool {
        self.publishing_phase.is("in_progress")
    }

    pub(super) fn failed(&self) -> Option<String> {
        let phases = [&self.uploading_phase, &self.processing_phase, &self.publishing_phase];
        if self.whole != "error" && !phases.iter().any(|it| it.is("error")) {
            return None;
        }
        let messages = phases.iter().flat_map(|it| it.errors.iter().chain(&it.error)).map(|it| it.message.as_str());
        let messages = messages.filter(|it| !it.trim().is_empty()).collect::<Vec<_>>().join("; ");
        let messages =
            if messages.is_empty() { "Facebook gave no reason".to_owned() } else { response::shown(&messages) };
        Some(format!("Facebook could not process the video: {messages}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn status(value: &Value) -> Status {
        serde_json::from_value::<StatusResponse>(json!({ "status": value })).unwrap().status
    }

    #[test]
    fn phases_are_classified() {
        let uploading = status(&json!({ "video_status": "processing",
            "uploading_phase": { "status": "in_progress", "bytes_transfered": 50_002 },
            "processing_phase": { "status": "not_started" }, "publishing_phase": { "status": "not_started" } }));
        assert_eq!((uploading.is_there(), uploading.arrived(), uploading.failed()), (false, 50_002, None));
        let uploaded = status(&json!({ "video_status": "upload_complete" }));
        assert!(uploaded.is_there() && !uploaded.is_public() && !uploaded.is_publishing());
        let public = status(&json!({ "video_status": "ready",
            "publishing_phase": { "status": "complete", "publish_status": "published", "publish_time": 1 } }));
        assert!(public.is_public());
        let draft = json!({ "publishing_phase": { "status": "complete", "publish_status": "draft" } });
        assert!(!status(&draft).is_public());
        assert!(status(&json!({ "video_status": "expired" })).is_expired());
    }

    #[test]
    fn failed_video_has_the_reason() {
        let failed = status(&json!({ "video_status": "error", "processing_phase": {
            "status": "error", "errors": [{ "code": 1_363_128, "message": "Duration too long" }] } }));
        assert_eq!(failed.failed().unwrap(), "Facebook could not process the video: Duration too long");
        assert!(status(&json!({ "video_status": "error" })).failed().unwrap().ends_with("gave no reason"));
    }
}
