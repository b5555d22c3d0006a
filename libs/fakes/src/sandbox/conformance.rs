//! The sandbox under the conformance suite.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use domain::clock::Clock;
use domain::media::MimeType;
use domain::options::Options;
use platforms::{AppCredentials, FieldValues};
use serde_json::{Value, json};
use url::Url;

use super::accounts::Account;
use super::fact::{Comment, Fact, Post};
use super::fault_kind::{Effect, FaultKind};
use super::faults::Order;
use super::operation::Operation;
use super::{CLIENT_ID, CLIENT_SECRET, Sandbox};
use crate::conformance::fake_platform::{self, Decision, InjectedFault, PublicMedium, PublicPost};
use crate::fake::echo::{self, Echo};
use crate::fake::oauth::{Authorizes, HasOAuth, decide};
use crate::fake::wire;

const ACCOUNT: &str = "harbour";

/// The calls that arrived.
type Calls = Arc<Mutex<Vec<Operation>>>;

struct ListeningSandbox {
    sandbox: Sandbox,
    address: SocketAddr,
    /// Error responses quote the request.
    echo: Echo,
    calls: Calls,
}

#[async_trait]
impl fake_platform::FakePlatform for ListeningSandbox {
    async fn start(clock: Clock) -> Self {
        let (listener, address) = wire::listen().await;
        let sandbox = Sandbox::open(None, format!("http://{address}"), clock).unwrap();
        let (echo, calls) = (Echo::default(), Calls::default());
        let router = super::router(sandbox.clone()).layer(from_fn_with_state(Arc::clone(&calls), note_call));
        wire::serve_on(listener, echo::wrap(router, &echo));
        Self { sandbox, address, echo, calls }
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
        decide(url, ACCOUNT, decision).await
    }

    fn inject_fault(&self, call: fake_platform::Call, fault: InjectedFault, count: usize) {
        let mut faults = self.sandbox.faults();
        let operations: &[Operation] = match call {
            // A first comment is a call of its own.
            fake_platform::Call::Publish if fault == InjectedFault::LoseResponse => {
                &[Operation::Publish, Operation::Comment]
            }
            _ => &[operation(call)],
        };
        let is_replaced = |it: &Order| it.kind.affects(operation(call)) || it.kind.affects(Operation::Comment);
        for order in faults.armed().iter().filter(|it| is_replaced(it)).map(|it| it.id).collect::<Vec<_>>() {
            faults.switch_off(order);
        }
        if count == 0 {
            return;
        }
        let delay_ms = match fault {
            InjectedFault::RateLimited { retry_after } => u64::try_from(retry_after.num_milliseconds()).unwrap(),
            _ => 0,
        };
        for operation in operations {
            let kind = FaultKind::new("", "", *operation, Effect::OfKit(fault));
            let count = Some(u32::try_from(count).unwrap());
            faults.arm(Order { id: 0, account: None, kind, count, delay_ms, file: 1 }).unwrap();
        }
    }

    /// A fault is armed for an account, so only calls that name one can fail.
    fn can_fail(&self, call: fake_platform::Call, _: InjectedFault) -> bool {
        use fake_platform::Call::{Account, LookUp, Publish, Refresh, Upload};
        matches!(call, Account | LookUp | Publish | Refresh | Upload)
    }

    fn echo_requests(&self) -> bool {
        self.echo.store(true, Ordering::Relaxed);
        true
    }

    fn revoke(&self) {
        self.sandbox.0.oauth().revoke_all();
    }

    fn end_access_tokens(&self) {
        self.sandbox.0.end_access_tokens();
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
        let posts = ledger.posts().iter().zip(1..);
        let shown = |post: &Post, id: &String| PublicMedium {
            alt_text: post.alt_texts.get(id).cloned(),
            mime_type: MimeType::parse(&ledger.medium(id).unwrap().mime_type).unwrap(),
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
        let comments = ledger.comments().iter().zip(1..).map(|(comment, id): (_, usize)| PublicPost {
            id: Comment::id(id),
            text: comment.text.clone(),
            media: Vec::new(),
            reply_to: Some(comment.post.to_string()),
        });
        Some(comments.collect())
    }

    fn grant_count(&self) -> usize {
        self.sandbox.0.oauth().usable()
    }

    fn call_count(&self, call: fake_platform::Call) -> usize {
        self.calls.lock().unwrap().iter().filter(|it| **it == operation(call)).count()
    }
}

async fn note_call(State(calls): State<Calls>, request: Request, next: Next) -> Response {
    let Some(operation) = Operation::from_request(request.method(), request.uri().path()) else {
        return next.run(request).await;
    };
    let (head, body) = request.into_parts();
    // After a read error the client is gone.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    calls.lock().unwrap().push(operation.refine(&head, &body));
    next.run(Request::from_parts(head, Body::from(body))).await
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

crate::conformance!(ListeningSandbox);
