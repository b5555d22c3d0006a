//! The conformance suite against a real WordPress. Accounts are connected by application password.

use std::{net::SocketAddr, sync::Arc};

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
    fake::{article::paragraphs, wire},
    wordpress::{
        classify,
        shown_post::{LibraryFile, shown_links, shown_post},
    },
};
use platforms::FieldValues;
use serde_json::{Value, json};
use url::Url;

use super::{
    fault_proxy::{FaultProxy, Protocol},
    wait_for,
};
use crate::{
    error::Result,
    http_response::{integer, text},
    platforms::scenes::Scenes,
    wordpress_server::{AUTHOR, UrlLayout, WordpressServer},
};

/// Each check has a site of its own, because the references of posts begin anew with each.
pub(super) async fn run(scenes: &mut Scenes<'_>) {
    super::play::<RealWordpress>(scenes).await;
}

struct RestApi;

impl Protocol for RestApi {
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path().strip_prefix("/wp-json/wp/v2/")?;
        classify(&head.method, &path.split('/').collect::<Vec<_>>(), body)
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

    fn expired(&self) -> Response {
        unreachable!("application passwords do not expire")
    }

    fn access_token(&self, _: &Value) -> Option<String> {
        None
    }
}

pub(super) struct RealWordpress {
    server: WordpressServer,
    address: SocketAddr,
    proxy: Arc<FaultProxy<RestApi>>,
}

impl RealWordpress {
    async fn new_site() -> Result<Self> {
        let (listener, address) = wire::listen().await;
        let server = WordpressServer::start(address.port(), UrlLayout::Permalinks).await?;
        let proxy = FaultProxy::start(listener, server.listens(), RestApi);
        Ok(Self { server, address, proxy })
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

#[async_trait]
impl FakePlatform for RealWordpress {
    async fn start(_: Clock) -> Self {
        Self::new_site().await.expect("the site starts")
    }

    fn name(&self) -> &'static str {
        "wordpress"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn settings(&self) -> Value {
        json!({})
    }

    /// The user creates a password for each connection.
    fn form_values(&self) -> FieldValues {
        let password = wait_for(self.server.create_password()).expect("the site creates a password");
        let site = self.base_url();
        let values = [("site", site.as_str()), ("username", AUTHOR.0), ("application_password", &password)];
        values.map(|(name, value)| (name.to_owned(), value.into())).into()
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        Some(self.form_values())
    }

    fn has_authorization_page(&self) -> bool {
        false
    }

    /// The alternative text of a video stays in the library: themes show none.
    fn has_alt_texts(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        unreachable!("no page is opened: {url}, {decision:?}")
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
