//! The sandbox under the conformance suite.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use domain::clock::Clock;
use domain::media::MimeType;
use domain::options::Options;
use futures::stream;
use platforms::conformance::echo::with_request;
use platforms::conformance::fake_platform::{self, Decision, InjectedFault, PublicMedium, PublicPost};
use platforms::{AppCredentials, FieldValues};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use super::accounts::Account;
use super::fact::{Comment, Fact, Post};
use super::fault_kind::FaultKind;
use super::faults::Order;
use super::operation::Operation;
use super::{CLIENT_ID, CLIENT_SECRET, Sandbox};

/// The user's account.
const ACCOUNT: &str = "harbour";

struct ListeningSandbox {
    sandbox: Sandbox,
    address: SocketAddr,
    /// Whether error responses quote the request.
    echo: Arc<AtomicBool>,
}

async fn echo_request(State(echo): State<Arc<AtomicBool>>, request: Request, next: Next) -> Response {
    if !echo.load(Ordering::Relaxed) {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let authorization = head.headers.get(header::AUTHORIZATION).map(|it| it.to_str().unwrap().to_owned());
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let response = next.run(Request::from_parts(head, Body::from(body.clone()))).await;
    if response.status().as_u16() < 400 {
        return response;
    }
    let (mut head, refusal) = response.into_parts();
    // A response that a fault cuts off has no readable body.
    let Ok(refusal) = to_bytes(refusal, usize::MAX).await else {
        return Response::from_parts(head, Body::from_stream(stream::iter([Err::<Bytes, _>("cut off")])));
    };
    head.headers.remove(header::CONTENT_LENGTH);
    let repeated = with_request(&refusal, &authorization.unwrap_or_default(), &body);
    Response::from_parts(head, repeated.map_or_else(|| Body::from(refusal), Body::from))
}

#[async_trait]
impl fake_platform::FakePlatform for ListeningSandbox {
    async fn start(clock: Clock) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let sandbox = Sandbox::open(None, format!("http://{address}"), clock).unwrap();
        let echo = Arc::default();
        let router = super::router(sandbox.clone()).layer(from_fn_with_state(Arc::clone(&echo), echo_request));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { sandbox, address, echo }
    }

    fn name(&self) -> &'static str {
        "sandbox"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn settings(&self) -> Value {
        json!({ "url": format!("http://{}/sandbox", self.address) })
    }

    fn app_credentials(&self) -> Option<AppCredentials> {
        Some(AppCredentials::new(CLIENT_ID, CLIENT_SECRET))
    }

    fn form_values(&self) -> FieldValues {
        FieldValues::new()
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        let request = Url::parse(url).unwrap().query().unwrap().to_owned();
        let answer = if decision == Decision::Allow { "allow" } else { "deny" };
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        assert_eq!(client.get(url).send().await.unwrap().status(), 200);
        let form = [("request", request.as_str()), ("account", ACCOUNT), ("answer", answer)];
        let to = format!("http://{}/sandbox/oauth/authorize", self.address);
        let back = client.post(to).form(&form).send().await.unwrap();
        Url::parse(back.headers()["location"].to_str().unwrap()).unwrap()
    }

    fn inject_fault(&self, call: fake_platform::Call, trouble: InjectedFault, count: usize) {
        let mut faults = self.sandbox.faults();
        let before: Vec<_> =
            faults.armed().iter().filter(|it| it.kind.strikes(operation(call))).map(|it| it.id).collect();
        for order in before {
            faults.switch_off(order);
        }
        let Some(kind) = kind(call, trouble).filter(|_| 0 < count) else { return };
        let delay_ms = match trouble {
            InjectedFault::RateLimited { retry_after } => u64::try_from(retry_after.num_milliseconds()).unwrap(),
            _ => 0,
        };
        let count = Some(u32::try_from(count).unwrap());
        faults.arm(Order { id: 0, account: None, kind, count, delay_ms, file: 1 }).unwrap();
        // Comments have faults of their own. The one that is not struck is replaced by the next.
        let is_of_comments = |it: &FaultKind| it.strikes(Operation::Comment);
        for order in faults.armed().iter().filter(|it| is_of_comments(&it.kind)).map(|it| it.id).collect::<Vec<_>>() {
            faults.switch_off(order);
        }
        if kind == FaultKind::LoseAnswer {
            let kind = FaultKind::CommentLoseAnswer;
            faults.arm(Order { id: 0, account: None, kind, count, delay_ms, file: 1 }).unwrap();
        }
    }

    fn can_fail(&self, call: fake_platform::Call, trouble: InjectedFault) -> bool {
        kind(call, trouble).is_some()
    }

    fn echo_requests(&self) -> bool {
        self.echo.store(true, Ordering::Relaxed);
        true
    }

    fn revoke(&self) {
        let mut ledger = self.sandbox.ledger();
        for grant in ledger.state().grants_of(None) {
            ledger.record(Fact::Revoked { grant }).unwrap();
        }
    }

    fn end_access_tokens(&self) {
        let mut ledger = self.sandbox.ledger();
        let grants = ledger.state().grants_of(None);
        ledger.record(Fact::Expired { grants }).unwrap();
    }

    fn publish_manual_posts(&self, count: usize) {
        let mut ledger = self.sandbox.ledger();
        for number in 1..=count {
            let post = Post {
                account: Account::find(ACCOUNT).unwrap(),
                text: format!("by hand, number {number}"),
                media: Vec::new(),
                alt_texts: BTreeMap::new(),
                options: Options::default(),
                reference: String::new(),
                reply_to: None,
                at: self.sandbox.now(),
            };
            ledger.record(Fact::Posted(post)).unwrap();
        }
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let ledger = self.sandbox.ledger();
        let posts = ledger.state().posts().iter().zip(1..);
        let shown = |post: &Post, id: &String| PublicMedium {
            alt_text: post.alt_texts.get(id).cloned(),
            mime_type: MimeType::parse(&ledger.state().medium(id).unwrap().mime_type).unwrap(),
            bytes: std::fs::read(self.sandbox.media_dir().join(id)).unwrap(),
        };
        posts
            .map(|(post, id): (_, usize)| PublicPost {
                id: id.to_string(),
                text: post.text.clone(),
                media: post.media.iter().map(|id| shown(post, id)).collect(),
                reply_to: post.reply_to.map(|it| it.to_string()),
            })
            .collect()
    }

    fn comments(&self) -> Option<Vec<PublicPost>> {
        let ledger = self.sandbox.ledger();
        let comments = ledger.state().comments().iter().zip(1..).map(|(comment, id): (_, usize)| PublicPost {
            id: Comment::id(id),
            text: comment.text.clone(),
            media: Vec::new(),
            reply_to: Some(comment.post.to_string()),
        });
        Some(comments.collect())
    }

    fn grant_count(&self) -> usize {
        self.sandbox.ledger().state().grants_of(None).len()
    }

    fn call_count(&self, call: fake_platform::Call) -> usize {
        self.sandbox.find_calls(|it| it.operation == operation(call)).len()
    }
}

