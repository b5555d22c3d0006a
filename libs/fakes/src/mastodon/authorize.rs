//! The consent page.

use axum::extract::{RawQuery, State};
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde_json::json;

use super::account;
use super::api_error::ApiError;
use super::instance::InstanceState;
use crate::conformance::fake_platform::Detour;
use crate::fake::oauth::{Fault, redirect_to_honest_page};
use crate::fake::params::Params;

/// `GET /oauth/authorize`: the consent page, or an error page for an invalid request.
pub(crate) async fn page(
    State(instance): InstanceState,
    RawQuery(query): RawQuery,
    params: Params,
) -> Result<Response, ApiError> {
    let leads_to = instance.memory().leads_to.clone();
    if let Some((Detour::Redirected, honest)) = leads_to {
        let (scopes, redirect_uri) = (params.text("scope"), params.text("redirect_uri"));
        let client = json!({ "client_name": "Social Publishing", "redirect_uris": redirect_uri, "scopes": scopes });
        let (registration, page) = (format!("{honest}/api/v1/apps"), format!("{honest}/oauth/authorize"));
        return Ok(redirect_to_honest_page(&registration, &client, &page, &query.unwrap_or_default()).await);
    }
    let asked = instance.memory().oauth.asked(&params);
    if instance.differences.shows_page_to_all && matches!(asked, Err(Fault::UnknownClient | Fault::Missing(_))) {
        return Ok(Html("<!DOCTYPE html>\n<html><body><p>Sign in</p></body></html>\n").into_response());
    }
    Ok(Html(asked.map_err(|it| error_page(&it))?.page("mastodon", &[account::USERNAME])).into_response())
}

/// `POST /oauth/authorize`: the user approves or denies.
pub(crate) async fn decide(
    State(instance): InstanceState,
    RawQuery(query): RawQuery,
    params: Params,
) -> Result<Response, ApiError> {
    let query = Params::read(&query.unwrap_or_default(), &HeaderMap::new(), &[]).unwrap_or_default();
    let mut memory = instance.memory();
    let asked = memory.oauth.asked(&query).map_err(|it| error_page(&it))?;
    let mut target = if params.text("decision").as_deref() == Some("allow") {
        memory.oauth.allow(asked, account::USERNAME, instance.clock.now())
    } else {
        asked.deny("access_denied")
    };
    if let Some(issuer) = &memory.issuer {
        target.query_pairs_mut().append_pair("iss", issuer);
    }
    Ok((StatusCode::FOUND, [(header::LOCATION, String::from(target))]).into_response())
}

fn error_page(error: &Fault) -> ApiError {
    ApiError::page(error.status(), error.message())
}
