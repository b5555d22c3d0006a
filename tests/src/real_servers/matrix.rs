//! A real Synapse. Accounts are connected by password.

mod server;

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use axum::{
    Json,
    http::{Method, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use domain::{
    clock::Clock,
    media::MimeType,
    options::{OptionValue, Options},
};
use fakes::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicMedium, PublicPost};
use fakes::fake::wire;
use platforms::FieldValues;
use serde_json::{Value, json};
use url::Url;

use self::server::SynapseSettings;
pub use self::server::{PASSWORD, Synapse, USER};
use super::{
    fault_proxy::{FaultProxy, Protocol, lock},
    wait_for,
};
use crate::{error::Result, http_response::text};

/// The field of a message in which the adapter keeps its transaction id.
const REFERENCE: &str = "social_publishing.reference";

tokio::task_local! {
    static HOMESERVER: Arc<Homeserver>;
}

struct Homeserver {
    server: Synapse,
    address: SocketAddr,
    proxy: Arc<FaultProxy<MatrixProtocol>>,
}

impl Homeserver {
    async fn start(settings: SynapseSettings) -> Result<Arc<Self>> {
        let server = Synapse::start(settings).await?;
        let (listener, address) = wire::listen().await;
        let proxy = FaultProxy::start(listener, server.listens(), MatrixProtocol);
        Ok(Arc::new(Self { server, address, proxy }))
    }
}

/// Runs checks that share a server and its user. Each has its own room and devices.
pub async fn share(checks: impl Future<Output = ()>) -> Result {
    let settings = SynapseSettings { access_token_lifetime: "24h", limits_messages: false };
    HOMESERVER.scope(Homeserver::start(settings).await?, checks).await;
    Ok(())
}

struct MatrixProtocol;

impl Protocol for MatrixProtocol {
    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        let path = head.uri.path().strip_prefix("/_matrix/")?;
        match path.strip_prefix("client/v3/").unwrap_or(path) {
            "media/v3/upload" => Some(Call::Upload),
            "login" if head.method == Method::POST => Some(Call::Exchange),
            "refresh" => Some(Call::Refresh),
            "logout" => Some(Call::Revoke),
            it if it.contains("/send/") => Some(Call::Publish),
            it if it.ends_with("/messages") => Some(Call::LookUp),
            it if it.starts_with("profile/") => Some(Call::Account),
            _ => None,
        }
    }

    /// As Synapse responds.
    fn respond(&self, _: Call, fault: InjectedFault) -> Response {
        let error = |status: StatusCode, code: &str, message: &str| {
            (status, Json(json!({ "errcode": code, "error": message }))).into_response()
        };
        match fault {
            InjectedFault::RateLimited { retry_after } => {
                let body = json!({
                    "errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests",
                    "retry_after_ms": retry_after.num_milliseconds(),
                });
                (StatusCode::TOO_MANY_REQUESTS, Json(body)).into_response()
            }
            InjectedFault::Unavailable => error(StatusCode::SERVICE_UNAVAILABLE, "M_UNKNOWN", "Service unavailable"),
            InjectedFault::Refused => error(StatusCode::FORBIDDEN, "M_FORBIDDEN", "This message has been rejected"),
            _ => error(StatusCode::INTERNAL_SERVER_ERROR, "M_UNKNOWN", "Internal server error"),
        }
    }

    fn expired(&self) -> Response {
        let body = json!({ "errcode": "M_UNKNOWN_TOKEN", "error": "Access token has expired", "soft_logout": true });
        (StatusCode::UNAUTHORIZED, Json(body)).into_response()
    }

    fn access_token(&self, response: &Value) -> Option<String> {
        response["access_token"].as_str().map(ToOwned::to_owned)
    }
}

/// A new room of the user, who is logged in nowhere else.
pub struct RealMatrix {
    homeserver: Arc<Homeserver>,
    room: String,
    manual_posts: Mutex<usize>,
}

impl RealMatrix {
    /// A homeserver whose access tokens expire after 20 seconds, so that nearly every delivery refreshes
    /// them, and which limits messages: ten at once, then one in five seconds.
    pub async fn start_alone() -> Result<Self> {
        let settings = SynapseSettings { access_token_lifetime: "20s", limits_messages: true };
        Self::new_room(Homeserver::start(settings).await?).await
    }

    pub fn server(&self) -> &Synapse {
        &self.homeserver.server
    }

    pub fn room(&self) -> &str {
        &self.room
    }

    async fn new_room(homeserver: Arc<Homeserver>) -> Result<Self> {
        homeserver.server.log_all_out().await?;
        homeserver.proxy.reset();
        let room = homeserver.server.room("Harbour", json!([])).await?;
        Ok(Self { homeserver, room, manual_posts: Mutex::default() })
    }

