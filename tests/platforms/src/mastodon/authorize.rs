//! The page on which the person decides.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use url::Url;

use super::apps::scopes;
use super::instance::apps::App;
use super::instance::grants::Code;
use super::instance::{Here, Instance, Memory};
use super::params::Params;
use super::refusal::Refusal;

/// `GET /oauth/authorize`: the page, or what is wrong with the request.
pub(crate) async fn page(State(here): Here, params: Params) -> Result<Response, Refusal> {
    let client_id = params.text("client_id").unwrap_or_default();
    let is_known = here.memory().apps.iter().any(|it| it.client_id == client_id);
    if here.differences.shows_page_to_all && !is_known {
        return Ok((StatusCode::OK, "<!DOCTYPE html>\n<html><body><p>Sign in</p></body></html>\n").into_response());
    }
    let request = Request::read(&here, &here.memory(), &params)?;
    let html =
        format!("<!DOCTYPE html>\n<html><body><p>An app asks for: {}</p></body></html>\n", request.scopes.join(" "));
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

/// `POST /oauth/authorize`: the person agrees, or declines with `_method=delete`, as
/// the form of the real page does.
pub(crate) async fn decide(State(here): Here, params: Params) -> Result<Response, Refusal> {
    let mut memory = here.memory();
    let request = Request::read(&here, &memory, &params)?;
    let mut target = Url::parse(&request.redirect_uri)
        .map_err(|error| Refusal::page(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    if params.text("_method").as_deref() == Some("delete") {
        target
            .query_pairs_mut()
            .append_pair("error", "access_denied")
            .append_pair("error_description", "The resource owner or authorization server denied the request.");
    } else {
        let code = here.secret(&mut memory);
        target.query_pairs_mut().append_pair("code", &code);
        memory.codes.push(Code {
            value: code,
            client_id: request.app.client_id,
            redirect_uri: request.redirect_uri,
            scopes: request.scopes,
            challenge: request.challenge,
            made_at: here.clock.now(),
            used: false,
        });
    }
    if let Some(issuer) = &memory.issuer {
        target.query_pairs_mut().append_pair("iss", issuer);
    }
    if let Some(state) = params.text("state") {
        target.query_pairs_mut().append_pair("state", &state);
    }
    Ok((StatusCode::FOUND, [(header::LOCATION, String::from(target))]).into_response())
}

/// A request that the person can be asked about.
struct Request {
    app: App,
    redirect_uri: String,
    scopes: Vec<String>,
    challenge: Option<String>,
}

impl Request {
    /// Looks at the parameters in the order in which a server does.
    fn read(here: &Instance, memory: &Memory, params: &Params) -> Result<Self, Refusal> {
        let missing =
            |name: &str| Refusal::page(StatusCode::BAD_REQUEST, format!("Missing required parameter: {name}."));
        let bad = |says: &str| Refusal::page(StatusCode::BAD_REQUEST, says);

        let client_id = params.text("client_id").ok_or_else(|| missing("client_id"))?;
        let app = memory.apps.iter().find(|it| it.client_id == client_id && !it.removed).ok_or_else(|| {
            Refusal::page(StatusCode::UNAUTHORIZED, "Client authentication failed due to unknown client.")
        })?;
        let redirect_uri = params.text("redirect_uri").ok_or_else(|| missing("redirect_uri"))?;
        if !app.redirect_uris.contains(&redirect_uri) {
            return Err(bad("The requested redirect uri is malformed or doesn't match client redirect URI."));
        }
        match params.text("response_type").as_deref() {
            Some("code") => {}
            Some(_) => return Err(bad("The authorization server does not support this response type.")),
            None => return Err(missing("response_type")),
        }
        let scopes = scopes(params.text("scope").as_deref().unwrap_or("read"));
        let allowed = |it: &String| app.scopes.contains(it) && here.differences.scopes.contains(&it.as_str());
        if !scopes.iter().all(allowed) {
            return Err(bad("The requested scope is invalid, unknown, or malformed."));
        }
        let challenge = params.text("code_challenge").filter(|_| here.differences.pkce);
        if challenge.is_some() && params.text("code_challenge_method").as_deref() != Some("S256") {
            return Err(bad("The code challenge method must be S256."));
        }
        Ok(Self { app: app.clone(), redirect_uri, scopes, challenge })
    }
}
