//! The proxy in front of a real server: the faults of the kit, and the end of access tokens, which
//! real servers end by time only.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{
        HeaderMap, StatusCode,
        header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use fakes::conformance::fake_platform::{Call, InjectedFault};
use fakes::fake::{
    front::{self, FaultInjection},
    injected_faults::InjectedFaults,
    wire,
};
use reqwest::Client;
use serde_json::Value;
use tokio::{
    net::TcpListener,
    time::{Instant, sleep_until},
};

/// The differences between the servers.
pub(super) trait Protocol: Send + Sync + 'static {
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call>;

    /// The server's own response to a call with this fault: see [`FaultInjection::respond`].
    fn respond(&self, call: Call, fault: InjectedFault) -> Response;

    /// The server's own response to an access token that has expired.
    fn expired(&self) -> Response {
        unreachable!("no access tokens end here")
    }

    fn access_token(&self, response: &Value) -> Option<String> {
        let _ = response;
        None
    }

    /// Called after each response of the server.
    fn responded(&self, head: &Parts, response: &Value) {
        let _ = (head, response);
    }
}

pub(super) struct FaultProxy<P> {
    pub protocol: P,
    server: SocketAddr,
    http: Client,
    faults: Mutex<InjectedFaults>,
    access_tokens: Mutex<AccessTokens>,
}

#[derive(Default)]
struct AccessTokens {
    issued: BTreeSet<String>,
    ended: BTreeSet<String>,
    last_issued: Option<Instant>,
}

impl<P: Protocol> FaultProxy<P> {
    /// Forwards requests to this server from now on, until the process ends.
    pub(super) fn start(listener: TcpListener, server: SocketAddr, protocol: P) -> Arc<Self> {
        let proxy = Arc::new(Self {
            protocol,
            server,
            http: wire::browser(),
            faults: Mutex::default(),
            access_tokens: Mutex::default(),
        });
        let router = Router::new().fallback(forward::<P>);
        wire::serve_on(listener, front::wrap(router, Arc::clone(&proxy)).with_state(Arc::clone(&proxy)));
        proxy
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, InjectedFaults> {
        lock(&self.faults)
    }

    /// Forgets the faults and tokens of an earlier check.
    pub(super) fn reset(&self) {
        *self.faults() = InjectedFaults::default();
        *lock(&self.access_tokens) = AccessTokens::default();
    }

    /// Ends all access tokens issued so far.
    pub(super) fn end_access_tokens(&self) {
        let tokens = &mut *lock(&self.access_tokens);
        tokens.ended.append(&mut tokens.issued);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P> AsRef<Mutex<InjectedFaults>> for FaultProxy<P> {
    fn as_ref(&self) -> &Mutex<InjectedFaults> {
        &self.faults
    }
}

impl<P: Protocol> FaultInjection for FaultProxy<P> {
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        self.protocol.call(head, body)
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        self.protocol.respond(call, fault)
    }
}

pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

async fn forward<P: Protocol>(State(proxy): State<Arc<FaultProxy<P>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if bearer(&head.headers).is_some_and(|it| lock(&proxy.access_tokens).ended.contains(it)) {
        return proxy.protocol.expired();
    }
    match send(&proxy, &head, body).await {
        Ok(response) => response,
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn send<P: Protocol>(proxy: &FaultProxy<P>, head: &Parts, body: Body) -> Result<Response, reqwest::Error> {
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if matches!(proxy.protocol.call(head, &body), Some(Call::Exchange | Call::Refresh)) {
        // Tokens that a server signs within the same second may be equal.
        let last_issued = lock(&proxy.access_tokens).last_issued;
        sleep_until(last_issued.map_or_else(Instant::now, |it| it + Duration::from_secs(1))).await;
    }
    let path = head.uri.path_and_query().map_or("/", |it| it.as_str());
    let mut headers = head.headers.clone();
    remove_framing(&mut headers);
    let request = proxy.http.request(head.method.clone(), format!("http://{}{path}", proxy.server));
    let response = request.headers(headers).body(body).send().await?;

    let (status, mut headers) = (response.status(), response.headers().clone());
    remove_framing(&mut headers);
    let body = response.bytes().await?;
    if status.is_success() {
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        if let Some(token) = proxy.protocol.access_token(&value) {
            let tokens = &mut *lock(&proxy.access_tokens);
            tokens.issued.insert(token);
            tokens.last_issued = Some(Instant::now());
        }
        proxy.protocol.responded(head, &value);
    }
    let mut response = (status, body).into_response();
    *response.headers_mut() = headers;
    Ok(response)
}

/// Each of the two connections frames its own messages.
fn remove_framing(headers: &mut HeaderMap) {
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
}
