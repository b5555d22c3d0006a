use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::Containers;
use crate::caller::Caller;
use crate::kit::{CallError, Effect, ErrorKind, ErrorTable};
use crate::meta::graph::WithUsage;
use crate::meta::id::GraphId;
use crate::response;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContainerStatus {
    /// It is being processed, or awaits bytes.
    Working,
    Ready,
    Public,
    /// It failed, and so would a similar one.
    Refused {
        why: String,
    },
    /// It failed; another one may succeed.
    Lost(FailedContainer),
}

/// A container that failed, or could not be created, for a temporary reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FailedContainer {
    pub(super) why: String,
    pub(super) cause: FailureCause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureCause {
    /// Meta could not fetch the file, or gives no reason. Neither says anything about the post.
    Fetch,
    /// Meta requires a pause of this duration.
    Pause(TimeDelta),
    Other,
}

impl FailedContainer {
    pub(super) fn other(reason: impl Into<String>) -> Self {
        Self { why: reason.into(), cause: FailureCause::Other }
    }
}

pub(super) struct ContainerReport {
    pub(super) status: ContainerStatus,
    /// How many bytes of its file have arrived; `None` if all have, or if none are expected.
    pub(super) arrived: Option<u64>,
}

#[derive(Deserialize)]
struct StatusResponse {
    /// On Instagram.
    status_code: Option<String>,
    /// On Instagram a sentence, with a number in it if the container failed; on Threads like
    /// `status_code` on Instagram.
    status: Option<String>,
    /// The reason on Threads.
    error_message: Option<String>,
    /// Where bytes are sent.
    video_status: Option<VideoStatus>,
}

#[derive(Deserialize)]
struct VideoStatus {
    uploading_phase: UploadingPhase,
}

#[derive(Deserialize)]
struct UploadingPhase {
    status: String,
    #[serde(default)]
    bytes_transferred: u64,
}

/// The reasons of Threads that say nothing about the file.
const NOT_FETCHED: &[&str] = &["FAILED_DOWNLOADING_VIDEO", "UNKNOWN"];

impl StatusResponse {
    fn status(self, errors: &ErrorTable, now: DateTime<Utc>) -> ContainerStatus {
        let is_of_threads = self.status_code.is_none();
        let (state, reason) = match self.status_code {
            Some(state) => (Some(state), self.status),
            None => (self.status, self.error_message),
        };
        let reason = reason.map(|it| response::shown(&it)).filter(|it| !it.is_empty());
        match state.as_deref() {
            Some("FINISHED") => ContainerStatus::Ready,
            Some("PUBLISHED") => ContainerStatus::Public,
            Some("EXPIRED") => ContainerStatus::Lost(FailedContainer::other("it expired after a day")),
            Some("ERROR") if is_of_threads => failed_on_threads(reason),
            Some("ERROR") => failed_on_instagram(errors, reason, now),
            _ => ContainerStatus::Working,
        }
    }
}

fn fetch_failed(reason: Option<String>) -> ContainerStatus {
    let reason = reason.unwrap_or_else(|| "it gave no reason".to_owned());
    ContainerStatus::Lost(FailedContainer { why: reason, cause: FailureCause::Fetch })
}

fn failed_on_threads(reason: Option<String>) -> ContainerStatus {
    match reason {
        Some(reason) if !NOT_FETCHED.contains(&reason.as_str()) => ContainerStatus::Refused { why: reason },
        reason => fetch_failed(reason),
    }
}

/// The sentence contains a subcode, whose meaning is in the error table.
fn failed_on_instagram(errors: &ErrorTable, reason: Option<String>, now: DateTime<Utc>) -> ContainerStatus {
    let Some(reason) = reason else { return fetch_failed(None) };
    let mut numbers = reason.split(|it: char| !it.is_ascii_digit());
    let Some(subcode) = numbers.find(|it| it.len() == 7 && it.starts_with("2207")) else {
        return fetch_failed(Some(reason));
    };
    let body = json!({ "error": { "error_subcode": subcode, "message": reason } }).to_string();
    let error = errors.classify(Effect::Private, StatusCode::BAD_REQUEST, &HeaderMap::new(), body.as_bytes(), now);
    let cause = match (error.kind, error.retry_at) {
        (ErrorKind::InvalidPost | ErrorKind::Forbidden, _) => return ContainerStatus::Refused { why: reason },
        (ErrorKind::FetchFailed, _) => FailureCause::Fetch,
        (_, Some(at)) => FailureCause::Pause(at - now),
        (_, None) => FailureCause::Other,
    };
    ContainerStatus::Lost(FailedContainer { why: reason, cause })
}

