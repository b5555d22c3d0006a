//! Injects the failures that a test requests, and classifies calls.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{Method, StatusCode};
use platforms::conformance::fake_platform::{Call, InjectedFault};

use super::api_error::ApiError;
use super::dpop::{self, Realm};
use super::limits::Allowance;
use super::oauth::Form;
use super::pds_state::Shared;
use super::record::POST;
use crate::fake::front::{self, FaultInjection};
use crate::fake::injected_faults::InjectedFaults;

/// Adds fault injection to a server.
pub(super) fn wrap(fake: &Shared, realm: Realm, server: Router<Shared>) -> Router {
    let server = server.layer(from_fn_with_state((fake.clone(), realm), dpop::add_nonce));
    front::wrap(server, Arc::new(Server { world: fake.clone(), realm })).with_state(fake.clone())
}

struct Server {
    world: Shared,
    realm: Realm,
}

impl AsRef<Mutex<InjectedFaults>> for Server {
    fn as_ref(&self) -> &Mutex<InjectedFaults> {
        &self.world.troubles
    }
}

impl FaultInjection for Server {
    const TRANSLATED: &'static [&'static str] = &["/message", "/error_description"];

    /// A request that is refused only for its nonce does not count as a call, because the
    /// client repeats it immediately.
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        classify(head, body).filter(|_| !dpop::is_denied(&self.world, self.realm, &head.headers))
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        match fault {
            InjectedFault::RateLimited { retry_after } => {
                Allowance::none_until(self.world.clock.now() + retry_after).exceeded().into_response()
            }
            InjectedFault::Unavailable => {
                ApiError::xrpc(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "Service Unavailable")
                    .into_response()
            }
            InjectedFault::Refused => refused_content(call).into_response(),
            _ => broken(self.realm),
        }
    }

    fn inject_fault(&self, head: &Parts) {
        let query = head.uri.query().unwrap_or_default();
        self.world.state().videos.fail(query.strip_prefix("jobId=").unwrap_or_default());
    }
}

fn broken(realm: Realm) -> Response {
    let refusal = match realm {
        Realm::AuthorizationServer => ApiError::oauth("server_error", "Internal server error"),
        Realm::Pds => ApiError::bad("InternalServerError", "Internal Server Error"),
    };
    refusal.with_status(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}

fn refused_content(call: Call) -> ApiError {
    match call {
        Call::Publish => {
            ApiError::invalid(format!("Invalid {POST} record: string too big (maximum 300 graphemes) at $.record.text"))
        }
        Call::Upload => ApiError::too_large(),
        _ => ApiError::invalid("Invalid request"),
    }
}

/// The kind of a call. For the token endpoint, the kind depends on the form.
fn classify(head: &Parts, body: &[u8]) -> Option<Call> {
    let path = head.uri.path();
    let of_posts = || head.uri.query().is_some_and(|it| it.contains(&format!("collection={POST}")));
    match path.strip_prefix("/xrpc/").unwrap_or(path) {
        "/oauth/token" if head.method == Method::POST => {
            match Form::read(body).as_ref().and_then(|it| it.get("grant_type")) {
                Some("authorization_code") => Some(Call::Exchange),
                Some("refresh_token") => Some(Call::Refresh),
                _ => None,
            }
        }
        "/oauth/revoke" | "com.atproto.server.deleteSession" => Some(Call::Revoke),
        "com.atproto.server.createSession" => Some(Call::Exchange),
        "com.atproto.server.refreshSession" => Some(Call::Refresh),
        "com.atproto.repo.uploadBlob" | "app.bsky.video.uploadVideo" | "app.bsky.video.uploadPart" => {
            Some(Call::Upload)
        }
        "app.bsky.video.getJobStatus" => Some(Call::Process),
        "app.bsky.actor.getProfile" => Some(Call::Account),
        "com.atproto.repo.putRecord" | "com.atproto.repo.createRecord" | "com.atproto.repo.applyWrites" => {
            Some(Call::Publish)
        }
        "com.atproto.repo.getRecord" | "com.atproto.repo.listRecords" if of_posts() => Some(Call::LookUp),
        _ => None,
    }
}
