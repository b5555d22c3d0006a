//! Records each call of the API when it arrives and when it ends.

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::stream;

use super::Sandbox;
use super::accounts::Account;
use super::calls::{CallEnd, End};
use super::faults::InjectedFault;
use super::operation::Operation;

/// A call in progress. Its handler adds details.
#[derive(Clone)]
pub(super) struct CallRecorder {
    sandbox: Sandbox,
    number: u64,
    operation: Operation,
}

/// A short text about the response, for the list of calls.
#[derive(Clone)]
pub(super) struct ResponseSummary(pub(super) String);

/// Marks a response that the client does not receive.
#[derive(Clone)]
struct Cut;

/// Middleware for each call of the API.
pub(super) async fn record_call(State(sandbox): State<Sandbox>, mut request: Request, next: Next) -> Response {
    let Some(operation) = Operation::from_request(request.method(), request.uri().path()) else {
        return next.run(request).await;
    };
    let number = sandbox.calls().begin(operation, sandbox.now());
    let call = CallRecorder { sandbox, number, operation };
    request.extensions_mut().insert(call.clone());

    let guard = DisconnectGuard(Some(call));
    let response = next.run(request).await;
    guard.ends(&response);
    response
}

impl CallRecorder {
    /// Corrects the operation, where the body shows another one than the path.
    pub(super) fn set_operation(&mut self, operation: Operation) {
        self.operation = operation;
        self.sandbox.calls().change(self.number, |it| it.operation = operation);
    }

    /// Sets the account of the call.
    pub(super) fn by(&self, account: Account) {
        self.sandbox.calls().change(self.number, |it| it.account = Some(account));
    }

    /// Sets the reference of the call's post. It is written to the file at once, so that the call
    /// is recorded even if the process ends during the call.
    pub(super) fn set_reference(&self, reference: &str) {
        let mut calls = self.sandbox.calls();
        calls.change(self.number, |it| it.reference = Some(reference.to_owned()));
        calls.write(self.number);
    }

    /// The fault that is armed for the call, if there is one.
    pub(super) fn strike(&self, account: Account) -> Option<InjectedFault> {
        let fault = self.sandbox.faults().take(self.operation, account)?;
        tracing::info!(kind = fault.kind.name(), account = account.handle(), "fault injected");
        let mut calls = self.sandbox.calls();
        calls.change(self.number, |it| it.fault = Some(fault.kind));
        calls.write(self.number);
        Some(fault)
    }

    /// Records the id of the post that the call published.
    pub(super) fn made(&self, post: &str) {
        let mut calls = self.sandbox.calls();
        calls.change(self.number, |it| it.made = Some(post.to_owned()));
        calls.write(self.number);
    }

    fn ended(&self, outcome: CallEnd) {
        let at = self.sandbox.now();
        let mut calls = self.sandbox.calls();
        calls.change(self.number, |it| it.end = Some(End { at, how: outcome }));
        calls.write(self.number);
    }
}

/// Detects a client that closes the connection: its call is dropped at an `await`.
struct DisconnectGuard(Option<CallRecorder>);

impl DisconnectGuard {
    fn ends(mut self, response: &Response) {
        let Some(call) = self.0.take() else { return };
        let summary = response.extensions().get::<ResponseSummary>().map(|it| it.0.clone());
        call.ended(match response.extensions().get::<Cut>() {
            Some(Cut) => CallEnd::Cut,
            None => CallEnd::Answered { status: response.status().as_u16(), text: summary.unwrap_or_default() },
        });
    }
}

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call.ended(CallEnd::HungUp);
        }
    }
}

