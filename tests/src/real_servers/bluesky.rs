//! A real PDS.

mod person;
mod server;

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use axum::{
    Json,
    http::{StatusCode, header::RETRY_AFTER, request::Parts},
    response::{IntoResponse, Response},
};
use domain::{clock::Clock, media::MimeType};
use fakes::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicMedium, PublicPost};
use fakes::{bluesky::shortened, fake::wire};
use platforms::FieldValues;
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;

use self::server::{BlueskyServer, POSTS};
pub use self::{
    person::{Redirected, SignIn},
    server::ConfidentialClient,
};
use super::{
    fault_proxy::{FaultProxy, Protocol, bearer, lock},
    wait_for,
};
use crate::{
    deployment::missing,
    error::Result,
    http_response::{list, text},
};

tokio::task_local! {
    static PDS: Arc<Pds>;
}

struct Pds {
    server: BlueskyServer,
    port: u16,
    proxy: Arc<FaultProxy<BlueskyProtocol>>,
    accounts: AtomicUsize,
}

impl Pds {
    async fn start(client: Option<ConfidentialClient>) -> Result<Arc<Self>> {
        let (listener, address) = wire::listen().await;
        let server = BlueskyServer::start(address.port(), client).await?;
        let proxy = FaultProxy::start(listener, server.listens(), BlueskyProtocol::default());
        Ok(Arc::new(Self { server, port: address.port(), proxy, accounts: AtomicUsize::new(0) }))
    }
}

/// Runs checks that share a server. Each has its own account, which is connected by app password: the
/// server's own pages need a browser, which takes seconds.
pub async fn share(checks: impl Future<Output = ()>) -> Result {
    PDS.scope(Pds::start(None).await?, checks).await;
    Ok(())
}

#[derive(Default)]
struct BlueskyProtocol(Mutex<Responses>);

/// The server's responses to the adapter.
#[derive(Default)]
struct Responses {
    /// The latest refresh token of each session.
    sessions: Vec<String>,
    /// The URIs of records in the order in which they were stored. The server lists them by their
    /// keys, which for posts of one second have no order.
    records: Vec<String>,
}

impl Protocol for BlueskyProtocol {
    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        let collection = head.uri.query().is_some_and(|it| it.contains(&format!("collection={POSTS}")));
        match head.uri.path().strip_prefix("/xrpc/")? {
            "com.atproto.server.createSession" => Some(Call::Exchange),
            "com.atproto.server.refreshSession" => Some(Call::Refresh),
            "com.atproto.server.deleteSession" => Some(Call::Revoke),
            "com.atproto.repo.uploadBlob" => Some(Call::Upload),
            "app.bsky.actor.getProfile" => Some(Call::Account),
            "com.atproto.repo.putRecord" => Some(Call::Publish),
            "com.atproto.repo.getRecord" if collection => Some(Call::LookUp),
            _ => None,
        }
    }

    /// As `xrpc-server` of the installed PDS responds.
    fn respond(&self, _: Call, fault: InjectedFault) -> Response {
        let error = |status: StatusCode, error: &str, message: &str| {
            (status, Json(json!({ "error": error, "message": message }))).into_response()
        };
        match fault {
            InjectedFault::RateLimited { retry_after } => {
                let mut response = error(StatusCode::TOO_MANY_REQUESTS, "RateLimitExceeded", "Rate Limit Exceeded");
                response.headers_mut().insert(RETRY_AFTER, retry_after.num_seconds().into());
                response
            }
            InjectedFault::Unavailable => {
                error(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "Service Unavailable")
            }
            InjectedFault::Refused => error(StatusCode::BAD_REQUEST, "InvalidRequest", "Invalid record"),
            _ => error(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", "Internal Server Error"),
        }
    }

    fn expired(&self) -> Response {
        (StatusCode::BAD_REQUEST, Json(json!({ "error": "ExpiredToken", "message": "Token has expired" })))
            .into_response()
    }

    fn access_token(&self, response: &Value) -> Option<String> {
        response["accessJwt"].as_str().map(ToOwned::to_owned)
    }

    fn responded(&self, head: &Parts, response: &Value) {
        let observed = &mut *lock(&self.0);
        let sent = |name: &str| response[name].as_str().map(ToOwned::to_owned);
        match head.uri.path() {
            "/xrpc/com.atproto.server.createSession" => observed.sessions.extend(sent("refreshJwt")),
            "/xrpc/com.atproto.server.refreshSession" => {
                let old = bearer(&head.headers).unwrap_or_default();
                let session = observed.sessions.iter_mut().find(|it| *it == old);
                if let (Some(session), Some(new)) = (session, sent("refreshJwt")) {
                    *session = new;
                }
            }
            "/xrpc/com.atproto.repo.putRecord" => observed.records.extend(sent("uri")),
            _ => {}
        }
    }
}

