//! The status of a container.

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::Containers;
use crate::caller::Caller;
use crate::kit::{CallError, Effect, ErrorKind, ErrorTable};
use crate::meta::graph::Answered;
use crate::meta::id::GraphId;
use crate::response;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is being processed, or awaits bytes.
    Working,
    Ready,
    Public,
    /// It failed, and so would a similar one.
    Refused {
        why: String,
    },
    /// It failed; another one may succeed.
    Lost(Lost),
}

/// A container that failed, or could not be created, for a temporary reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// For the user.
    pub(super) why: String,
    pub(super) cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Meta could not fetch the file, or gives no reason. Neither says anything about the post.
    Fetch,
    /// Meta requires a pause of this duration.
    Pause(TimeDelta),
    Other,
}

impl Lost {
    /// A container that cannot be used.
    pub(super) fn other(reason: impl Into<String>) -> Self {
        Self { why: reason.into(), cause: Cause::Other }
    }
}

/// A container as Meta reports it.
pub(super) struct Report {
    pub(super) standing: Standing,
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
    fn standing(self, errors: &ErrorTable, now: DateTime<Utc>) -> Standing {
        let is_of_threads = self.status_code.is_none();
        let (state, reason) = match self.status_code {
            Some(state) => (Some(state), self.status),
            None => (self.status, self.error_message),
        };
        let reason = reason.map(|it| response::shown(&it)).filter(|it| !it.is_empty());
        match state.as_deref() {
            Some("FINISHED") => Standing::Ready,
            Some("PUBLISHED") => Standing::Public,
            Some("EXPIRED") => Standing::Lost(Lost::other("it expired after a day")),
            Some("ERROR") if is_of_threads => failed_on_threads(reason),
            Some("ERROR") => failed_on_instagram(errors, reason, now),
            _ => Standing::Working,
        }
    }
}

fn fetch_failed(reason: Option<String>) -> Standing {
    let reason = reason.unwrap_or_else(|| "it gave no reason".to_owned());
    Standing::Lost(Lost { why: reason, cause: Cause::Fetch })
}

fn failed_on_threads(reason: Option<String>) -> Standing {
    match reason {
        Some(reason) if !NOT_FETCHED.contains(&reason.as_str()) => Standing::Refused { why: reason },
        reason => fetch_failed(reason),
    }
}

/// The sentence contains a subcode, whose meaning is in the error table.
fn failed_on_instagram(errors: &ErrorTable, reason: Option<String>, now: DateTime<Utc>) -> Standing {
    let Some(reason) = reason else { return fetch_failed(None) };
    let mut numbers = reason.split(|it: char| !it.is_ascii_digit());
    let Some(subcode) = numbers.find(|it| it.len() == 7 && it.starts_with("2207")) else {
        return fetch_failed(Some(reason));
    };
    let body = json!({ "error": { "error_subcode": subcode, "message": reason } }).to_string();
    let error = errors.classify(Effect::Private, StatusCode::BAD_REQUEST, &HeaderMap::new(), body.as_bytes(), now);
    let cause = match (error.kind, error.retry_at) {
        (ErrorKind::InvalidPost | ErrorKind::Forbidden, _) => return Standing::Refused { why: reason },
        (ErrorKind::FetchFailed, _) => Cause::Fetch,
        (_, Some(at)) => Cause::Pause(at - now),
        (_, None) => Cause::Other,
    };
    Standing::Lost(Lost { why: reason, cause })
}

/// Reads the status of a container, and how much of its file has arrived if bytes are sent.
pub(super) async fn ask(
    platform: &impl Containers,
    caller: Caller<'_>,
    container: &GraphId,
    needs_upload: bool,
) -> Result<Answered<Report>, CallError> {
    let fields = platform.calls().standing;
    let fields = if needs_upload { format!("{fields},video_status") } else { fields.to_owned() };
    let path = format!("/{container}");
    let Answered { body, usage } =
        platform.graph().get::<StatusResponse>(caller, &path, &[("fields", &fields)]).await?;
    let bytes_received = match &body.video_status {
        _ if !needs_upload => None,
        Some(VideoStatus { uploading_phase: it }) if it.status == "complete" => None,
        Some(VideoStatus { uploading_phase: it }) => Some(it.bytes_transferred),
        None => Some(0),
    };
    Ok(Answered {
        body: Report { standing: body.standing(platform.graph().errors(), caller.now), arrived: bytes_received },
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

    fn standing(response: Value) -> Standing {
        serde_json::from_value::<StatusResponse>(response).unwrap().standing(&ERRORS, noon())
    }

    #[test]
    fn status_is_read_on_both_platforms() {
        for (response, expected) in [
            (json!({"status_code": "IN_PROGRESS", "status": "In Progress: ..."}), Standing::Working),
            (json!({"status_code": "FINISHED", "status": "Finished: ..."}), Standing::Ready),
            (json!({"status_code": "PUBLISHED"}), Standing::Public),
            (json!({"status": "IN_PROGRESS"}), Standing::Working),
            (json!({"status": "FINISHED"}), Standing::Ready),
            (json!({"status": "PUBLISHED", "id": "7"}), Standing::Public),
            (json!({"id": "7"}), Standing::Working),
        ] {
            assert_eq!(standing(response.clone()), expected, "{response}");
        }
    }

    #[test]
    fn only_documented_errors_refuse_the_file() {
        let lost = |response| match standing(response) {
            Standing::Lost(lost) => Some(lost.cause),
            Standing::Refused { .. } => None,
            other => panic!("{other:?}"),
        };
        let instagram = |number| json!({"status_code": "ERROR", "status": format!("Error: failed with code {number}")});
        assert_eq!(lost(instagram(2_207_052)), Some(Cause::Fetch));
        assert_eq!(lost(instagram(2_207_053)), Some(Cause::Other));
        assert_eq!(lost(instagram(2_207_001)), Some(Cause::Pause(TimeDelta::hours(2))));
        assert_eq!(lost(instagram(2_207_026)), None);
        assert_eq!(lost(json!({"status_code": "ERROR"})), Some(Cause::Fetch));
        assert_eq!(lost(json!({"status_code": "ERROR", "status": "Error: unknown"})), Some(Cause::Fetch));
        assert_eq!(lost(json!({"status_code": "EXPIRED"})), Some(Cause::Other));
        let threads = |message| json!({"status": "ERROR", "error_message": message});
        assert_eq!(lost(threads("FAILED_DOWNLOADING_VIDEO")), Some(Cause::Fetch));
        assert_eq!(lost(threads("UNKNOWN")), Some(Cause::Fetch));
        assert_eq!(lost(json!({"status": "ERROR"})), Some(Cause::Fetch));
        assert_eq!(lost(threads("INVALID_ASPEC_RATIO")), None);
        assert_eq!(lost(json!({"status": "EXPIRED"})), Some(Cause::Other));
    }
}
