//! Makes calls fail as a test has ordered, and tells of which kind a call is.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use http::{Method, StatusCode};
use platforms::conformance::network::{Call, Trouble};

use super::dpop::{self, Realm};
use super::input;
use super::limits::Allowance;
use super::oauth::Form;
use super::record::POST;
use super::refusal::Refusal;
use super::world::{Shared, World};
use crate::wire::Cut;

/// A server whose calls can be in trouble.
pub(super) fn around(world: &Shared, realm: Realm, server: Router<Shared>) -> Router {
    server
        .layer(from_fn_with_state((world.clone(), realm), dpop::bring_nonce))
        .layer(from_fn_with_state((world.clone(), realm), meet))
        .with_state(world.clone())
}

/// Makes a call fail if that was ordered. A request that is refused for its nonce is
/// not counted as a call, because the client repeats it at once.
async fn meet(State((world, realm)): State<(Shared, Realm)>, request: Request, next: Next) -> Response {
    let (request, call) = classify(request).await;
    let call = call.filter(|_| !dpop::is_turned_away(&world, realm, request.headers()));
    let trouble = call.and_then(|call| Some((call, world.state().troubles.meet(call)?)));
    let Some((call, trouble)) = trouble else { return next.run(request).await };
    match trouble {
        Trouble::CutBefore => return Cut.into_response(),
        Trouble::LoseAnswer => {
            next.run(request).await;
            return Cut.into_response();
        }
        Trouble::BrokenAfter => {
            next.run(request).await;
            return broken(realm);
        }
        Trouble::Unwanted if call == Call::Process => {
            let query = request.uri().query().unwrap_or_default();
            world.state().videos.fail(query.strip_prefix("jobId=").unwrap_or_default());
            return next.run(request).await;
        }
        _ => {}
    }
    // Read first: a client that still writes would not see the answer.
    input::read(request.into_body(), 0).await;
    answer(&world, realm, call, trouble)
}

fn answer(world: &World, realm: Realm, call: Call, trouble: Trouble) -> Response {
    match trouble {
        Trouble::Limited { retry_after } => {
            Allowance::none_until(world.clock.now() + retry_after).exceeded().into_response()
        }
        Trouble::Gibberish => {
            Html("<!doctype html><title>Welcome</title><p>Please sign in to the network.").into_response()
        }
        Trouble::Unavailable => {
            Refusal::xrpc(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "Service Unavailable").into_response()
        }
        Trouble::Unwanted => unwanted(call).into_response(),
        _ => broken(realm),
    }
}

fn broken(realm: Realm) -> Response {
    let refusal = match realm {
        Realm::AuthorizationServer => Refusal::oauth("server_error", "Internal server error"),
        Realm::Pds => Refusal::bad("InternalServerError", "Internal Server Error"),
    };
    refusal.with_status(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}

fn unwanted(call: Call) -> Refusal {
    match call {
        Call::Publish => {
            Refusal::invalid(format!("Invalid {POST} record: string too big (maximum 300 graphemes) at $.record.text"))
        }
        Call::Upload => Refusal::too_large(),
        _ => Refusal::invalid("Invalid request"),
    }
}

/// What kind of call this is. The token endpoint says so in its form.
async fn classify(request: Request) -> (Request, Option<Call>) {
    let path = request.uri().path().to_owned();
    let name = path.strip_prefix("/xrpc/").unwrap_or(&path);
    let of_posts = || request.uri().query().is_some_and(|it| it.contains(&format!("collection={POST}")));
    let call = match name {
        "/oauth/token" if *request.method() == Method::POST => return classify_token(request).await,
        "/oauth/revoke" | "com.atproto.server.deleteSession" => Some(Call::Revoke),
        "com.atproto.server.createSession" => Some(Call::Exchange),
        "com.atproto.server.refreshSession" => Some(Call::Refresh),
        "com.atproto.repo.uploadBlob" | "app.bsky.video.uploadVideo" => Some(Call::Upload),
        "app.bsky.video.getJobStatus" => Some(Call::Process),
        "com.atproto.repo.putRecord" | "com.atproto.repo.createRecord" | "com.atproto.repo.applyWrites" => {
            Some(Call::Publish)
        }
        "com.atproto.repo.getRecord" | "com.atproto.repo.listRecords" if of_posts() => Some(Call::LookUp),
        _ => None,
    };
    (request, call)
}

async fn classify_token(request: Request) -> (Request, Option<Call>) {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let call = match Form::read(&body).as_ref().and_then(|it| it.get("grant_type")) {
        Some("authorization_code") => Some(Call::Exchange),
        Some("refresh_token") => Some(Call::Refresh),
        _ => None,
    };
    (Request::from_parts(parts, Body::from(body)), call)
}
