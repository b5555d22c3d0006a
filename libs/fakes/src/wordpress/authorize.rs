//! The page on which the user creates an application password (`wp-admin/authorize-application.php`).

use axum::response::{Html, IntoResponse, Redirect, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::api_error::page;
use super::{Fake, USER};
use crate::conformance::fake_platform::{Decision, Detour};
use crate::fake::consent::{self, escape};
use crate::fake::oauth::secret;
use crate::fake::params::Params;
use crate::fake::wire::browser;

pub(super) fn respond(fake: &Fake, head: &Parts, body: &Bytes) -> Response {
    let query = head.uri.query().unwrap_or_default();
    if let Some((Detour::Redirected, page)) = &fake.memory().leads_to {
        return Redirect::to(&format!("{page}?{query}")).into_response();
    }
    let params = Params::read(query, &head.headers, body).unwrap_or_default();
    let urls = ["success_url", "reject_url"].map(|it| Url::parse(&params.text(it).unwrap_or_default()).ok());
    let (Some(name), [Some(success), Some(reject)]) = (params.text("app_name"), urls) else {
        return page(StatusCode::INTERNAL_SERVER_ERROR, "The Authorize Application request is not allowed.");
    };
    if head.method != Method::POST {
        return show_page(fake, &params, &name);
    }
    if params.text("reject").is_some() {
        return Redirect::to(reject.as_str()).into_response();
    }
    let mut memory = fake.memory();
    if memory.passwords.iter().any(|it| it.name.eq_ignore_ascii_case(&name)) {
        return page(StatusCode::OK, "Each application name should be unique.");
    }
    let password: String = secret().chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    memory.add_password(&name, &params.text("app_id").unwrap_or_default(), &password);
    let (mut back, site) = (success, fake.home());
    back.query_pairs_mut().extend_pairs([("site_url", site.as_str()), ("user_login", USER), ("password", &password)]);
    Redirect::to(back.as_str()).into_response()
}

fn show_page(fake: &Fake, params: &Params, name: &str) -> Response {
    let field = |name: &str| {
        let value = escape(&params.text(name).unwrap_or_default());
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\" />")
    };
    let fields: String = ["app_name", "app_id", "success_url", "reject_url"].map(field).concat();
    let form = format!(
        "<p>{} would like to connect to your site as <strong>{USER}</strong>.</p>\n\
         <form action=\"{}\" method=\"post\">{fields}\
         <input type=\"submit\" name=\"approve\" value=\"Yes, I approve of this connection\" />\
         <input type=\"submit\" name=\"reject\" value=\"No, I do not approve of this connection\" /></form>",
        escape(name),
        fake.authorization_page()
    );
    Html(consent::page("wordpress", &form)).into_response()
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
