//! A real WordPress. Accounts are connected on the site's page for application passwords.

mod server;

use std::{
    net::SocketAddr,
    sync::{Arc, MutexGuard},
};

use async_trait::async_trait;
use axum::{
    Json,
    http::{Method, StatusCode, header::RETRY_AFTER, request::Parts},
    response::{Html, IntoResponse, Response},
};
use domain::{
    clock::Clock,
    media::{FileType, MimeType},
};
use fakes::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicPost};
use fakes::{
    fake::{article::paragraphs, injected_faults::InjectedFaults, wire},
    wordpress::{
        classify,
        shown_post::{LibraryFile, shown_links, shown_post},
    },
};
use platforms::FieldValues;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

pub use self::server::AUTHOR;
use self::server::{UrlLayout, WordpressServer};
use super::{
    fault_proxy::{FaultProxy, Protocol},
    wait_for,
};
use crate::{
    browser::Browser,
    error::Result,
    html::Form,
    http_response::{integer, text},
};

struct RestApi;

impl Protocol for RestApi {
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
        // Without permalinks, the route is in the query.
        let route = query.into_owned().find_map(|(name, route)| (name == "rest_route").then_some(route));
        let route = route.as_deref().or_else(|| head.uri.path().strip_prefix("/wp-json"))?;
        classify(&head.method, &route.strip_prefix("/wp/v2/")?.split('/').collect::<Vec<_>>(), body)
    }

    /// As WordPress, and a server in front of it for limits, respond.
    fn respond(&self, _: Call, fault: InjectedFault) -> Response {
        let error = |status: StatusCode, code: &str, message: &str| {
            let body = json!({ "code": code, "message": message, "data": { "status": status.as_u16() } });
            (status, Json(body)).into_response()
        };
        match fault {
            InjectedFault::RateLimited { retry_after } => {
                let mut response = (StatusCode::TOO_MANY_REQUESTS, Html("Too many requests")).into_response();
                response.headers_mut().insert(RETRY_AFTER, retry_after.num_seconds().into());
                response
            }
            InjectedFault::Unavailable => {
                let page = "Briefly unavailable for scheduled maintenance. Check back in a minute.";
                (StatusCode::SERVICE_UNAVAILABLE, Html(page)).into_response()
            }
            InjectedFault::Refused => error(
                StatusCode::FORBIDDEN,
                "rest_cannot_publish",
                "Sorry, you are not allowed to publish posts in this post type.",
            ),
            _ => error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal_server_error",
                "<p>There has been a critical error on this website.</p>",
            ),
        }
    }
}

pub struct RealWordpress {
    server: WordpressServer,
    address: SocketAddr,
    proxy: Arc<FaultProxy<RestApi>>,
}

impl RealWordpress {
    /// At the top of its host, with permalinks.
    pub async fn start_alone() -> Result<Self> {
        Self::new_site(UrlLayout::Permalinks).await
    }

    /// Below a path, without permalinks.
    pub async fn start_plain() -> Result<Self> {
        Self::new_site(UrlLayout::Plain).await
    }

    async fn new_site(layout: UrlLayout) -> Result<Self> {
        let (listener, address) = wire::listen().await;
        let server = WordpressServer::start(address.port(), layout).await?;
        let proxy = FaultProxy::start(listener, server.listens(), RestApi);
        Ok(Self { server, address, proxy })
    }

    pub fn server(&self) -> &WordpressServer {
        &self.server
    }

