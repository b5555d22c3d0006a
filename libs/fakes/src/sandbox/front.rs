//! The layer in front of the API: reads each call to its end, and injects the fault that is armed for it.

use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::json;

use super::accounts::Account;
use super::api_error::SandboxApiError;
use super::caller::Caller;
use super::fault_kind::Effect;
use super::faults::ArmedFault;
use super::media::{MAX_FILE, ProcessingTime};
use super::oauth::accounts_in;
use super::operation::Operation;
use super::{MAX_BODY, Sandbox};
use crate::conformance::fake_platform::InjectedFault;
use crate::fake::front::apply;
use crate::fake::oauth::{Fault, HasOAuth};
use crate::fake::params::Params;
use crate::fake::wire::Cut;

pub(super) async fn handle_call(State(sandbox): State<Sandbox>, request: Request, next: Next) -> Response {
    let Some(operation) = Operation::from_request(request.method(), request.uri().path()) else {
        return next.run(request).await;
    };
    let (head, body) = request.into_parts();
    // Read up to the limit: a client that is still sending would not see the response.
    let limit = if operation == Operation::Upload { MAX_FILE } else { MAX_BODY };
    match Limited::new(body, limit).collect().await {
        Ok(body) => respond(&sandbox, operation, head, body.to_bytes(), next).await,
        Err(error) if !error.is::<LengthLimitError>() => {
            SandboxApiError::malformed(StatusCode::BAD_REQUEST, "the request was interrupted").into_response()
        }
        Err(_) if operation == Operation::Upload => SandboxApiError::file_too_large().into_response(),
        Err(_) => SandboxApiError::malformed(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large").into_response(),
    }
}

async fn respond(sandbox: &Sandbox, operation: Operation, head: Parts, body: Bytes, next: Next) -> Response {
    let params = Params::read(head.uri.query().unwrap_or_default(), &head.headers, &body).unwrap_or_default();
    let operation = operation.refine(&head, &body);
    let subject = find_grant(sandbox, operation, &head, &params);
    let fault = subject.and_then(|(_, account)| sandbox.faults().take(operation, account));

    let mut request = Request::from_parts(head, Body::from(body));
    let (Some(fault), Some((grant, account))) = (fault, subject) else {
        return next.run(request).await;
    };
    tracing::info!(kind = fault.kind.name, account = account.handle(), "fault injected");
    match fault.kind.effect {
        Effect::OfKit(kit) => apply(kit, next.run(request), |it| refuse(operation, it, fault)).await,
        Effect::Busy => busy(None),
        Effect::BusyUntil => busy(Some(fault.wait_seconds())),
        Effect::Slow => {
            // In a separate task, which continues if the client closes the connection.
            let published = tokio::spawn(later(fault.delay, next.run(request)));
            published.await.unwrap_or_else(|_| SandboxApiError::internal().into_response())
        }
        Effect::Late => {
            tokio::spawn(later(fault.delay, next.run(request)));
            Cut.into_response()
        }
        Effect::Processing => {
            request.extensions_mut().insert(ProcessingTime(fault.delay));
            next.run(request).await
        }
        Effect::Revoke => {
            sandbox.0.oauth().grants[grant].revoked = true;
            lost_access(sandbox)
        }
        Effect::Expire => {
            sandbox.0.oauth().grants[grant].expires_at = Some(sandbox.now());
            lost_access(sandbox)
        }
    }
}

fn find_grant(sandbox: &Sandbox, operation: Operation, head: &Parts, params: &Params) -> Option<(usize, Account)> {
    if operation != Operation::Refresh {
        return Caller::authenticate(sandbox, &head.headers).ok().map(|it| (it.grant, it.account));
    }
    let (oauth, token) = (sandbox.0.oauth(), params.text("refresh_token")?);
    let grant = oauth.grants.iter().position(|it| !it.revoked && it.refresh_token.as_deref() == Some(&token))?;
    Some((grant, accounts_in(&oauth.grants[grant].account).next()?))
}

async fn later(delay: Duration, handled: impl Future<Output = Response>) -> Response {
    tokio::time::sleep(delay).await;
    handled.await
}

fn busy(retry_after: Option<u64>) -> Response {
    SandboxApiError::wait("busy", "the sandbox is busy; try again later", retry_after).into_response()
}

fn lost_access(sandbox: &Sandbox) -> Response {
    let stored = sandbox.store_grants().map_err(SandboxApiError::from);
    stored.err().unwrap_or_else(SandboxApiError::invalid_token).into_response()
}

/// For faults that all fakes have.
fn refuse(operation: Operation, kit: InjectedFault, fault: ArmedFault) -> Response {
    match (operation, kit) {
        (Operation::Refresh, InjectedFault::Refused) => {
            return Fault::InvalidGrant("the refresh token is not accepted").into_response();
        }
        (Operation::Refresh, _) => {
            let description = "tokens cannot be refreshed now; try again later";
            let body = json!({ "error": "temporarily_unavailable", "error_description": description });
            return (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response();
        }
        (_, InjectedFault::RateLimited { .. }) => {
            SandboxApiError::wait("rate_limited", "too many posts; try again later", Some(fault.wait_seconds()))
        }
        (Operation::Upload, InjectedFault::Refused) => {
            SandboxApiError::content("file_refused", "the sandbox does not accept this file")
        }
        (Operation::Comment, InjectedFault::Refused) => {
            SandboxApiError::content("comment_refused", "the sandbox does not accept this comment")
        }
        (_, InjectedFault::Refused) => {
            SandboxApiError::content("content_refused", "this content is against the rules of the sandbox")
        }
        _ => SandboxApiError::internal(),
    }
    .into_response()
}
