//! An independent server with Mastodon's API that stores what it receives. It finds mistakes that
//! our adapter and our own fake have in common.
//!
//! It is not Mastodon: it checks neither PKCE nor our secret, has no file that is still being
//! processed, counts every link in full, and interprets `*` as emphasis. Its time is real, and the
//! adapter compares times of statuses, so it is not a server of the conformance suite.

mod server;

use std::{
    net::SocketAddr,
    sync::{Arc, MutexGuard},
};

use async_trait::async_trait;
use axum::{
    http::{Method, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use domain::{clock::Clock, media::MimeType};
use fakes::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicMedium, PublicPost};
use fakes::fake::{injected_faults::InjectedFaults, wire};
use platforms::FieldValues;
use serde_json::{Value, json};
use url::Url;

use self::server::ACCOUNT_BUTTON;
pub use self::server::{ACCOUNT, MEDIA, MastodonServer, STATUSES};
use super::{
    fault_proxy::{FaultProxy, Protocol},
    wait_for,
};
use crate::{
    browser::Browser,
    deployment::missing,
    error::Result,
    html::Form,
    http_response::{list, text},
};

pub struct RealMastodon {
    server: MastodonServer,
    address: SocketAddr,
    proxy: Arc<FaultProxy<ClientApi>>,
}

struct ClientApi;

impl Protocol for ClientApi {
    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        (head.method == Method::POST && head.uri.path() == STATUSES).then_some(Call::Publish)
    }

    fn respond(&self, _: Call, _: InjectedFault) -> Response {
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

impl RealMastodon {
    pub async fn start_alone() -> Result<Self> {
        let (listener, address) = wire::listen().await;
        let server = MastodonServer::start(address.port()).await?;
        let proxy = FaultProxy::start(listener, server.listens(), ClientApi);
        Ok(Self { server, address, proxy })
    }

    pub fn server(&self) -> &MastodonServer {
        &self.server
    }

    pub fn faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.proxy.faults()
    }

    async fn allow(&self, url: &str) -> Result<Url> {
        let mut browser = Browser::new(wire::browser());
        let page = browser.open(url).await?;
        let found = page.form_with_button(ACCOUNT_BUTTON);
        let (form, button) = found.ok_or_else(|| page.test_error("the server does not ask for an account"))?;
        browser.submit_for_redirect(&page, &Form { buttons: vec![button], ..form }, &[]).await
    }

    async fn public_post(&self, status: &Value) -> Result<PublicPost> {
        let id = text(status, "id")?.to_owned();
        let mut media = Vec::new();
        for file in list(status, "media_attachments")? {
            let bytes = self.server.file(file).await?;
            media.push(PublicMedium {
                mime_type: MimeType::sniff(&bytes).expect("a type that the service knows"),
                bytes,
                alt_text: file["description"].as_str().map(ToOwned::to_owned),
            });
        }
        let reply_to = status["in_reply_to_id"].as_str().map(ToOwned::to_owned);
        Ok(PublicPost { text: self.server.source(&id).await?, id, media, reply_to })
    }

    async fn posts(&self) -> Result<Vec<PublicPost>> {
        let mut posts = Vec::new();
        for status in self.server.statuses().await?.iter().rev() {
            posts.push(self.public_post(status).await?);
        }
        Ok(posts)
    }

    async fn take_back(&self) -> Result {
        let token = self.server.granted_token().await?.ok_or_else(|| missing("a grant"))?;
        self.server.take_back(&token).await
    }
}

#[async_trait]
impl FakePlatform for RealMastodon {
    async fn start(_: Clock) -> Self {
        Self::start_alone().await.expect("the server starts")
    }

    fn name(&self) -> &'static str {
        "mastodon"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn settings(&self) -> Value {
        json!({})
    }

    fn form_values(&self) -> FieldValues {
        FieldValues::from([("server".to_owned(), self.base_url().into())])
    }

    async fn redirect_url(&self, url: &str, _: Decision) -> Url {
        self.allow(url).await.expect("the server redirects its user")
    }

    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize) {
        self.proxy.faults().order(call, fault, count);
    }

    fn echo_requests(&self) -> bool {
        false
    }

    fn revoke(&self) {
        wait_for(self.take_back()).expect("the token is revoked");
    }

    fn end_access_tokens(&self) {}

    fn public_posts(&self) -> Vec<PublicPost> {
        wait_for(self.posts()).expect("the server lists them")
    }

    fn grant_count(&self) -> usize {
        usize::from(wait_for(self.server.granted_token()).expect("the server lists its users").is_some())
    }

    fn call_count(&self, call: Call) -> usize {
        self.proxy.faults().calls(call)
    }
}
