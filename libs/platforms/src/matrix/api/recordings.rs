//! The adapter reads the examples of the Matrix specification, and responses of Synapse in files
//! `real-*`.

use chrono::TimeDelta;
use domain::testing::noon;
use serde_json::Value;

use super::{
    JoinedRooms, LoggedIn, Login, MediaConfig, Messages, Named, RoomEvent, Sent, Tokens, Uploaded, Versions, WhoAmI,
    is_mxc_uri,
};
use crate::recording::Recording;

pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings.iter().filter(|(_, it)| it.status().is_success()) {
        let is_recorded = name.starts_with("real-");
        match recording.request.as_str() {
            "GET /_matrix/client/v3/login" => assert_eq!(recording.read::<Login>().flows.len(), 2, "{name}"),
            "POST /_matrix/client/v3/login" => {
                let LoggedIn { user_id, tokens } = recording.read();
                assert!(user_id.starts_with('@'), "{name}");
                let life = tokens.expires_at(noon()).map(|it| it - noon());
                // Recorded numbers have only their magnitude.
                assert_eq!(life, Some(TimeDelta::seconds(if is_recorded { 10 } else { 60 })), "{name}");
            }
            "POST /_matrix/client/v3/refresh" => assert!(recording.read::<Tokens>().refresh_token.is_some(), "{name}"),
            "GET /_matrix/client/v3/account/whoami" => {
                assert_eq!(recording.read::<WhoAmI>().user_id, "@joe:example.org", "{name}");
            }
            "GET /_matrix/client/v3/joined_rooms" => {
                assert_eq!(recording.read::<JoinedRooms>().joined_rooms, ["!foo:example.com"], "{name}");
            }
            "PUT /_matrix/client/v3/rooms/{id}/send/{id}/{id}"
            | "PUT /_matrix/client/v3/rooms/{id}/send/m.room.message/{id}" => {
                assert!(recording.read::<Sent>().event_id.starts_with('$'), "{name}");
            }
            "GET /_matrix/client/v3/rooms/{id}/messages" => {
                let Messages { chunk, end } = recording.read();
                // Only the device that sent a message receives its transaction id.
                let is_read = |it: &RoomEvent| it.at().is_some() && it.transaction().is_some() == is_recorded;
                assert!(!chunk.is_empty() && chunk.iter().all(is_read), "{name}");
                assert!(end.is_some(), "{name}");
            }
            "GET /_matrix/client/v3/profile/{id}" => {
                assert!(recording.read::<Named>().displayname.is_some(), "{name}");
            }
            "GET /_matrix/client/v3/rooms/{id}/state/m.room.create" => {
                let create: Value = recording.read();
                assert!(create["content"]["room_version"].is_string() && create["sender"].is_string(), "{name}");
            }
            "GET /_matrix/client/v3/rooms/{id}/state/m.room.name" => {
                assert!(recording.read::<Value>()["name"].is_string(), "{name}");
            }
            "GET /_matrix/client/v3/rooms/{id}/state/m.room.power_levels" => {
                let levels: Value = recording.read();
                let numbers = [&levels["events_default"], &levels["users_default"]];
                assert!(numbers.iter().all(|it| it.is_i64()) && levels["users"].is_object(), "{name}");
            }
            "POST /_matrix/client/v3/logout" => drop(recording.read::<Value>()),
            "GET /_matrix/client/versions" => assert_eq!(recording.read::<Versions>().versions.len(), 2, "{name}"),
            "POST /_matrix/media/v3/upload" => {
                assert!(is_mxc_uri(&recording.read::<Uploaded>().content_uri), "{name}");
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
    fn recorded_successes_are_read() {
        read_successes(&Recording::all("matrix"));
    }

    #[test]
    fn recorded_errors_are_classified() {
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
