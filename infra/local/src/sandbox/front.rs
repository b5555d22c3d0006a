//! The layer in front of the API: records each call when it arrives and when it ends, and injects
//! the fault that is armed for it.

use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, response};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use fakes::conformance::fake_platform::{Call as KitCall, InjectedFault};
use fakes::fake::front::apply;
use fakes::fake::oauth::{Fault, HasOAuth, classify_token_call};
use fakes::fake::params::Params;
use fakes::fake::wire::Cut;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Value, json};

use super::accounts::Account;
use super::api_error::SandboxApiError;
use super::caller::Caller;
use super::calls::{CallEnd, End};
use super::fault_kind::Effect;
use super::faults::ArmedFault;
use super::media::{MAX_FILE, ProcessingTime};
use super::oauth::accounts_in;
use super::operation::Operation;
use super::{MAX_BODY, Sandbox};

pub(super) async fn handle_call(State(sandbox): State<Sandbox>, request: Request, next: Next) -> Response {
    let Some(operation) = Operation::from_request(request.method(), request.uri().path()) else {
        return next.run(request).await;
    };
    let number = sandbox.calls().begin(operation, sandbox.now());
    let recorder = CallRecorder { sandbox, number };
    let mut guard = DisconnectGuard(Some(recorder.clone()));

    let (head, body) = request.into_parts();
    let noun = if head.uri.path().ends_with("/comments") { "comment" } else { "post" };
    // Read up to the limit: a client that is still sending would not see the response.
    let limit = if operation == Operation::Upload { MAX_FILE } else { MAX_BODY };
    let response = match Limited::new(body, limit).collect().await {
        Ok(body) => respond(recorder, operation, head, body.to_bytes(), next).await,
        Err(error) if !error.is::<LengthLimitError>() => {
            SandboxApiError::malformed(StatusCode::BAD_REQUEST, "the request was interrupted").into_response()
        }
        Err(_) if operation == Operation::Upload => SandboxApiError::file_too_large().into_response(),
        Err(_) => SandboxApiError::malformed(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large").into_response(),
    };
    if response.extensions().get::<Cut>().is_some() {
        guard.record(CallEnd::Cut);
        return response;
    }
    let (head, body) = read(response).await;
    guard.record(CallEnd::Answered { status: head.status.as_u16(), text: summarize(operation, noun, &body) });
    Response::from_parts(head, Body::from(body))
}

async fn respond(recorder: CallRecorder, operation: Operation, head: Parts, body: Bytes, next: Next) -> Response {
    let sandbox = recorder.sandbox.clone();
    let params = Params::read(head.uri.query().unwrap_or_default(), &head.headers, &body).unwrap_or_default();
    let is_refresh = operation == Operation::Exchange && classify_token_call(&head, &body) == KitCall::Refresh;
    let operation = if is_refresh { Operation::Refresh } else { operation };
    let subject = find_grant(&sandbox, operation, &head, &params);
    let account = subject.map(|(_, account)| account);
    let fault = account.and_then(|it| sandbox.faults().take(operation, it));
    // Written at once, so that the call is on the pages even if the process ends during the call.
    recorder.change(|call| {
        call.operation = operation;
        call.account = account;
        call.reference = params.text("reference");
        call.fault = fault.map(|it| it.kind);
    });

    let mut request = Request::from_parts(head, Body::from(body));
    let (Some(fault), Some((grant, account))) = (fault, subject) else {
        return recorder.carry_out(request, next).await;
    };
    tracing::info!(kind = fault.kind.name, account = account.handle(), "fault injected");
    match fault.kind.effect {
        Effect::OfKit(kit) => apply(kit, recorder.carry_out(request, next), |it| refuse(operation, it, fault)).await,
        Effect::Busy => busy(None),
        Effect::BusyUntil => busy(Some(fault.wait_seconds())),
        Effect::Slow => {
            // In a separate task, which continues if the client closes the connection.
            let published = tokio::spawn(later(fault.delay, recorder.carry_out(request, next)));
            published.await.unwrap_or_else(|_| SandboxApiError::internal().into_response())
        }
        Effect::Late => {
            tokio::spawn(later(fault.delay, recorder.carry_out(request, next)));
            Cut.into_response()
        }
        Effect::Processing => {
            request.extensions_mut().insert(ProcessingTime(fault.delay));
            recorder.carry_out(request, next).await
        }
        Effect::Revoke => {
            sandbox.0.oauth().grants[grant].revoked = true;
            lost_access(&sandbox)
        }
        Effect::Expire => {
            sandbox.0.oauth().grants[grant].expires_at = Some(sandbox.now());
            lost_access(&sandbox)
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

#[derive(Clone)]
struct CallRecorder {
    sandbox: Sandbox,
    number: u64,
}

impl CallRecorder {
    fn change(&self, change: impl FnOnce(&mut super::calls::Call)) {
        let mut calls = self.sandbox.calls();
        calls.change(self.number, change);
        calls.write(self.number);
    }

    /// Also records the id of the post that the handler published.
    async fn carry_out(self, request: Request, next: Next) -> Response {
        let is_publish = Operation::from_request(request.method(), request.uri().path()) == Some(Operation::Publish);
        let (head, body) = read(next.run(request).await).await;
        if is_publish && head.status == StatusCode::CREATED {
            let made = text(&serde_json::from_slice(&body).unwrap_or_default(), "id");
            self.change(|it| it.made = made);
        }
        Response::from_parts(head, Body::from(body))
    }
}

/// Detects a client that closes the connection: its call is dropped at an `await`.
struct DisconnectGuard(Option<CallRecorder>);

impl DisconnectGuard {
    fn record(&mut self, how: CallEnd) {
        if let Some(recorder) = self.0.take() {
            let at = recorder.sandbox.now();
            recorder.change(|call| call.end = Some(End { at, how }));
        }
    }
}

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        self.record(CallEnd::HungUp);
    }
}

async fn read(response: Response) -> (response::Parts, Bytes) {
    let (head, body) = response.into_parts();
    (head, to_bytes(body, usize::MAX).await.unwrap_or_default())
}

/// For the list of calls.
fn summarize(operation: Operation, noun: &str, body: &[u8]) -> String {
    let body = serde_json::from_slice(body).unwrap_or(Value::Null);
    if let Value::Array(found) = &body {
        return match found.len() {
            0 => "found none".to_owned(),
            1 => format!("found 1 {noun}"),
            many => format!("found {many} {noun}s"),
        };
    }
    if body.get("access_token").is_some() {
        return "tokens".to_owned();
    }
    let created = || Some(format!("{} {}", operation.creates()?, text(&body, "id")?));
    text(&body, "message").or_else(|| text(&body, "error_description")).or_else(created).unwrap_or_default()
}

fn text(body: &Value, field: &str) -> Option<String> {
    body.get(field)?.as_str().map(str::to_owned)
}
