//! The layer in front of every handler: reads the request to its end, and makes it fail if a test
//! has ordered that.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::{Json, Router};
use futures::{StreamExt, stream};
use http::StatusCode;
use http::header::{CONTENT_LENGTH, LOCATION};
use http::request::Parts;
use serde_json::Value;
use tokio::task::yield_now;

use super::injected_faults::InjectedFaults;
use super::wire::Cut;
use crate::conformance::fake_platform::{Call, InjectedFault};

/// How a platform takes part in fault injection.
pub trait FaultInjection: AsRef<Mutex<InjectedFaults>> + Send + Sync + 'static {
    /// JSON pointers to the messages of error responses that can be translated: see
    /// [`InjectedFaults::translate`]. Empty where error responses have no messages, or where only
    /// the message distinguishes two errors.
    const TRANSLATED: &'static [&'static str] = &[];

    /// Whether error responses have messages, which may repeat the request.
    const HAS_MESSAGES: bool = true;

    /// The kind of this call; `None` for calls that never fail.
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call>;

    /// The platform's own response to a call with the fault `ServerError`, `Unavailable`,
    /// `RateLimited` or `Refused`.
    fn respond(&self, call: Call, fault: InjectedFault) -> Response;

    /// Makes the processing of the file fail that this request refers to.
    fn inject_fault(&self, head: &Parts) {
        let _ = head;
    }
}

/// Makes calls fail as a test has ordered.
pub fn wrap<S: Clone + Send + Sync + 'static>(router: Router<S>, platform: Arc<impl FaultInjection>) -> Router<S> {
    router.layer(from_fn_with_state(platform, inject_fault))
}

async fn inject_fault<P: FaultInjection>(State(platform): State<Arc<P>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    // Read the body in any case: a client that is still writing would not see the response. After a
    // read error the client is gone.
    let Ok(body) = to_bytes(body, usize::MAX).await else { return Cut.into_response() };
    if let Some((status, body)) = with_faults(&*platform, |faults| faults.scripted(&head)) {
        return body.map_or_else(|| page(status), |body| scripted(status, body));
    }
    let call = platform.call(&head, &body);
    let fault = call.and_then(|it| Some((it, with_faults(&*platform, |faults| faults.meet(it))?)));
    if matches!(fault, Some((Call::Process, InjectedFault::Refused))) {
        platform.inject_fault(&head);
    }
    let handled = next.run(Request::from_parts(head, Body::from(body)));
    let response = match fault {
        None | Some((Call::Process, InjectedFault::Refused)) => handled.await,
        Some((call, fault)) => apply(fault, handled, |fault| platform.respond(call, fault)).await,
    };
    let translated_at = with_faults(&*platform, |faults| faults.translated(P::TRANSLATED));
    translated(response, translated_at).await
}

/// Responds to a call with this fault. `handled` carries the call out; it is dropped if the fault
/// prevents that. `respond` is [`FaultInjection::respond`].
pub async fn apply(
    fault: InjectedFault,
    handled: impl Future<Output = Response>,
    respond: impl FnOnce(InjectedFault) -> Response,
) -> Response {
    match fault {
        InjectedFault::CutBefore => Cut.into_response(),
        InjectedFault::LoseResponse => {
            handled.await;
            Cut.into_response()
        }
        InjectedFault::ServerErrorAfter => {
            handled.await;
            respond(InjectedFault::ServerError)
        }
        InjectedFault::HtmlPage => {
            Html("<!DOCTYPE html>\n<html><body>Welcome! Please sign in.</body></html>\n").into_response()
        }
        InjectedFault::Intermediary { status } => page(status),
        InjectedFault::IntermediaryAfter { status } => {
            handled.await;
            page(status)
        }
        InjectedFault::CutBody => cut_body(handled.await).await,
        InjectedFault::EmptyBody => empty_body(handled.await),
        fault => respond(fault),
    }
}

fn with_faults<P: FaultInjection + ?Sized, T>(platform: &P, use_faults: impl FnOnce(&mut InjectedFaults) -> T) -> T {
    use_faults(&mut platform.as_ref().lock().unwrap_or_else(PoisonError::into_inner))
}

/// A page of an intermediary, as nginx and Cloudflare write it. Real pages contain data for
/// scripts, which may look like a response of a platform.
fn page(status: u16) -> Response {
    let status = StatusCode::from_u16(status).expect("a test orders statuses that exist");
    let page = format!(
        "<html>\n<head><title>{status}</title>\n<script>var it = {{\"code\":\"rest_not_logged_in\",\
         \"errcode\":\"M_UNKNOWN_TOKEN\",\"message\":\"Blocked.\",\"id\":1}};</script></head>\n\
         <body><h1>{status}</h1></body>\n</html>\n"
    );
    (status, Html(page)).into_response()
}

/// A response that a test has written: JSON, or a redirect to the URL in `body`.
fn scripted(status: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(status).expect("a test orders statuses that exist");
    match body.as_str().filter(|_| status.is_redirection()) {
        Some(target) => (status, [(LOCATION, target)]).into_response(),
        None => (status, Json(body)).into_response(),
    }
}

/// A response that ends in the middle of its body.
async fn cut_body(response: Response) -> Response {
    if !response.status().is_success() {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let whole = to_bytes(body, usize::MAX).await.expect("a handler's body is in memory");
    head.headers.insert(CONTENT_LENGTH, whole.len().into());
    let beginning = stream::iter([Ok(whole.slice(..whole.len() / 2))]);
    let end = stream::once(async {
        // hyper sends its buffer only when the body is pending.
        yield_now().await;
        Err(Cut)
    });
    Response::from_parts(head, Body::from_stream(beginning.chain(end)))
}

fn empty_body(response: Response) -> Response {
    if !response.status().is_success() {
        return response;
    }
    let (mut head, _) = response.into_parts();
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Body::empty())
}

/// Replaces the messages at these JSON pointers of an error response by a translation. Numbers and
/// names stay.
async fn translated(response: Response, pointers: &[&str]) -> Response {
    let is_refusal = response.status().is_client_error() || response.status().is_server_error();
    if pointers.is_empty() || !is_refusal {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a handler's body is in memory");
    let Ok(mut refusal) = serde_json::from_slice::<Value>(&body) else {
        return Response::from_parts(head, Body::from(body));
    };
    for pointer in pointers {
        let Some(Value::String(message)) = refusal.pointer_mut(pointer) else { continue };
        // A single word may be a code.
        if message.contains(' ') {
            let numbers = message.split(' ').filter(|it| it.contains(|it: char| it.is_ascii_digit()));
            *message =
                numbers.fold("現在この操作は実行できません".to_owned(), |message, it| message + " " + it);
        }
    }
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Body::from(refusal.to_string()))
}
