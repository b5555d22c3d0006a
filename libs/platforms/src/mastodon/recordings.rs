use super::api::discovery::Metadata;
use super::api::oauth::{Me, Registered};
use super::api::statuses::{File, Source, Status};
use super::instance::Instance;
use super::software::Software;
use crate::oauth2::Tokens;
use crate::recording::Recording;

pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings.iter().filter(|(_, it)| it.status().is_success()) {
        match recording.request.as_str() {
            "POST /api/v1/statuses" | "GET /api/v1/statuses/{id}" => {
                let status: Status = recording.read();
                assert!(status.created_at().is_some(), "{name}");
                assert_eq!(status.source(), None, "{name}: only `/source` has it");
            }
            "GET /api/v1/accounts/{id}/statuses" => assert_eq!(recording.read::<Vec<Status>>().len(), 2, "{name}"),
            "GET /api/v1/statuses/{id}/source" => assert!(recording.read::<Source>().text.is_some(), "{name}"),
            "POST /api/v2/media" | "PUT /api/v1/media/{id}" => {
                let file: File = recording.read();
                assert_eq!(file.url.is_some(), recording.status() == 200, "{name}: not before it is processed");
            }
            "GET /api/v1/accounts/verify_credentials" => {
                assert_eq!(recording.read::<Me>().own_visibility(), Some("public"), "{name}");
            }
            "POST /oauth/token" => drop(recording.read::<Tokens>()),
            "POST /api/v1/apps" => drop(recording.read::<Registered>()),
            "GET /.well-known/oauth-authorization-server" => drop(recording.read::<Metadata>()),
            "GET /api/v1/instance/" | "GET /api/v2/instance/" => {
                let instance = Instance::read(recording.body.clone()).unwrap_or_else(|| panic!("{name}"));
                assert_eq!(instance.software, Software::Mastodon, "{name}: {}", recording.body["version"]);
            }
            other => panic!("{name}: no type of the adapter reads {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::super::errors::ERRORS;
    use super::*;
    use crate::kit::{Effect, ErrorKind};

    #[test]
    fn recorded_successes_are_read() {
        read_successes(&Recording::all("mastodon"));
    }

    #[test]
    fn recorded_errors_are_classified_in_any_language() {
        let now: DateTime<Utc> = domain::testing::noon();
        for (name, recording) in Recording::all("mastodon").into_iter().filter(|(_, it)| !it.status().is_success()) {
            let error =
                ERRORS.classify(Effect::Public, recording.status(), &recording.headers(), &recording.bytes(), now);
            let expected = match (recording.status().as_u16(), recording.body.is_null()) {
                (_, true) => ErrorKind::Intermediary,
                (401, _) => ErrorKind::Unauthorized,
                (403, _) => ErrorKind::Forbidden,
                (400 | 404 | 422, _) => ErrorKind::InvalidPost,
                (status, _) => panic!("{name}: {status}"),
            };
            assert_eq!(error.kind, expected, "{name}: {error:?}");
        }
    }
}
