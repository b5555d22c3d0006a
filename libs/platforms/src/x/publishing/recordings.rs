//! The adapter reads responses of X, and responses from the tests of its clients.

#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use chrono::TimeDelta;

use super::{CreatedPost, Data, MediaResponse, UploadState, UploadStep, is_id, processed};
use crate::recording::Recording;
use crate::x::{Member, profile_of};

pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings.iter().filter(|(_, it)| it.status().is_success()) {
        match recording.request.as_str() {
            "POST /2/tweets" => {
                let Data { data: CreatedPost { id } } = recording.read();
                assert!(is_id(&id), "{name}");
            }
            "GET /2/users/me" => {
                let profile = profile_of(recording.read::<Data<Member>>().data).unwrap();
                assert_eq!(profile.profile_url.as_deref(), Some("https://x.com/TweepyDev"), "{name}");
            }
            "POST /2/media/upload/initialize" => {
                let Data { data: MediaResponse { id, media_key, expires_after_secs, .. } } = recording.read();
                let read = (id.as_str(), media_key.as_deref(), expires_after_secs);
                assert_eq!(read, ("test_media_id", Some("test_media_key"), Some(3_600)), "{name}");
            }
            "POST /2/media/upload/{id}/finalize" | "GET /2/media/upload" => {
                let Data { data: MediaResponse { id, processing_info, .. } } = recording.read();
                let expected = recording.body.pointer("/data/processing_info/state").and_then(|it| it.as_str());
                let is_expected = match processed(&UploadState::new(id), processing_info) {
                    UploadStep::Uploaded(_) => matches!(expected, None | Some("succeeded")),
                    UploadStep::Processing(_, pause) => {
                        expected == Some("in_progress") && pause == Some(TimeDelta::seconds(1))
                    }
                    UploadStep::Refused(_) => expected == Some("failed"),
                    UploadStep::Parts(_) => false,
                };
                assert!(is_expected, "{name}: {expected:?}");
            }
            other => panic!("{name}: no type of the adapter reads {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::super::*;
    use super::*;
    use crate::x::errors::ERRORS;

    #[test]
    fn recorded_successes_are_read() {
        read_successes(&Recording::all("x"));
    }

    #[test]
    fn recorded_errors_are_classified() {
        for (name, recording) in Recording::all("x").into_iter().filter(|(_, it)| !it.status().is_success()) {
            let (headers, now) = (recording.headers(), noon());
            let error = ERRORS.classify(Effect::Public, recording.status(), &headers, &recording.bytes(), now);
            let expected = match (recording.status().as_u16(), recording.body["detail"].as_str()) {
                (401, _) => ErrorKind::Unauthorized,
                (403, Some("You are not allowed to create a Tweet with duplicate content.")) => ErrorKind::Duplicate,
                (429, _) => ErrorKind::RateLimited,
                other => panic!("{name}: {other:?}"),
            };
            assert_eq!(error.kind, expected, "{name}: {error:?}");
        }
    }
}
