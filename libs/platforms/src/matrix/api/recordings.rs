//! The adapter reads the examples of the specification of Matrix.

use chrono::TimeDelta;
use domain::testing::noon;

use super::{
    JoinedRooms, LoggedIn, Login, MediaConfig, Messages, Named, Sent, Tokens, Uploaded, Versions, WhoAmI, is_content,
};
use crate::recordings::Recording;

/// Reads all responses of success.
pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings.iter().filter(|(_, it)| it.status().is_success()) {
        match recording.request.as_str() {
            "GET /_matrix/client/v3/login" => assert_eq!(recording.read::<Login>().flows.len(), 2, "{name}"),
            "POST /_matrix/client/v3/login" => {
                let LoggedIn { user_id, tokens } = recording.read();
                assert_eq!(user_id, "@cheeky_monkey:matrix.org", "{name}");
                assert_eq!(tokens.expires_at(noon()), Some(noon() + TimeDelta::minutes(1)), "{name}");
            }
            "POST /_matrix/client/v3/refresh" => assert!(recording.read::<Tokens>().refresh_token.is_some(), "{name}"),
            "GET /_matrix/client/v3/account/whoami" => {
                assert_eq!(recording.read::<WhoAmI>().user_id, "@joe:example.org", "{name}");
            }
            "GET /_matrix/client/v3/joined_rooms" => {
                assert_eq!(recording.read::<JoinedRooms>().joined_rooms, ["!foo:example.com"], "{name}");
            }
            "PUT /_matrix/client/v3/rooms/{id}/send/{id}/{id}" => {
                assert_eq!(recording.read::<Sent>().event_id, "$YUwRidLecu:example.com", "{name}");
            }
            "GET /_matrix/client/v3/rooms/{id}/messages" => {
                let Messages { chunk, end } = recording.read();
                assert!(chunk.iter().all(|it| it.at().is_some() && it.transaction().is_none()), "{name}");
                assert_eq!(end.as_deref(), Some("t47409-4357353_219380_26003_2265"), "{name}");
            }
            "GET /_matrix/client/v3/profile/{id}" => {
                assert_eq!(recording.read::<Named>().displayname.as_deref(), Some("Alice Margatroid"), "{name}");
            }
            "GET /_matrix/client/versions" => assert_eq!(recording.read::<Versions>().versions.len(), 2, "{name}"),
            "POST /_matrix/media/v3/upload" => {
                assert!(is_content(&recording.read::<Uploaded>().content_uri), "{name}");
            }
            "GET /_matrix/client/v1/media/config" => {
                assert_eq!(recording.read::<MediaConfig>().upload_size, Some(50_000_000), "{name}");
            }
            other => panic!("{name}: no type of the adapter reads {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;
    use crate::kit::ErrorKind;
    use crate::matrix::errors::is_gone;

    #[test]
    fn recorded_responses_of_success_are_read() {
        read_successes(&Recording::all("matrix"));
    }

    #[test]
    fn recorded_errors_mean_what_the_specification_says() {
        for (name, recording) in Recording::all("matrix").into_iter().filter(|(_, it)| !it.status().is_success()) {
            let (headers, now) = (recording.headers(), noon());
            let error = ERRORS.classify(Effect::Public, recording.status(), &headers, &recording.bytes(), now);
            let expected = match recording.body["errcode"].as_str() {
                Some("M_UNKNOWN_TOKEN") => ErrorKind::Unauthorized,
                Some("M_LIMIT_EXCEEDED") => ErrorKind::RateLimited,
                Some("M_USER_LOCKED") => ErrorKind::Unavailable,
                Some("M_FORBIDDEN" | "M_USER_SUSPENDED") => ErrorKind::Forbidden,
                Some("M_NOT_FOUND" | "M_UNKNOWN" | "M_UNRECOGNIZED") => ErrorKind::InvalidPost,
                other => panic!("{name}: {other:?}"),
            };
            assert_eq!(error.kind, expected, "{name}: {error:?}");
            let retry_at = recording.body["retry_after_ms"].as_i64().map(|it| now + TimeDelta::milliseconds(it));
            assert_eq!(error.retry_at, retry_at, "{name}");
            assert!(
                error.kind != ErrorKind::Unauthorized || is_gone(&error),
                "{name}: a refresh with it ends the grant"
            );
        }
    }
}
