//! The page on which the user creates an application password (`wp-admin/authorize-application.php`).

use axum::response::{Html, IntoResponse, Redirect, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use platforms::conformance::fake_platform::{Decision, Detour};
use url::Url;

use super::api_error::page;
use super::{Fake, SiteQuirk, USER};
use crate::fake::consent::{self, escape};
use crate::fake::oauth::secret;
use crate::fake::params::Params;
use crate::fake::wire::browser;

pub(super) fn respond(fake: &Fake, head: &Parts, body: &Bytes) -> Response {
    if let Some((Detour::Redirected, page)) = fake.memory().leads_to.clone() {
        return Redirect::to(&format!("{page}?{}", head.uri.query().unwrap_or_default())).into_response();
    }
    let Ok(params) = Params::read(head.uri.query().unwrap_or_default(), &head.headers, body) else {
        return page(StatusCode::BAD_REQUEST, "Bad request.");
    };
    if head.method == Method::POST { decided(fake, &params) } else { show_page(fake, &params) }
}

fn show_page(fake: &Fake, params: &Params) -> Response {
    let is_address = |name: &str| {
        let Some(raw) = params.text(name) else { return true };
        // http is allowed because the site may be a local one.
        Url::parse(&raw).is_ok_and(|it| matches!(it.scheme(), "https" | "http") && it.has_host())
    };
    let is_uuid = |raw: &String| {
        let groups: Vec<_> = raw.split('-').map(str::len).collect();
        groups == [8, 4, 4, 4, 12] && raw.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-')
    };
    if !is_address("success_url") || !is_address("reject_url") {
        return page(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The Authorize Application request is not allowed. Invalid URL format.",
        );
    }
    if params.text("app_id").as_ref().is_some_and(|it| !is_uuid(it)) {
        return page(StatusCode::INTERNAL_SERVER_ERROR, "The application ID must be a UUID.");
    }
    let mut memory = fake.memory();
    if memory.is(SiteQuirk::HasNoPasswords) {
        return page(StatusCode::NOT_IMPLEMENTED, "Application passwords are not available.");
    }
    let nonce = secret();
    memory.nonces.push(nonce.clone());
    let field = |name: &str| {
        let value = escape(&params.text(name).unwrap_or_default());
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\" />")
    };
    let fields: String = ["app_name", "app_id", "success_url", "reject_url"].map(field).concat();
    let form = format!(
        "<p>{} would like to connect to your site as <strong>{USER}</strong>.</p>\n<form action=\"{}/wp-admin/authorize-application.php\" method=\"post\">\
         <input type=\"hidden\" name=\"_wpnonce\" value=\"{nonce}\" />{fields}\
         <input type=\"hidden\" name=\"action\" value=\"authorize_application_password\" />\
         <input type=\"submit\" name=\"approve\" value=\"Yes, I approve of this connection\" />\
         <input type=\"submit\" name=\"reject\" value=\"No, I do not approve of this connection\" /></form>",
        escape(&params.text("app_name").unwrap_or_else(|| "An app".to_owned())),
        fake.home()
    );
    Html(consent::page("wordpress", &form)).into_response()
}

/// Handles the user's decision.
fn decided(fake: &Fake, params: &Params) -> Response {
    let mut memory = fake.memory();
    let nonce = params.text("_wpnonce").unwrap_or_default();
    if params.text("action").as_deref() != Some("authorize_application_password") || !memory.nonces.contains(&nonce) {
        return page(StatusCode::FORBIDDEN, "The link you followed has expired.");
    }
    if params.text("reject").is_some() {
        let back = params.text("reject_url").unwrap_or_else(|| format!("{}/wp-admin/", fake.home()));
        return Redirect::to(&back).into_response();
    }
    let Some(name) = params.text("app_name") else {
        return page(StatusCode::OK, "An application name is required to create an application password.");
    };
    if memory.passwords.iter().any(|it| it.name.eq_ignore_ascii_case(&name)) {
        return page(StatusCode::OK, "Each application name should be unique.");
    }
    let password: String = secret().chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    memory.add_password(&name, &params.text("app_id").unwrap_or_default(), &password);
    let Some(mut back) = params.text("success_url").and_then(|it| Url::parse(&it).ok()) else {
        return page(StatusCode::OK, "Your new password");
    };
    let site = fake.home();
    back.query_pairs_mut().extend_pairs([("site_url", site.as_str()), ("user_login", USER), ("password", &password)]);
    Redirect::to(back.as_str()).into_response()
}

/// The user opens the page and approves or denies. Returns the redirect URL.
pub(super) async fn decide(url: &str, decision: Decision) -> Url {
    let browser = browser();
    let mut page = browser.get(url).send().await.expect("the page is there");
    if let Some(elsewhere) = location(page.headers()) {
        page = browser.get(elsewhere).send().await.expect("the other page is there");
    }
    let (status, says) = (page.status(), page.text().await.expect("the page arrives"));
    assert!(status.is_success(), "the person sees an error: {status} {says}");
    let values = says.split("<input ").skip(1).filter_map(|it| {
        let field =
            |name: &str| it.split_once(&format!("{name}=\""))?.1.split_once('"').map(|it| it.0.replace("&amp;", "&"));
        (field("type")? == "hidden").then(|| Some((field("name")?, field("value")?)))?
    });
    let pressed = if decision == Decision::Allow { "approve" } else { "reject" };
    let form: Vec<(String, String)> = values.chain([(pressed.to_owned(), "Yes".to_owned())]).collect();
    let action = says.split_once("action=\"").and_then(|it| it.1.split_once('"')).expect("it has a form").0;
    let decided = browser.post(action).form(&form).send().await.expect("the decision arrives");
    let Some(location) = location(decided.headers()) else {
        panic!("no way back: {}", decided.text().await.unwrap_or_default())
    };
    Url::parse(&location).expect("the way back is a URL")
}

fn location(headers: &HeaderMap) -> Option<String> {
    headers.get(http::header::LOCATION)?.to_str().ok().map(str::to_owned)
}
