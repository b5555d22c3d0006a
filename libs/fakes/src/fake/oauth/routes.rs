//! The routes of an authorization server that only follows its rules.

use std::sync::{Arc, MutexGuard};

use axum::extract::{RawQuery, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::{DateTime, Utc};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use url::Url;

use super::{ConsentRequest, Fault, Grant, OAuth, Rules};
use crate::fake::params::Params;

/// A fake with apps and grants.
pub trait HasOAuth: Send + Sync + 'static {
    fn oauth(&self) -> MutexGuard<'_, OAuth>;

    fn now(&self) -> DateTime<Utc>;

    /// The platform's name in the registry.
    fn platform(&self) -> &str;
}

/// A fake with a consent page.
pub trait Authorizes: HasOAuth {
    /// The accounts of the signed-in user. The conformance suite chooses the first one.
    fn accounts(&self) -> &'static [&'static str];

    /// The page on which the user decides.
    fn consent_page(&self, request: &ConsentRequest) -> Response {
        Html(request.page(self.platform(), self.accounts())).into_response()
    }

    /// The account that the user chose on the page.
    fn chosen_account(&self, form: &Params) -> Option<String> {
        form.text("account").filter(|it| self.accounts().contains(&it.as_str()))
    }

    /// The response to a call to the token endpoint.
    fn tokens(&self, grant: &Grant, rules: &Rules) -> Value {
        grant.respond(rules)
    }

    /// The response to a request with this error.
    fn refusal(&self, error: Fault) -> Response {
        error.into_response()
    }

    /// The response to a user who opens the page with an invalid request.
    fn page_refusal(&self, params: &Params, error: &Fault) -> Response {
        let _ = params;
        (error.status(), error.message()).into_response()
    }

    /// The value of `iss` in redirects (RFC 9207); `None` if the platform sends none.
    fn issuer(&self) -> Option<String> {
        None
    }

    /// Changes the redirect of a user who has allowed access. Its code is the latest one.
    fn amend_redirect(&self, redirect: &mut Url) {
        let _ = redirect;
    }

    /// The `error` in the redirect of a user who declines.
    fn denial(&self) -> &'static str {
        "access_denied"
    }

    /// Expires all access tokens. Their grants stay valid.
    fn end_access_tokens(&self) {
        self.oauth().end_access_tokens(self.now());
    }
}

/// The consent page alone, for a platform whose token endpoint is not standard.
pub fn page_at<P: Authorizes>(page: &str) -> Router<Arc<P>> {
    Router::new().route(page, get(show::<P>).post(press::<P>))
}

/// The consent page, the token endpoint and, if it has a path, revocation.
pub fn routes<P: Authorizes>(page: &str, token: &str, revocation: Option<&str>) -> Router<Arc<P>> {
    let routes = page_at(page).route(token, post(issue_token::<P>));
    match revocation {
        Some(path) => routes.route(path, post(revoke_token::<P>)),
        None => routes,
    }
}

pub async fn show<P: Authorizes>(State(platform): State<Arc<P>>, params: Params) -> Response {
    let request = platform.oauth().asked(&params);
    match request {
        Ok(request) => platform.consent_page(&request),
        Err(error) => platform.page_refusal(&params, &error),
    }
}

/// The user presses a button of the consent page.
pub async fn press<P: Authorizes>(State(platform): State<Arc<P>>, RawQuery(query): RawQuery, form: Params) -> Response {
    let query = Params::read(&query.unwrap_or_default(), &HeaderMap::new(), &[]).unwrap_or_default();
    let request = platform.oauth().asked(&query);
    let request = match request {
        Ok(request) => request,
        Err(error) => return platform.page_refusal(&query, &error),
    };
    let mut target = match (form.text("decision").as_deref(), platform.chosen_account(&form)) {
        (Some("allow"), Some(account)) => {
            let mut redirect = platform.oauth().allow(request, &account, platform.now());
            platform.amend_redirect(&mut redirect);
            redirect
        }
        (Some("deny"), _) => request.deny(platform.denial()),
        _ => return (StatusCode::UNPROCESSABLE_ENTITY, "Choose an account.").into_response(),
    };
    if let Some(issuer) = platform.issuer() {
        target.query_pairs_mut().append_pair("iss", &issuer);
    }
    (StatusCode::FOUND, [(header::LOCATION, String::from(target))]).into_response()
}

async fn issue_token<P: Authorizes>(State(platform): State<Arc<P>>, headers: HeaderMap, params: Params) -> Response {
    if let Some(error) = Fault::content_type_error(&headers) {
        return platform.refusal(error);
    }
    let mut oauth = platform.oauth();
    let rules = oauth.rules;
    match oauth.token(&headers, &params, platform.now()) {
        Ok(grant) => Json(platform.tokens(grant, &rules)).into_response(),
        Err(error) => platform.refusal(error),
    }
}

async fn revoke_token<P: Authorizes>(State(platform): State<Arc<P>>, headers: HeaderMap, params: Params) -> Response {
    let mut oauth = platform.oauth();
    let token = params.text("token").ok_or_else(|| Fault::Missing("token".to_owned()));
    let result = oauth.client(&headers, &params).and_then(|app| oauth.revoke(&app, &token?));
    match result {
        Ok(()) => Json(json!({})).into_response(),
        Err(error) => platform.refusal(error),
    }
}
