//! The consent page.

use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use url::Url;

use crate::bluesky::account;
use crate::bluesky::api_error::ApiError;
use crate::bluesky::pds_state::Shared;
use crate::bluesky::pds_state::requests::ConsentRequest;
use crate::fake::consent::{self, escape};

#[derive(Deserialize)]
pub(super) struct ConsentQuery {
    client_id: String,
    request_uri: Option<String>,
}

/// `GET /oauth/authorize`, only for pushed requests.
pub(super) async fn show(
    State(fake): State<Shared>,
    Query(page_query): Query<ConsentQuery>,
) -> Result<Html<String>, ApiError> {
    let asked = open(&fake, &page_query)?;
    let hint = asked.login_hint.unwrap_or_default();
    let query = [("client_id", &page_query.client_id), ("request_uri", &page_query.request_uri.unwrap_or_default())];
    let query: String = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let query = escape(&query);
    Ok(Html(consent::page(
        "bluesky",
        &format!(
            "<p>The app <code>{}</code> asks for access to {}: <code>{}</code></p>\n\
             <form method=\"post\" action=\"/oauth/authorize/accept?{query}\"><button>Accept</button></form>\
             <form method=\"post\" action=\"/oauth/authorize/reject?{query}\"><button>Deny access</button></form>",
            escape(&page_query.client_id),
            if hint.is_empty() { "your account".to_owned() } else { escape(&hint) },
            escape(&asked.scope)
        ),
    )))
}

/// The user's decision; the query is that of the page.
pub(super) async fn decide(
    State(fake): State<Shared>,
    Path(decision): Path<String>,
    Query(query): Query<ConsentQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if headers.get("origin").is_none_or(|it| it != fake.issuer()) {
        return Err(ApiError::oauth("invalid_request", "Invalid origin").with_status(StatusCode::FORBIDDEN));
    }
    let asked = open(&fake, &query)?;
    let uri = query.request_uri.unwrap_or_default();
    let hinted = asked.login_hint.as_deref().is_none_or(account::is_it);
    let mut state = fake.state();
    let answer = match decision.as_str() {
        // The client's `login_hint` names another account than the only one of the fake.
        "accept" if !hinted => return Err(ApiError::oauth("invalid_request", "Unknown account")),
        "accept" => {
            let code = state.requests.accept(&uri, fake.clock.now());
            vec![("code", code.expect("the request was just opened"))]
        }
        _ => {
            state.requests.reject(&uri);
            let why = "The user rejected the request".to_owned();
            vec![("error", "access_denied".to_owned()), ("error_description", why)]
        }
    };
    Ok(Redirect::to(&redirect_url(&asked, fake.issuer(), &answer)).into_response())
}

fn open(fake: &Shared, query: &ConsentQuery) -> Result<ConsentRequest, ApiError> {
    let uri = query.request_uri.as_deref();
    let uri = uri.ok_or_else(|| ApiError::oauth("invalid_request", "the request has to be pushed first"))?;
    fake.state().requests.open(uri, &query.client_id, fake.clock.now())
}

fn redirect_url(request: &ConsentRequest, issuer: &str, parameters: &[(&str, String)]) -> String {
    let mut url = Url::parse(&request.redirect_uri).expect("a checked redirect is a URL");
    url.query_pairs_mut().append_pair("iss", issuer).append_pair("state", &request.state).extend_pairs(parameters);
    url.into()
}
