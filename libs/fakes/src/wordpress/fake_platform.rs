use async_trait::async_trait;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::media::{FileType, MimeType};
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{Method, StatusCode};
use platforms::FieldValues;
use serde_json::{Value, json};
use url::Url;

use super::api_error::{ApiError, page};
use super::request::RestRequest;
use super::shown_post::{LibraryFile, shown_links, shown_post};
use super::site::{Memory, Post};
use super::{Fake, TYPED, USER, Wordpress, authorize};
use crate::conformance::fake_platform::{Call, Decision, Detour, FakePlatform, InjectedFault, PublicPost};
use crate::fake::article::paragraphs;
use crate::fake::fake_platform::fake_platform;
use crate::fake::front::FaultInjection;

#[async_trait]
impl<const PLAIN: bool> FakePlatform for Wordpress<PLAIN> {
    fake_platform!("wordpress");

    fn settings(&self) -> Value {
        json!({})
    }

    fn form_values(&self) -> FieldValues {
        FieldValues::from([("site".to_owned(), self.home().into())])
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        let typed = [("username".to_owned(), USER.into()), ("application_password".to_owned(), TYPED.into())];
        Some(self.form_values().into_iter().chain(typed).collect())
    }

    fn form_values_naming_server(&self) -> Option<FieldValues> {
        Some(self.form_values())
    }

    /// The alternative text of a video stays in the library: themes show none.
    fn has_alt_texts(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        authorize::decide(url, decision).await
    }

    /// WordPress has no refresh. A 413 page for an upload is the response of the site's own web
    /// server, which refuses a large file.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        call != Call::Refresh && (call, fault) != (Call::Upload, InjectedFault::Intermediary { status: 413 })
    }

    fn proof_parameter(&self) -> &'static str {
        "password"
    }

    fn revoke(&self) {
        self.fake.memory().passwords.clear();
    }

    fn end_access_tokens(&self) {}

    fn publish_manual_post(&self, text: &str) {
        let (now, title) = (self.fake.clock.now(), text.to_owned());
        let content = format!("<!-- wp:paragraph -->\n<p>{text}</p>\n<!-- /wp:paragraph -->");
        let mut memory = self.fake.memory();
        let id = memory.next_id();
        let (slug, status) = (format!("by-hand-{id}"), "publish".to_owned());
        memory.posts.push(Post { id, slug, status, title, content, date: now, ..Post::default() });
    }

    fn detour_target(&self) -> String {
        self.fake.authorization_page()
    }

    fn redirect_users_to(&self, honest: &str, detour: Detour) -> bool {
        self.fake.memory().leads_to = Some((detour, honest.to_owned()));
        true
    }

    fn issued_secrets(&self) -> Vec<String> {
        self.fake.memory().passwords.iter().map(|it| it.secret.clone()).collect()
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        memory.posts.iter().filter(|it| it.status == "publish").map(|it| public_post(&memory, it)).collect()
    }

    fn displayed_text(&self, text: &str) -> String {
        paragraphs(text)
    }

    fn links(&self) -> Option<Vec<String>> {
        let memory = self.fake.memory();
        Some(shown_links(&memory.posts.last()?.content))
    }

    /// An unused password is not a grant.
    fn grant_count(&self) -> usize {
        self.fake.memory().passwords.iter().filter(|it| it.is_used).count()
    }
}

fn public_post(memory: &Memory, post: &Post) -> PublicPost {
    let file = |id: u64| {
        let medium = memory.media.iter().find(|it| it.id == id).expect("a post shows files of its library");
        LibraryFile {
            source_url: medium.source_url.clone(),
            mime_type: medium.mime_type,
            bytes: medium.bytes.to_vec(),
            alt_text: medium.alt_text.clone(),
        }
    };
    let featured = (post.featured_media != 0).then_some(post.featured_media);
    let shown = shown_post(&post.title, &post.content, featured, file);
    PublicPost { id: post.id.to_string(), text: shown.text, media: shown.media, reply_to: None }
}

/// The kind of a call to a route below `wp/v2`. Drafts, and the look-ups before them, count as
/// [`Call::Process`], like all other calls before the publish call.
pub fn classify(method: &Method, route: &[&str], body: &[u8]) -> Option<Call> {
    let fields: Value = serde_json::from_slice(body).unwrap_or_default();
    match (method, route) {
        (&Method::GET, ["users", "me"]) => Some(Call::Exchange),
        (&Method::DELETE, ["users", "me", "application-passwords", _]) => Some(Call::Revoke),
        (&Method::POST, ["media"]) => Some(Call::Upload),
        (&Method::POST, ["posts", _]) if !fields["status"].is_null() => Some(Call::Publish),
        (&Method::GET, ["posts", _]) => Some(Call::LookUp),
        (&Method::GET, ["posts" | "media"]) | (&Method::POST, ["posts", ..]) => Some(Call::Process),
        _ => None,
    }
}

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = &["/message"];

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let asked = RestRequest::read(self, head, Bytes::copy_from_slice(body))?;
        let route: Vec<&str> = asked.route.split('/').skip(2).collect();
        classify(&head.method, &route, body)
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        match fault {
            InjectedFault::RateLimited { retry_after } => {
                let mut response = page(StatusCode::TOO_MANY_REQUESTS, "Too many requests");
                response.headers_mut().insert(RETRY_AFTER, retry_after.num_seconds().into());
                response
            }
            // `wp_maintenance`
            InjectedFault::Unavailable => page(
                StatusCode::SERVICE_UNAVAILABLE,
                "Briefly unavailable for scheduled maintenance. Check back in a minute.",
            ),
            InjectedFault::Refused => refused_content(call).into_response(),
            _ => ApiError::critical_error().into_response(),
        }
    }
}

fn refused_content(call: Call) -> ApiError {
    match call {
        Call::Exchange | Call::Refresh | Call::Revoke | Call::Account => ApiError::not_logged_in(),
        Call::Upload => ApiError::refused_file(),
        Call::Publish | Call::Process => {
            ApiError::new(403, "rest_cannot_publish", "Sorry, you are not allowed to publish posts in this post type.")
        }
        Call::LookUp => ApiError::no_post(),
    }
}