/// A response that fails before its first byte: the server closes the connection.
pub(super) fn cut_connection() -> Response {
    let cut = io::Error::new(io::ErrorKind::ConnectionAborted, "cut on purpose");
    (Extension(Cut), Body::from_stream(stream::once(async { Err::<Bytes, _>(cut) }))).into_response()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::super::calls::Call;
    use super::super::fault_kind::FaultKind;
    use super::super::testing::SandboxHarness;
    use super::*;

    fn calls(harness: &SandboxHarness, operation: Operation) -> Vec<Call> {
        harness.sandbox.calls().all().filter(|it| it.operation == operation).cloned().collect()
    }

    #[tokio::test]
    async fn call_is_recorded_with_reference_and_response() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;

        harness.post(&token, json!({"text": "Hello", "reference": "r1"})).await;
        harness.post(&token, json!({"text": " ", "reference": "r2"})).await;
        harness.call("GET", "/sandbox/api/posts?reference=r1", &token, None).await;
        harness.post("old token", json!({"text": "Hello", "reference": "r3"})).await;

        let published = calls(&harness, Operation::Publish);
        assert_eq!(published[0].account.map(Account::handle), Some("meadow"));
        assert_eq!((published[0].reference.as_deref(), published[0].made.as_deref()), (Some("r1"), Some("1")));
        assert_eq!(published[0].how(), Some(&CallEnd::Answered { status: 201, text: "post 1".to_owned() }));
        assert_eq!(published[1].made, None);
        let text = "a post needs a text or a file".to_owned();
        assert_eq!(published[1].how(), Some(&CallEnd::Answered { status: 422, text }));
        assert_eq!((published[2].account, published[2].reference.as_deref()), (None, Some("r3")));
        assert!(matches!(published[2].how(), Some(CallEnd::Answered { status: 401, .. })));
        let looked = &calls(&harness, Operation::LookUp)[0];
        assert_eq!(looked.reference.as_deref(), Some("r1"));
        assert_eq!(looked.how(), Some(&CallEnd::Answered { status: 200, text: "found 1 post".to_owned() }));
    }

    #[tokio::test]
    async fn fault_is_recorded_with_its_call() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.arm(json!({"kind": "lose_answer"})).await;

        harness.post(&token, json!({"text": "Hello", "reference": "r1"})).await;

        let call = &calls(&harness, Operation::Publish)[0];
        assert_eq!(
            (call.fault, call.made.as_deref(), call.how()),
            (Some(FaultKind::LoseAnswer), Some("1"), Some(&CallEnd::Cut))
        );
    }

    #[tokio::test]
    async fn client_disconnect_is_recorded() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.arm(json!({"kind": "slow", "delay_ms": 60_000})).await;

        let post = harness.post(&token, json!({"text": "Hello", "reference": "r1"}));
        let gone = tokio::time::timeout(Duration::from_millis(50), post).await;

        assert!(gone.is_err());
        assert_eq!(calls(&harness, Operation::Publish)[0].how(), Some(&CallEnd::HungUp));
    }

    #[tokio::test]
    async fn token_calls_are_classified() {
        let harness = SandboxHarness::new();
        let tokens = harness.connect("meadow").await;
        harness.refresh(&tokens.refresh).await;
        harness.refresh("unknown").await;
        harness.client_form("/sandbox/oauth/revoke", &[("token", &tokens.access)]).await;

        assert_eq!(calls(&harness, Operation::Exchange).len(), 1);
        assert_eq!(calls(&harness, Operation::Revoke).len(), 1);
        let refreshed = calls(&harness, Operation::Refresh);
        assert_eq!(refreshed[0].account.map(Account::handle), Some("meadow"));
        assert_eq!(refreshed[1].account, None);
        assert!(matches!(refreshed[1].how(), Some(CallEnd::Answered { status: 400, .. })));
    }

    #[tokio::test]
    async fn tokens_are_not_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let harness = SandboxHarness::open(folder.path());
        let tokens = harness.connect("meadow").await;
        harness.post(&tokens.access, json!({"text": "Hello", "reference": "r1"})).await;
        let renewed = harness.refresh(&tokens.refresh).await;

        let written = std::fs::read_to_string(folder.path().join("calls.jsonl")).unwrap();

        assert!(written.contains("r1"));
        for secret in [tokens.access, tokens.refresh, renewed.string("access_token")] {
            assert!(!written.contains(&secret));
        }
        assert!(!written.contains("Hello"), "nor the text of a post");
    }
}