fn operation(call: fake_platform::Call) -> Operation {
    match call {
        fake_platform::Call::Exchange => Operation::Exchange,
        fake_platform::Call::Refresh => Operation::Refresh,
        fake_platform::Call::Revoke => Operation::Revoke,
        fake_platform::Call::Upload => Operation::Upload,
        fake_platform::Call::Process => Operation::LookAtFile,
        fake_platform::Call::Publish => Operation::Publish,
        fake_platform::Call::LookUp => Operation::LookUp,
        fake_platform::Call::Account => Operation::Profile,
    }
}

fn kind(call: fake_platform::Call, fault: InjectedFault) -> Option<FaultKind> {
    use fake_platform::Call::{LookUp, Publish, Refresh, Upload};

    Some(match (call, fault) {
        (Publish, InjectedFault::CutBefore) => FaultKind::LoseCall,
        (Publish, InjectedFault::LoseResponse) => FaultKind::LoseAnswer,
        (Publish, InjectedFault::ServerError) => FaultKind::ErrorBefore,
        (Publish, InjectedFault::ServerErrorAfter) => FaultKind::ErrorAfter,
        (Publish, InjectedFault::RateLimited { .. }) => FaultKind::RateLimit,
        (Publish, InjectedFault::Refused) => FaultKind::Refuse,
        (LookUp, InjectedFault::ServerError) => FaultKind::LookError,
        (Upload, InjectedFault::ServerError) => FaultKind::MediaError,
        (Upload, InjectedFault::Refused) => FaultKind::MediaRefuse,
        (Refresh, InjectedFault::Unavailable) => FaultKind::RefreshUnreachable,
        _ => return None,
    })
}

platforms::conformance!(ListeningSandbox);