const APP_PASSWORD: &str = "tests";

fn app_password_value(password: &Mutex<String>) -> (String, SecretString) {
    ("app_password".to_owned(), lock(password).as_str().into())
}

async fn create_app_password(server: &BlueskyServer, token: &str) -> Result<String> {
    let body = json!({ "name": APP_PASSWORD });
    let created = server.call("com.atproto.server.createAppPassword", Some(token), &body).await?;
    Ok(text(&created, "password")?.to_owned())
}

pub struct RealBluesky {
    pds: Arc<Pds>,
    did: String,
    handle: String,
    /// `None` for an account that is connected on the server's pages.
    app_password: Option<Mutex<String>>,
    /// Access token of the user's own session.
    token: String,
}

impl RealBluesky {
    /// The account that a new server has, which is connected on the server's pages. The server must accept
    /// this confidential client.
    pub async fn start_alone(client: Option<ConfidentialClient>) -> Result<Self> {
        let pds = Pds::start(client).await?;
        let account = pds.server.account();
        let (did, handle) = (account.did.clone(), account.handle.clone());
        let body = json!({ "identifier": handle, "password": account.password });
        let session = pds.server.call("com.atproto.server.createSession", None, &body).await?;
        let token = text(&session, "accessJwt")?.to_owned();
        Ok(Self { pds, did, handle, app_password: None, token })
    }

    pub fn did(&self) -> &str {
        &self.did
    }

    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// The owner uses the server's pages in Chromium.
    pub async fn sign_in(&self, sign_in: SignIn) -> Result<Redirected> {
        self.pds.server.sign_in(sign_in).await
    }

    async fn new_account(pds: Arc<Pds>) -> Result<Self> {
        let number = pds.accounts.fetch_add(1, Ordering::SeqCst);
        let (handle, email) = (format!("account{number}.test"), format!("{number}@example.com"));
        let body = json!({ "handle": handle, "password": "on-loopback", "email": email });
        let created = pds.server.call("com.atproto.server.createAccount", None, &body).await?;
        let (did, token) = (text(&created, "did")?.to_owned(), text(&created, "accessJwt")?.to_owned());
        let app_password = Some(create_app_password(&pds.server, &token).await?.into());
        pds.proxy.reset();
        *lock(&pds.proxy.protocol.0) = Responses::default();
        Ok(Self { pds, did, handle, app_password, token })
    }

    /// The post with this URI, with `uri`, `cid` and `value`.
    pub fn record(&self, uri: &str) -> Result<Value> {
        let record = self.records().into_iter().find(|it| it["uri"] == uri);
        record.ok_or_else(|| missing(uri))
    }

    pub async fn blob(&self, blob: &Value) -> Result<Vec<u8>> {
        self.pds.server.blob(&self.did, text(&blob["ref"], "$link")?).await
    }

    fn call(&self, method: &str, body: &Value) -> Result<Value> {
        wait_for(self.pds.server.call(method, Some(&self.token), body))
    }

    /// The account's records, oldest first.
    fn records(&self) -> Vec<Value> {
        let mut records = wait_for(self.pds.server.posts(&self.did)).expect("the server lists them");
        let order = &lock(&self.pds.proxy.protocol.0).records;
        records.sort_by_key(|record| order.iter().position(|it| record["uri"] == *it));
        records
    }

    /// The URI of the record that a reply follows, if the reply names it and the first record of its thread by
    /// their hashes.
    fn parent(reply: &Value, records: &[Value]) -> Option<String> {
        let named = |name: &str| {
            let is_named = |it: &&Value| it["uri"] == reply[name]["uri"] && it["cid"] == reply[name]["cid"];
            records.iter().find(is_named)
        };
        let (root, parent) = (named("root")?, named("parent")?);
        parent["uri"].as_str().filter(|_| root["value"]["reply"].is_null()).map(ToOwned::to_owned)
    }

    fn public_post(&self, record: &Value, records: &[Value]) -> Result<PublicPost> {
        let value = &record["value"];
        let embed = &value["embed"];
        let media = if embed["media"].is_object() { &embed["media"] } else { embed };
        let images = media["images"].as_array().or(media["items"].as_array()).into_iter().flatten();
        let images = images.map(|it| (&it["image"], &it["alt"]));
        let video = media.get("video").map(|it| (it, &media["alt"]));
        let mut files = Vec::new();
        for (blob, alt) in images.chain(video) {
            files.push(PublicMedium {
                mime_type: MimeType::parse(text(blob, "mimeType")?).expect("a type that the service knows"),
                bytes: wait_for(self.blob(blob))?,
                alt_text: alt.as_str().filter(|it| !it.is_empty()).map(ToOwned::to_owned),
            });
        }
        Ok(PublicPost {
            id: text(record, "uri")?.to_owned(),
            text: text(value, "text")?.to_owned(),
            media: files,
            reply_to: Self::parent(&value["reply"], records),
        })
    }
}

