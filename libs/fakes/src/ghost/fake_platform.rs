use async_trait::async_trait;
use axum::response::{Html, IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{Method, StatusCode};
use platforms::FieldValues;
use serde_json::{Value, json};
use url::Url;

use super::api_error::ApiError;
use super::shown_post::{ShownPost, shown_post};
use super::{Fake, Ghost, KEY, Memory, Post};
use crate::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicPost};
use crate::fake::article::paragraphs;
use crate::fake::fake_platform::{describes_images_only, fake_platform};
use crate::fake::front::FaultInjection;

#[async_trait]
impl FakePlatform for Ghost {
    fake_platform!("ghost");
    describes_images_only!();

    fn settings(&self) -> Value {
        json!({})
    }

    fn form_values(&self) -> FieldValues {
        let (id, secret) = KEY;
        let key = format!("{id}:{secret}");
        FieldValues::from([("site".to_owned(), self.fake.base_url().into()), ("admin_api_key".to_owned(), key.into())])
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        Some(self.form_values())
    }

    fn has_authorization_page(&self) -> bool {
        false
    }

    fn revokes_grants(&self) -> bool {
        false
    }

    async fn redirect_url(&self, url: &str, _: Decision) -> Url {
        panic!("Ghost has no page: {url}")
    }

    /// A 413 page for an upload is the response of the site's own web server, which refuses a large file.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        !matches!(call, Call::Refresh | Call::Revoke)
            && (call, fault) != (Call::Upload, InjectedFault::Intermediary { status: 413 })
    }

    fn revoke(&self) {
        self.fake.memory().is_deleted = true;
    }

    fn readmit(&self) {
        self.fake.memory().is_deleted = false;
    }

    fn end_access_tokens(&self) {}

    fn publish_manual_post(&self, text: &str) {
        let now = self.fake.clock.now();
        let mut memory = self.fake.memory();
        let id = format!("{:024x}", memory.next_id());
        let (slug, status, title) = (format!("by-hand-{id}"), "published".to_owned(), text.to_owned());
        let html = format!("<p>{text}</p>");
        let post = Post { id, slug, status, title, html, updated_at: now, published_at: Some(now), ..Post::default() };
        memory.posts.push(post);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        let public = memory.posts.iter().filter(|it| it.status == "published");
        let shown = public.map(|it| {
            let ShownPost { text, media, .. } = shown(&memory, it);
            PublicPost { id: it.id.clone(), text, media, reply_to: None }
        });
        shown.collect()
    }

    fn displayed_text(&self, text: &str) -> String {
        paragraphs(text)
    }

    fn links(&self) -> Option<Vec<String>> {
        let memory = self.fake.memory();
        Some(shown(&memory, memory.posts.last()?).links)
    }

    fn grant_count(&self) -> usize {
        usize::from(!self.fake.memory().is_deleted)
    }
}

fn shown(memory: &Memory, post: &Post) -> ShownPost {
    let featured = (!post.feature_image.is_empty()).then_some((&*post.feature_image, &*post.feature_image_alt));
    shown_post(&post.title, &post.html, featured, |src| {
        let path = Url::parse(src).expect("files have URLs").path().to_owned();
        memory.files[&path].to_vec()
    })
}

/// The kind of a call below the Admin API. Drafts, and the look-ups before them, count as [`Call::Process`].
pub fn classify(method: &Method, path: &str) -> Option<Call> {
    let path: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    match (method, path.as_slice()) {
        (&Method::GET, ["posts"]) => Some(Call::Exchange),
        (&Method::GET, ["posts", "slug", _]) | (&Method::POST, ["posts"]) => Some(Call::Process),
        (&Method::GET, ["posts", _]) => Some(Call::LookUp),
        (&Method::PUT, ["posts", _]) => Some(Call::Publish),
        (&Method::POST, ["images" | "media", "upload"]) => Some(Call::Upload),
        _ => None,
    }
}

/// The response to a call with this fault, of Ghost or of a server in front of it.
pub fn respond(call: Call, fault: InjectedFault) -> Response {
    match fault {
        InjectedFault::RateLimited { retry_after } => {
            let mut response = (StatusCode::TOO_MANY_REQUESTS, Html("Too many requests")).into_response();
            response.headers_mut().insert(RETRY_AFTER, retry_after.num_seconds().into());
            response
        }
        // Ghost's page while it starts or updates.
        InjectedFault::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, Html("We'll be right back.")).into_response(),
        InjectedFault::Refused => match call {
            Call::Exchange | Call::Account | Call::Refresh | Call::Revoke => ApiError::unknown_key(),
            Call::LookUp => ApiError::no_post(),
            Call::Upload => ApiError::new(415, "UnsupportedMediaTypeError", "Please select a valid file."),
            Call::Process | Call::Publish => ApiError::forbidden(),
        }
        .into_response(),
        _ => ApiError::internal().into_response(),
    }
}

impl FaultInjection for Fake {
    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        classify(&head.method, head.uri.path().strip_prefix("/ghost/api/admin/")?)
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        respond(call, fault)
    }
}
