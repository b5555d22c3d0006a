//! A real Ghost. Accounts are connected by Admin API key.

mod server;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use axum::{http::request::Parts, response::Response};
use chrono::TimeDelta;
use domain::{
    clock::Clock,
    media::{FileType, MimeType},
    testing::noon,
};
use fakes::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicPost};
use fakes::{
    fake::{article::paragraphs, injected_faults::InjectedFaults, wire},
    ghost::{
        classify, respond,
        shown_post::{ShownPost, shown_post},
    },
};
use platforms::FieldValues;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use url::Url;

use self::server::{GhostServer, Integration};
use super::{
    fault_proxy::{FaultProxy, Protocol, lock},
    wait_for,
};
use crate::{error::Result, http_response::text};

tokio::task_local! {
    static SITE: Arc<Site>;
}

struct Site {
    server: GhostServer,
    address: SocketAddr,
    proxy: Arc<FaultProxy<AdminApi>>,
    /// `None` once the owner has deleted it.
    integration: Mutex<Option<Integration>>,
}

impl Site {
    /// With `now`, the site checks tokens as if it were that time.
    async fn start(now: Option<&str>) -> Result<Arc<Self>> {
        let (listener, address) = wire::listen().await;
        let server = GhostServer::start(address.port(), now).await?;
        let integration = Mutex::new(Some(server.integration.clone()));
        let proxy = FaultProxy::start(listener, server.listens(), AdminApi);
        Ok(Arc::new(Self { server, address, proxy, integration }))
    }
}

/// Runs checks that share a site. Each begins without posts, because the references of posts begin anew.
pub async fn share(checks: impl Future<Output = ()>) -> Result {
    // The clocks of the checks begin at noon. For an hour from now on, their tokens are not too old.
    let now = (noon() - TimeDelta::hours(1)).to_rfc3339();
    SITE.scope(Site::start(Some(&now)).await?, checks).await;
    Ok(())
}

struct AdminApi;

impl Protocol for AdminApi {
    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        classify(&head.method, head.uri.path().strip_prefix("/ghost/api/admin/")?)
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        respond(call, fault)
    }
}

pub struct RealGhost {
    site: Arc<Site>,
}

impl RealGhost {
    /// A site whose time is real.
    pub async fn start_alone() -> Result<Self> {
        Ok(Self { site: Site::start(None).await? })
    }

    pub fn server(&self) -> &GhostServer {
        &self.site.server
    }

    pub fn faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.site.proxy.faults()
    }

    fn shown(&self, post: &Value) -> Result<ShownPost> {
        let featured = post["feature_image"].as_str().map(|it| (it, post["feature_image_alt"].as_str().unwrap_or("")));
        let bytes = |url: &str| wait_for(self.site.server.bytes(url)).expect("the site serves its files").1;
        Ok(shown_post(text(post, "title")?, post["html"].as_str().unwrap_or(""), featured, bytes))
    }

    fn public_post(&self, post: &Value) -> Result<PublicPost> {
        let ShownPost { text: shown, media, .. } = self.shown(post)?;
        Ok(PublicPost { id: text(post, "id")?.to_owned(), text: shown, media, reply_to: None })
    }

    fn posts(&self) -> Vec<Value> {
        wait_for(self.site.server.posts()).expect("the site lists them")
    }
}

#[async_trait]
impl FakePlatform for RealGhost {
    async fn start(_: Clock) -> Self {
        let site = SITE.with(Arc::clone);
        site.server.delete_posts().await.expect("the owner may delete them");
        site.proxy.reset();
        Self { site }
    }

    fn name(&self) -> &'static str {
        "ghost"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.site.address]
    }

    fn settings(&self) -> Value {
        json!({})
    }

    /// The owner adds an integration if there is none.
    fn form_values(&self) -> FieldValues {
        let mut integration = lock(&self.site.integration);
        let integration = integration.get_or_insert_with(|| {
            let added = wait_for(self.site.server.add_integration("social again")).expect("the owner may add one");
            // The ids of Ghost begin with the second, so a post of the same second would look like a part of the key.
            wait_for(sleep(Duration::from_secs(1)));
            added
        });
        let values = [("site", self.base_url()), ("admin_api_key", integration.key.clone())];
        values.map(|(name, value)| (name.to_owned(), value.into())).into()
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        Some(self.form_values())
    }

    fn has_authorization_page(&self) -> bool {
        false
    }

    /// A video has a label instead, whose line breaks Ghost changes.
    fn has_alt_texts(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    fn revokes_grants(&self) -> bool {
        false
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        unreachable!("no page is opened: {url}, {decision:?}")
    }

    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize) {
        self.site.proxy.faults().order(call, fault, count);
    }

    /// A 413 page for an upload is the response of the site's own web server, which refuses a large file.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        let is_own_page = (call, fault) == (Call::Upload, InjectedFault::Intermediary { status: 413 });
        !matches!(call, Call::Refresh | Call::Revoke)
            && !is_own_page
            && (fault != InjectedFault::Refused || call == Call::Publish)
    }

    /// The site repeats no request in its errors.
    fn echo_requests(&self) -> bool {
        false
    }

    fn revoke(&self) {
        if let Some(Integration { id, .. }) = lock(&self.site.integration).take() {
            wait_for(self.site.server.delete_integration(&id)).expect("the owner may delete it");
        }
    }

    fn end_access_tokens(&self) {}

    fn publish_manual_post(&self, text: &str) {
        let post = json!({ "title": text, "html": format!("<p>{text}</p>"), "status": "published" });
        let body = json!({ "posts": [post] });
        wait_for(self.site.server.call(Method::POST, "posts/?source=html", &body)).expect("it is published");
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let posts = self.posts().into_iter().filter(|it| it["status"] == "published");
        let posts: Result<_> = posts.map(|it| self.public_post(&it)).collect();
        posts.expect("posts are of paragraphs and cards")
    }

    fn displayed_text(&self, text: &str) -> String {
        paragraphs(text)
    }

    fn links(&self) -> Option<Vec<String>> {
        Some(self.shown(self.posts().last()?).ok()?.links)
    }

    fn grant_count(&self) -> usize {
        usize::from(lock(&self.site.integration).is_some())
    }

    fn call_count(&self, call: Call) -> usize {
        self.site.proxy.faults().calls(call)
    }
}