#[async_trait]
impl FakePlatform for RealBluesky {
    async fn start(_: Clock) -> Self {
        Self::new_account(PDS.with(Arc::clone)).await.expect("the server creates an account")
    }

    fn name(&self) -> &'static str {
        "bluesky"
    }

    /// The name `localhost` has both.
    fn addresses(&self) -> Vec<SocketAddr> {
        vec![([127, 0, 0, 1], self.pds.port).into(), SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, self.pds.port))]
    }

    /// The server resolves its own handles, and has neither `AppView` nor video service.
    fn settings(&self) -> Value {
        let url = self.pds.server.url();
        json!({ "plc": self.pds.server.directory(), "resolver": url, "appview": url })
    }

    fn form_values(&self) -> FieldValues {
        let handle = [("handle".to_owned(), self.handle.as_str().into())];
        handle.into_iter().chain(self.app_password.iter().map(app_password_value)).collect()
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        self.app_password.as_ref().map(|_| self.form_values())
    }

    fn has_authorization_page(&self) -> bool {
        self.app_password.is_none()
    }

    /// Access tokens stay valid for two hours after their session has ended.
    fn revokes_grants(&self) -> bool {
        false
    }

    fn revokes_direct_grants(&self) -> bool {
        true
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        let sign_in = SignIn { decision, ..SignIn::at(url, "redirect") };
        let redirected = self.sign_in(sign_in).await.expect("the server redirects the owner");
        Url::parse(&redirected.to).expect("the server redirects to a URL")
    }

    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize) {
        self.pds.proxy.faults().order(call, fault, count);
    }

    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        fault != InjectedFault::Refused || call == Call::Publish
    }

    /// The server repeats no request in its errors.
    fn echo_requests(&self) -> bool {
        false
    }

    /// The user replaces the app password, or revokes the access of the service, which must be the only
    /// client of the account.
    fn revoke(&self) {
        let Some(app_password) = &self.app_password else {
            return wait_for(self.pds.server.revoke()).expect("the server lists the client");
        };
        self.call("com.atproto.server.revokeAppPassword", &json!({ "name": APP_PASSWORD })).expect("it is revoked");
        let new = wait_for(create_app_password(&self.pds.server, &self.token));
        *lock(app_password) = new.expect("it is replaced");
    }

    fn end_access_tokens(&self) {
        self.pds.proxy.end_access_tokens();
    }

    fn publish_manual_posts(&self, count: usize) {
        let post = |number| {
            let value = json!({
                "$type": POSTS, "text": format!("by hand, number {number}"), "createdAt": "2026-11-21T12:00:00.000Z",
            });
            json!({ "$type": "com.atproto.repo.applyWrites#create", "collection": POSTS, "value": value })
        };
        let writes: Vec<_> = (1..=count).map(post).collect();
        // The server accepts at most 200 at a time.
        for writes in writes.chunks(200) {
            let body = json!({ "repo": self.did, "writes": writes });
            self.call("com.atproto.repo.applyWrites", &body).expect("they are published");
        }
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let records = self.records();
        let posts: Result<_> = records.iter().map(|it| self.public_post(it, &records)).collect();
        posts.expect("the server serves its files")
    }

    fn displayed_text(&self, text: &str) -> String {
        shortened(text)
    }

    fn links(&self) -> Option<Vec<String>> {
        let records = self.records();
        let Some(value) = records.last().map(|it| &it["value"]) else { return Some(Vec::new()) };
        let shown = value["text"].as_str().unwrap_or_default();
        let link = |facet: &Value| {
            let is_link = facet["features"][0]["$type"] == "app.bsky.richtext.facet#link";
            let index = |name: &str| facet["index"][name].as_u64().and_then(|it| usize::try_from(it).ok());
            let range = index("byteStart")?..index("byteEnd")?;
            is_link.then(|| shown[range].to_owned())
        };
        Some(list(value, "facets").unwrap_or_default().iter().filter_map(link).collect())
    }

    /// Sessions that the server still refreshes. It repeats a refresh for two hours, so the adapter's
    /// token stays valid.
    fn grant_count(&self) -> usize {
        let sessions = lock(&self.pds.proxy.protocol.0).sessions.clone();
        let refresh = "com.atproto.server.refreshSession";
        let is_open = |token: &String| wait_for(self.pds.server.call(refresh, Some(token), &Value::Null)).is_ok();
        sessions.iter().filter(|it| is_open(it)).count()
    }

    fn call_count(&self, call: Call) -> usize {
        self.pds.proxy.faults().calls(call)
    }
}