pub(super) async fn read_status(
    platform: &impl Containers,
    caller: Caller<'_>,
    container: &GraphId,
    needs_upload: bool,
) -> Result<WithUsage<ContainerReport>, CallError> {
    let fields = platform.calls().status;
    let fields = if needs_upload { format!("{fields},video_status") } else { fields.to_owned() };
    let path = format!("/{container}");
    let WithUsage { body, usage } =
        platform.graph().get::<StatusResponse>(caller, &path, &[("fields", &fields)]).await?;
    let bytes_received = match &body.video_status {
        _ if !needs_upload => None,
        Some(VideoStatus { uploading_phase: it }) if it.status == "complete" => None,
        Some(VideoStatus { uploading_phase: it }) => Some(it.bytes_transferred),
        None => Some(0),
    };
    Ok(WithUsage {
        body: ContainerReport { status: body.status(platform.graph().errors(), caller.now), arrived: bytes_received },
        usage,
    })
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use serde_json::Value;

    use super::*;
    use crate::meta::errors;

    static ERRORS: ErrorTable = errors::table("Instagram");

    fn status(response: Value) -> ContainerStatus {
        serde_json::from_value::<StatusResponse>(response).unwrap().status(&ERRORS, noon())
    }

    #[test]
    fn status_is_read_on_both_platforms() {
        for (response, expected) in [
            (json!({"status_code": "IN_PROGRESS", "status": "In Progress: ..."}), ContainerStatus::Working),
            (json!({"status_code": "FINISHED", "status": "Finished: ..."}), ContainerStatus::Ready),
            (json!({"status_code": "PUBLISHED"}), ContainerStatus::Public),
            (json!({"status": "IN_PROGRESS"}), ContainerStatus::Working),
            (json!({"status": "FINISHED"}), ContainerStatus::Ready),
            (json!({"status": "PUBLISHED", "id": "7"}), ContainerStatus::Public),
            (json!({"id": "7"}), ContainerStatus::Working),
        ] {
            assert_eq!(status(response.clone()), expected, "{response}");
        }
    }

    #[test]
    fn only_documented_errors_refuse_the_file() {
        let lost = |response| match status(response) {
            ContainerStatus::Lost(lost) => Some(lost.cause),
            ContainerStatus::Refused { .. } => None,
            other => panic!("{other:?}"),
        };
        let instagram = |number| json!({"status_code": "ERROR", "status": format!("Error: failed with code {number}")});
        assert_eq!(lost(instagram(2_207_052)), Some(FailureCause::Fetch));
        assert_eq!(lost(instagram(2_207_053)), Some(FailureCause::Other));
        assert_eq!(lost(instagram(2_207_001)), Some(FailureCause::Pause(TimeDelta::hours(2))));
        assert_eq!(lost(instagram(2_207_026)), None);
        assert_eq!(lost(json!({"status_code": "ERROR"})), Some(FailureCause::Fetch));
        assert_eq!(lost(json!({"status_code": "ERROR", "status": "Error: unknown"})), Some(FailureCause::Fetch));
        assert_eq!(lost(json!({"status_code": "EXPIRED"})), Some(FailureCause::Other));
        let threads = |message| json!({"status": "ERROR", "error_message": message});
        assert_eq!(lost(threads("FAILED_DOWNLOADING_VIDEO")), Some(FailureCause::Fetch));
        assert_eq!(lost(threads("UNKNOWN")), Some(FailureCause::Fetch));
        assert_eq!(lost(json!({"status": "ERROR"})), Some(FailureCause::Fetch));
        assert_eq!(lost(threads("INVALID_ASPEC_RATIO")), None);
        assert_eq!(lost(json!({"status": "EXPIRED"})), Some(FailureCause::Other));
    }
}