    pub fn faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.proxy.faults()
    }

    /// The author signs in, and decides on the site's page for application passwords.
    async fn decide(&self, url: &str, decision: Decision) -> Result<Url> {
        let mut browser = Browser::new(wire::browser());
        self.server.sign_in(&mut browser, &self.base_url()).await?;
        let page = browser.open(url).await?;
        let label = match decision {
            Decision::Allow => "Yes, I approve of this connection",
            Decision::Deny => "No, I do not approve of this connection",
        };
        let found = page.form_with_button(label);
        let (form, button) = found.ok_or_else(|| page.test_error("the site does not ask for a decision"))?;
        browser.submit_for_redirect(&page, &Form { buttons: vec![button], ..form }, &[]).await
    }

    fn posts(&self) -> Result<Vec<Value>> {
        let author = self.server.author().to_string();
        let query = [("author", author.as_str()), ("context", "edit"), ("orderby", "id"), ("order", "asc")];
        let mut posts = Vec::new();
        for page in 1.. {
            let page = page.to_string();
            let query = [&query[..], &[("per_page", "100"), ("page", &page)]].concat();
            let listed = wait_for(self.server.list("wp/v2/posts", &query))?;
            let is_last = listed.len() < 100;
            posts.extend(listed);
            if is_last {
                break;
            }
        }
        Ok(posts)
    }

    fn file(&self, id: u64) -> Result<LibraryFile> {
        let server = &self.server;
        let file = wait_for(server.call(Method::GET, &format!("wp/v2/media/{id}"), &Value::Null))?;
        let source_url = text(&file, "source_url")?.to_owned();
        Ok(LibraryFile {
            bytes: wait_for(server.bytes(&source_url))?.1,
            mime_type: MimeType::parse(text(&file, "mime_type")?).expect("a type that the service knows"),
            alt_text: text(&file, "alt_text")?.to_owned(),
            source_url,
        })
    }

    fn public_post(&self, post: &Value) -> Result<PublicPost> {
        let featured = post["featured_media"].as_u64().filter(|it| *it != 0);
        let (title, content) = (text(&post["title"], "raw")?, text(&post["content"], "raw")?);
        let file = |id| self.file(id).expect("the site serves its files");
        let shown = shown_post(title, content, featured, file);
        Ok(PublicPost { id: integer(post, "id")?.to_string(), text: shown.text, media: shown.media, reply_to: None })
    }
}

/// Each check has a site of its own, because the references of posts begin anew with each.
#[async_trait]
impl FakePlatform for RealWordpress {
    async fn start(_: Clock) -> Self {
        Self::start_alone().await.expect("the site starts")
    }

    fn name(&self) -> &'static str {
        "wordpress"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn base_url(&self) -> String {
        format!("http://{}{}", self.address, self.server.base())
    }

    fn settings(&self) -> Value {
        json!({})
    }

    fn form_values(&self) -> FieldValues {
        FieldValues::from([("site".to_owned(), self.base_url().into())])
    }

    /// The user creates a password for each connection.
    fn direct_form_values(&self) -> Option<FieldValues> {
        let password = wait_for(self.server.create_password()).expect("the site creates a password");
        let typed = [("username".to_owned(), AUTHOR.0.into()), ("application_password".to_owned(), password.into())];
        Some(self.form_values().into_iter().chain(typed).collect())
    }

    fn proof_parameter(&self) -> &'static str {
        "password"
    }

    /// The alternative text of a video stays in the library: themes show none.
    fn has_alt_texts(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        self.decide(url, decision).await.expect("the site redirects the author")
    }

    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize) {
        self.proxy.faults().order(call, fault, count);
    }

    /// A 413 page for an upload is the response of the site's own web server, which refuses a large
    /// file.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        let is_own_page = (call, fault) == (Call::Upload, InjectedFault::Intermediary { status: 413 });
        call != Call::Refresh && !is_own_page && (fault != InjectedFault::Refused || call == Call::Publish)
    }

    /// The site repeats no request in its errors.
    fn echo_requests(&self) -> bool {
        false
    }

    fn revoke(&self) {
        wait_for(self.server.revoke()).expect("they are revoked");
    }

    fn end_access_tokens(&self) {}

    fn publish_manual_posts(&self, count: usize) {
        let post = |number| {
            let content = format!("<!-- wp:paragraph -->\n<p>by hand, number {number}</p>\n<!-- /wp:paragraph -->");
            let body = json!({
                "status": "publish", "author": self.server.author(), "title": format!("by hand, number {number}"),
                "content": content,
            });
            json!({ "method": "POST", "path": "/wp/v2/posts", "body": body })
        };
        let requests: Vec<_> = (1..=count).map(post).collect();
        // WordPress accepts at most 25 at a time.
        for requests in requests.chunks(25) {
            let batch = json!({ "requests": requests });
            wait_for(self.server.call(Method::POST, "batch/v1", &batch)).expect("they are published");
        }
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let posts = self.posts().expect("the site lists them");
        let posts: Result<_> = posts.iter().map(|it| self.public_post(it)).collect();
        posts.expect("posts are of blocks")
    }

    fn displayed_text(&self, text: &str) -> String {
        paragraphs(text)
    }

    fn links(&self) -> Option<Vec<String>> {
        let posts = self.posts().expect("the site lists them");
        Some(shown_links(posts.last()?["content"]["raw"].as_str()?))
    }

    /// An unused password is not a grant.
    fn grant_count(&self) -> usize {
        let passwords = wait_for(self.server.passwords()).expect("the site lists them");
        passwords.iter().filter(|it| !it["last_used"].is_null()).count()
    }

    fn call_count(&self, call: Call) -> usize {
        self.proxy.faults().calls(call)
    }
}