    fn public_media(&self, message: &Value, is_first: bool) -> Result<Option<PublicMedium>> {
        let content = &message["content"];
        if content["url"].is_null() {
            return Ok(None);
        }
        let mime_type = text(&content["info"], "mimetype")?;
        // The caption of the first file is the text of the post.
        let caption = content["body"].as_str().filter(|_| !is_first && content["body"] != content["filename"]);
        Ok(Some(PublicMedium {
            mime_type: MimeType::parse(mime_type).expect("a type that the service knows"),
            bytes: wait_for(self.homeserver.server.file(message))?,
            alt_text: caption.map(ToOwned::to_owned),
        }))
    }

    /// The event that a message replies to, if the homeserver lists the message in the thread that it
    /// names.
    fn thread_parent(&self, message: &Value) -> Result<Option<String>> {
        let relation = &message["content"]["m.relates_to"];
        let Some(root) = relation["event_id"].as_str() else { return Ok(None) };
        let thread = wait_for(self.homeserver.server.thread(&self.room, root))?;
        let is_listed = thread.iter().any(|it| it["event_id"] == message["event_id"]);
        let parent = relation["m.in_reply_to"]["event_id"].as_str().filter(|_| is_listed);
        Ok(parent.map(ToOwned::to_owned))
    }

    fn posts(&self) -> Result<Vec<PublicPost>> {
        let mut posts: Vec<(String, PublicPost)> = Vec::new();
        let mut transactions = BTreeSet::new();
        for message in wait_for(self.homeserver.server.messages(&self.room))? {
            let content = &message["content"];
            let Some(transaction) = content[REFERENCE].as_str() else { continue };
            let reference = transaction.rsplit_once('.').map_or(transaction, |(reference, _)| reference);
            // A repeated message counts as another post.
            let is_repeated = !transactions.insert(transaction.to_owned());
            if !is_repeated && let Some((_, post)) = posts.iter_mut().find(|(it, _)| it == reference) {
                post.media.extend(self.public_media(&message, false)?);
                continue;
            }
            // Without a caption, the body of a file is its name.
            let is_name = content["body"] == content["filename"];
            let post = PublicPost {
                id: text(&message, "event_id")?.to_owned(),
                text: content["body"].as_str().filter(|_| !is_name).unwrap_or_default().to_owned(),
                media: self.public_media(&message, true)?.into_iter().collect(),
                reply_to: self.thread_parent(&message)?,
            };
            posts.push((reference.to_owned(), post));
        }
        Ok(posts.into_iter().map(|(_, post)| post).collect())
    }
}

#[async_trait]
impl FakePlatform for RealMatrix {
    async fn start(_: Clock) -> Self {
        Self::new_room(HOMESERVER.with(Arc::clone)).await.expect("the server creates a room")
    }

    fn name(&self) -> &'static str {
        "matrix"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.homeserver.address]
    }

    fn settings(&self) -> Value {
        json!({})
    }

    fn form_values(&self) -> FieldValues {
        let values = [("user", USER), ("password", PASSWORD), ("homeserver", &self.base_url())];
        values.map(|(name, value)| (name.to_owned(), value.into())).into()
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        Some(self.form_values())
    }

    fn has_authorization_page(&self) -> bool {
        false
    }

    fn options(&self) -> Options {
        [("room".to_owned(), OptionValue::Text(self.room.clone()))].into_iter().collect()
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        unreachable!("no page is opened: {url}, {decision:?}")
    }

    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize) {
        self.homeserver.proxy.faults().order(call, fault, count);
    }

    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        call != Call::Process && (fault != InjectedFault::Refused || call == Call::Publish)
    }

    /// The server repeats no request in its errors.
    fn echo_requests(&self) -> bool {
        false
    }

    fn revoke(&self) {
        wait_for(self.homeserver.server.log_all_out()).expect("all devices are logged out");
    }

    fn end_access_tokens(&self) {
        self.homeserver.proxy.end_access_tokens();
    }

    fn publish_manual_post(&self, text: &str) {
        let number = &mut *lock(&self.manual_posts);
        *number += 1;
        wait_for(self.homeserver.server.say(&self.room, &format!("by-hand-{number}"), text)).expect("it is published");
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        self.posts().expect("the server serves its files")
    }

    fn links(&self) -> Option<Vec<String>> {
        let messages = wait_for(self.homeserver.server.messages(&self.room)).expect("the server lists them");
        let html = messages.last()?["content"]["formatted_body"].as_str().unwrap_or_default().to_owned();
        let links = html.split("<a href=").skip(1).filter_map(|it| it.split_once('>')?.1.split_once("</a>"));
        Some(links.map(|(words, _)| words.to_owned()).collect())
    }

    fn grant_count(&self) -> usize {
        wait_for(self.homeserver.server.devices()).expect("the server lists them").len()
    }

    fn call_count(&self, call: Call) -> usize {
        self.homeserver.proxy.faults().calls(call)
    }
}
