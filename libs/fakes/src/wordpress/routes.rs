//! Routing of pages and API calls.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, LINK};
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::api_error::{ApiError, page};
use super::request::RestRequest;
use super::{Fake, USER, authorize, library, posts, terms};
use crate::conformance::fake_platform::Detour;

/// The capabilities of an author in WordPress 6.5.
const CAPABILITIES: [&str; 11] = [
    "upload_files",
    "edit_posts",
    "edit_published_posts",
    "publish_posts",
    "read",
    "level_2",
    "level_1",
    "level_0",
    "delete_posts",
    "delete_published_posts",
    "author",
];

pub(super) async fn respond(State(fake): State<Arc<Fake>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if head.uri.path() == format!("{}/wp-admin/authorize-application.php", fake.base()) {
        return authorize::respond(&fake, &head, &body);
    }
    let Some(asked) = RestRequest::read(&fake, &head, body) else { return front_page(&fake, head.uri.path()) };
    let answer = match call(&fake, &asked).await {
        Ok((status, body)) => (status, Json(body)).into_response(),
        Err(refusal) => refusal.into_response(),
    };
    if fake.memory().is_noisy { print_around(answer).await } else { answer }
}

/// Adds output to a response as real sites do: of PHP before the JSON, and of plugins after it.
async fn print_around(answer: Response) -> Response {
    let (mut head, body) = answer.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    // Output before the headers makes the response a page.
    head.headers.insert(CONTENT_TYPE, "text/html; charset=UTF-8".parse().expect("it is a header"));
    head.headers.remove(CONTENT_LENGTH);
    let before = "\u{feff}\u{feff}\n<br />\n<b>Deprecated</b>:  Return type of Feed::offsetGet($it) should either be compatible \
                  with ArrayAccess::offsetGet(mixed $offset): mixed, or the #[\\ReturnTypeWillChange] attribute should be used \
                  in <b>/var/www/feed.php</b> on line <b>63</b><br />\n";
    let body = [before.as_bytes(), &body, b"\n<!-- Cached {by: [a plugin]} at 1764000000 -->\n"].concat();
    Response::from_parts(head, Body::from(body))
}

async fn call(fake: &Fake, asked: &RestRequest) -> Result<(StatusCode, Value), ApiError> {
    let route: Vec<&str> = asked.route.split('/').collect();
    if route == [""] {
        return Ok((StatusCode::OK, index(fake)));
    }
    let password = asked.password(fake)?;
    let number = |raw: &str| raw.parse::<u64>().map_err(|_| ApiError::no_route());
    let body = match (asked.method.as_str(), &route[2.min(route.len())..]) {
        ("GET", ["users", "me"]) => me(),
        ("GET", ["users", "me", "application-passwords", "introspect"]) => json!({ "uuid": password }),
        ("GET", ["users", "me", "application-passwords"]) => passwords(fake),
        ("DELETE", ["users", "me", "application-passwords", uuid]) => {
            fake.memory().passwords.retain(|it| it.uuid != *uuid);
            json!({ "deleted": true })
        }
        ("GET", ["posts"]) => posts::list(fake, asked),
        ("POST", ["posts"]) => posts::create(fake, asked)?,
        ("GET", ["posts", id]) => posts::show(fake, number(id)?)?,
        ("POST", ["posts", id]) => posts::update(fake, asked, number(id)?)?,
        ("DELETE", ["posts", id]) => posts::delete(fake, asked, number(id)?)?,
        ("GET", ["media"]) => library::list(fake, asked),
        ("POST", ["media"]) => library::upload(fake, asked).await?,
        ("POST", ["media", id, "post-process"]) => library::post_process(fake, asked, number(id)?)?,
        ("DELETE", ["media", id]) => library::delete(fake, asked, number(id)?)?,
        ("GET", [taxonomy @ ("categories" | "tags")]) => terms::list(fake, asked, taxonomy),
        ("POST", [taxonomy @ ("categories" | "tags")]) => terms::create(fake, asked, taxonomy)?,
        _ => return Err(ApiError::no_route()),
    };
    // A call to a collection creates.
    let creates = asked.method == Method::POST && route.len() == 3;
    Ok((if creates { StatusCode::CREATED } else { StatusCode::OK }, body))
}

/// `get_index`
fn index(fake: &Fake) -> Value {
    let page = match &fake.memory().leads_to {
        Some((Detour::Named, page)) => page.clone(),
        _ => fake.authorization_page(),
    };
    json!({
        "name": "Harbour &amp; Lighthouse",
        "home": fake.home(),
        "namespaces": ["oembed/1.0", "wp/v2"],
        "authentication": { "application-passwords": { "endpoints": { "authorization": page } } },
        "site_icon_url": "",
    })
}

fn me() -> Value {
    let avatar = "https://secure.gravatar.com/avatar/0bc83cb571cd1c50ba6f3e8a78ef1346?s=96&d=mm&r=g";
    let capabilities: Map<_, _> = CAPABILITIES.iter().map(|it| ((*it).to_owned(), Value::Bool(true))).collect();
    json!({
        "id": 2, "username": USER, "roles": ["author"], "capabilities": capabilities,
        "avatar_urls": { "24": avatar, "48": avatar, "96": avatar },
    })
}

fn passwords(fake: &Fake) -> Value {
    let memory = fake.memory();
    memory.passwords.iter().map(|it| json!({ "uuid": it.uuid, "app_id": it.app_id, "name": it.name })).collect()
}

/// Any other page of the site. Each links the API in a header or in its HTML head.
fn front_page(fake: &Fake, path: &str) -> Response {
    if !path.starts_with(fake.base()) {
        return page(StatusCode::NOT_FOUND, "There is another site here.");
    }
    let (names_it, root) = (!fake.memory().is_noisy, fake.root());
    let link = format!("<link rel='https://api.w.org/' href='{}' />", root.replace('&', "&#038;"));
    let link = if names_it && fake.kind.is_plain { link.as_str() } else { "" };
    let html = format!(
        "<!DOCTYPE html>\n<html><head><title>Harbour</title>\n<script>var link = '<link rel=\"https://api.w.org/\" \
         href=\"/script\">';</script>{link}</head><body>Welcome!</body></html>\n"
    );
    let header = (names_it && !fake.kind.is_plain).then(|| [(LINK, format!("<{root}>; rel=\"https://api.w.org/\""))]);
    (header, Html(html)).into_response()
}
