use super::account::{ProfileView, Server};
use super::app_password;
use super::authorization_server::{AuthorizationServer, ProtectedResource};
use super::identity::{DidDocument, Resolved};
use super::oauth::{self, Pushed};
use super::record::Put;
use super::repository::Record;
use super::upload::Uploaded;
use super::video;
use crate::recording::Recording;

pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings.iter().filter(|(_, it)| it.status().is_success()) {
        match recording.request.as_str() {
            "GET /xrpc/com.atproto.repo.getRecord" => {
                let Record { cid, value } = recording.read();
                assert!(cid.is_some() && value["$type"].is_string(), "{name}");
            }
            "POST /xrpc/com.atproto.repo.putRecord" => {
                assert!(recording.read::<Put>().uri.starts_with("at://did:plc:"), "{name}");
            }
            "POST /xrpc/com.atproto.repo.uploadBlob" => drop(recording.read::<Uploaded>().blob),
            "POST /xrpc/com.atproto.server.createSession" | "POST /xrpc/com.atproto.server.refreshSession" => {
                drop(recording.read::<app_password::Tokens>());
            }
            "GET /xrpc/com.atproto.server.describeServer" => {
                let limit = recording.read::<Server>().blob_upload_limit;
                assert_eq!(limit, recording.body["blobUploadLimit"].as_u64(), "{name}");
            }
            "GET /xrpc/com.atproto.identity.resolveHandle" => {
                assert_eq!(recording.read::<Resolved>().did.as_str(), recording.body["did"], "{name}");
            }
            "GET /did:plc:{id}" => assert!(recording.read::<DidDocument>().server().is_some(), "{name}"),
            "GET /xrpc/app.bsky.actor.getProfile" => {
                let ProfileView { display_name, avatar } = recording.read();
                assert!(display_name.is_some() && avatar.is_some(), "{name}");
            }
            "GET /.well-known/oauth-protected-resource" => {
                assert_eq!(recording.read::<ProtectedResource>().authorization_servers.len(), 1, "{name}");
            }
            "GET /.well-known/oauth-authorization-server" => {
                assert!(recording.read::<AuthorizationServer>().revocation_endpoint.is_some(), "{name}");
            }
            "POST /oauth/par" => assert!(!recording.read::<Pushed>().request_uri.is_empty(), "{name}"),
            "POST /oauth/token" => drop(recording.read::<oauth::Tokens>()),
            // The adapter reads only the status and the nonce.
            "GET /xrpc/com.atproto.server.getSession"
            | "POST /xrpc/com.atproto.server.deleteSession"
            | "POST /oauth/revoke" => {}
            _ => video::recordings::read(name, recording),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::super::errors::PDS;
    use super::*;
    use crate::kit::{Effect, ErrorKind};

    #[test]
    fn recorded_successes_are_read() {
        read_successes(&Recording::all("bluesky"));
    }

    #[test]
    fn recorded_errors_are_classified() {
        for (name, recording) in Recording::all("bluesky").into_iter().filter(|(_, it)| !it.status().is_success()) {
            let (headers, now) = (recording.headers(), noon());
            let error = PDS.classify(Effect::Public, recording.status(), &headers, &recording.bytes(), now);
            let expected = match recording.body["error"].as_str() {
                Some(
                    "invalid_token"
                    | "ExpiredToken"
                    | "InvalidToken"
                    | "AuthMissing"
                    | "AuthenticationRequired"
                    | "AccountTakedown"
                    | "AccountDeactivated"
                    | "ScopeMissingError",
                ) => ErrorKind::Unauthorized,
                Some("use_dpop_nonce" | "invalid_dpop_proof") => ErrorKind::Unavailable,
                Some("RateLimitExceeded") => ErrorKind::RateLimited,
                Some("BlobNotFound") => ErrorKind::PreparationExpired,
                Some(_) => ErrorKind::InvalidPost,
                None => panic!("{name}: an error has a name"),
            };
            assert_eq!(error.kind, expected, "{name}: {error:?}");
        }
    }
}
