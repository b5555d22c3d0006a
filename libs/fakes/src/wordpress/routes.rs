//! Routing of pages and API calls.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, LINK};
use http::{Method, StatusCode};
use platforms::conformance::fake_platform::Detour;
use serde_json::{Value, json};

use super::api_error::{ApiError, page};
use super::request::{Member, RestRequest};
use super::site::Password;
use super::{Fake, SiteQuirk, USER, authorize, library, posts, terms};

pub(super) async fn respond(State(fake): State<Arc<Fake>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if head.uri.path() == "/moved/" {
        return Redirect::permanent(&format!("{}/", fake.home())).into_response();
    }
    if head.uri.path() == format!("{}/wp-admin/authorize-application.php", fake.base()) {
        return authorize::respond(&fake, &head, &body);
    }
    let Some(asked) = RestRequest::read(&fake, &head, body) else { return front_page(&fake, head.uri.path()) };
    let by = asked.member(&fake);
    let answer = match call(&fake, &asked, by.as_ref()).await {
        Ok((status, body)) => (status, Json(asked.shortened(body))).into_response(),
        Err(refusal) => refusal.into_response(),
    };
    if fake.memory().is(SiteQuirk::PrintsAroundJson) { print_around(answer).await } else { answer }
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

async fn call(fake: &Fake, asked: &RestRequest, by: Option<&Member>) -> Result<(StatusCode, Value), ApiError> {
    const OK: StatusCode = StatusCode::OK;
    const CREATED: StatusCode = StatusCode::CREATED;
    let route: Vec<&str> = asked.route.split('/').collect();
    let number = |raw: &str| raw.parse::<u64>().map_err(|_| ApiError::no_route());
    Ok(match (&asked.method, route.as_slice()) {
        (&Method::GET, [""]) => (OK, index(fake)),
        (&Method::GET, ["wp", "v2", "users", "me"]) => (OK, me(fake, asked, by)?),
        (&Method::GET, ["wp", "v2", "users", "me", "application-passwords", "introspect"]) => {
            let by = by.ok_or_else(ApiError::not_logged_in)?;
            // Before version 5.7, the path means a password whose id is `introspect`.
            if fake.memory().is(SiteQuirk::LacksIntrospection) {
                return Err(ApiError::no_password());
            }
            (OK, json!({ "uuid": by.uuid }))
        }
        (&Method::GET, ["wp", "v2", "users", "me", "application-passwords"]) => {
            by.ok_or_else(ApiError::not_logged_in)?;
            (OK, passwords(fake))
        }
        (&Method::DELETE, ["wp", "v2", "users", "me", "application-passwords", uuid]) => {
            by.ok_or_else(ApiError::not_logged_in)?;
            (OK, revoke_password(fake, uuid)?)
        }
        (&Method::GET, ["wp", "v2", "posts"]) => (OK, posts::list(fake, asked, by)?),
        (&Method::POST, ["wp", "v2", "posts"]) => (CREATED, posts::create(fake, asked, by)?),
        (&Method::GET, ["wp", "v2", "posts", id]) => (OK, posts::show(fake, number(id)?, by)?),
        (&Method::POST, ["wp", "v2", "posts", id]) => (OK, posts::update(fake, asked, number(id)?, by)?),
        (&Method::DELETE, ["wp", "v2", "posts", id]) => (OK, posts::delete(fake, asked, number(id)?, by)?),
        (&Method::GET, ["wp", "v2", "media"]) => (OK, library::list(fake, asked, by)?),
        (&Method::POST, ["wp", "v2", "media"]) => (CREATED, library::upload(fake, asked, by).await?),
        (&Method::POST, ["wp", "v2", "media", id, "post-process"]) => {
            (OK, library::post_process(fake, asked, number(id)?, by)?)
        }
        (&Method::DELETE, ["wp", "v2", "media", id]) => (OK, library::delete(fake, asked, number(id)?, by)?),
        (&Method::GET, ["wp", "v2", taxonomy @ ("categories" | "tags")]) => (OK, terms::list(fake, asked, taxonomy)),
        (&Method::POST, ["wp", "v2", taxonomy @ ("categories" | "tags")]) => {
            (CREATED, terms::create(fake, asked, taxonomy, by)?)
        }
        _ => return Err(ApiError::no_route()),
    })
}

/// `get_index`
fn index(fake: &Fake) -> Value {
    let home = fake.home();
    let has_passwords = !fake.memory().is(SiteQuirk::HasNoPasswords);
    let page = match fake.memory().leads_to.clone() {
        Some((Detour::Named, page)) => page,
        _ => fake.authorization_page(),
    };
    let passwords = json!({ "application-passwords": { "endpoints": { "authorization": page } } });
    json!({
        "name": "Harbour &amp; Lighthouse",
        "description": "",
        "url": home,
        "home": home,
        "namespaces": ["oembed/1.0", "wp/v2"],
        "authentication": if has_passwords { passwords } else { json!([]) },
        "site_icon_url": "",
    })
}

/// The capabilities are only in responses with `context=edit`.
fn me(fake: &Fake, asked: &RestRequest, by: Option<&Member>) -> Result<Value, ApiError> {
    let Member { role, .. } = by.ok_or_else(ApiError::not_logged_in)?;
    let avatar = "https://secure.gravatar.com/avatar/0bc83cb571cd1c50ba6f3e8a78ef1346?s=96&d=mm&r=g";
    let mut me = json!({
        "id": 2,
        "name": "The Keeper",
        "slug": USER,
        "link": format!("{}/author/{USER}/", fake.home()),
        "avatar_urls": { "24": avatar, "48": avatar, "96": avatar },
    });
    if asked.parameter("context") == Some("edit") {
        let capabilities = role.capabilities.iter().map(|it| ((*it).to_owned(), Value::Bool(true)));
        me["username"] = USER.into();
        me["roles"] = json!([role.name]);
        me["capabilities"] = Value::Object(capabilities.collect());
    }
    Ok(me)
}

/// `last_used` is written at most once a day, so it does not show which password was used last.
fn passwords(fake: &Fake) -> Value {
    fake.memory().passwords.iter().map(password_json).collect()
}

fn password_json(it: &Password) -> Value {
    let last_used = it.is_used.then_some("2026-11-21T00:00:00");
    json!({
        "uuid": it.uuid, "app_id": it.app_id, "name": it.name, "created": "2026-11-21T00:00:00",
        "last_used": last_used, "last_ip": last_used.map(|_| "127.0.0.1"),
    })
}

fn revoke_password(fake: &Fake, uuid: &str) -> Result<Value, ApiError> {
    let mut memory = fake.memory();
    let at = memory.passwords.iter().position(|it| it.uuid == uuid).ok_or_else(ApiError::no_password)?;
    let previous = memory.passwords.remove(at);
    Ok(json!({ "deleted": true, "previous": password_json(&previous) }))
}

/// Any other page of the site. Each links the API in a header or in its HTML head.
fn front_page(fake: &Fake, path: &str) -> Response {
    let is_here = path.starts_with(fake.base());
    let names_it = is_here && !fake.memory().is(SiteQuirk::HidesItsApi);
    let root = fake.root();
    let link = if names_it && fake.kind.is_plain {
        format!("<link rel='https://api.w.org/' href='{}' />", root.replace('&', "&#038;"))
    } else {
        String::new()
    };
    if !is_here {
        return page(StatusCode::NOT_FOUND, "There is another site here.");
    }
    let html = format!(
        "<!DOCTYPE html>\n<html><head><title>Harbour</title>\n<script>var link = '<link rel=\"https://api.w.org/\" \
         href=\"/script\">';</script>{link}</head><body>Welcome!</body></html>\n"
    );
    let mut response = Html(html).into_response();
    if names_it && !fake.kind.is_plain {
        let value = format!("<{root}>; rel=\"https://api.w.org/\"");
        let value = value.try_into().expect("an address is a header");
        response.headers_mut().insert(LINK, value);
    }
    response
}
