//! The consent page: the user chooses an account and grants the client access to it (RFC 6749,
//! section 4.1, with PKCE required).

mod request;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use askama::Template;
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use domain::token;
use secrecy::ExposeSecret;
use serde::Deserialize;

use self::request::AuthorizationRequest;
use super::accounts::Account;
use super::caller::PUBLISH;
use super::fact::{Allowed, Fact};
use super::{CLIENT_ID, Sandbox, pages};

/// How long a client has to exchange its code.
const CODE_LIFETIME: TimeDelta = TimeDelta::minutes(5);

#[derive(Template)]
#[template(path = "sandbox/consent.html")]
struct ConsentPage<'a> {
    accounts: Vec<Account>,
    client: &'a str,
    returns_to: String,
    may_publish: bool,
    request: &'a str,
}

/// Shows the consent page.
pub(super) async fn show_consent(RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    match AuthorizationRequest::parse(&query) {
        Ok(request) => consent_page(&request, &query),
        Err(invalid) => invalid.into_response(),
    }
}

fn consent_page(request: &AuthorizationRequest, query: &str) -> Response {
    let returns_to = request.redirect_uri.origin().ascii_serialization();
    // Browsers apply form-action to the redirect in the response as well.
    let policy = format!("{} {returns_to}", pages::POLICY);
    let page = ConsentPage {
        accounts: Account::all().collect(),
        client: CLIENT_ID,
        returns_to,
        may_publish: request.scope.split(' ').any(|it| it == PUBLISH),
        request: query,
    };
    let mut response = pages::show(&page);
    if let Ok(policy) = policy.parse() {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// The form of the consent page.
#[derive(Deserialize)]
pub(super) struct ConsentForm {
    /// The query with which the page was opened.
    request: String,
    account: Option<String>,
    answer: String,
    /// `also.{handle}` for each other account that the grant is to cover.
    #[serde(flatten)]
    others: BTreeMap<String, String>,
}

/// Redirects the browser to the client with the user's decision.
pub(super) async fn answer_consent(
    State(sandbox): State<Sandbox>,
    form: Result<Form<ConsentForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else {
        return error_page("The form is incomplete. Go back and try again.");
    };
    let request = match AuthorizationRequest::parse(&form.request) {
        Ok(request) => request,
        Err(invalid) => return invalid.into_response(),
    };
    match form.answer.as_str() {
        "allow" => match form.account.as_deref().and_then(Account::find) {
            Some(account) => {
                let is_ticked = |it: &Account| form.others.contains_key(&format!("also.{}", it.handle()));
                let also = Account::all().filter(|it| *it != account && is_ticked(it)).collect();
                allow(&sandbox, account, also, &request)
            }
            None => error_page("Go back and choose one of the accounts."),
        },
        "deny" => {
            let description = "the request was denied on the consent page";
            request.redirect_with(&[("error", "access_denied"), ("error_description", description)])
        }
        _ => error_page("Go back and press Allow or Deny."),
    }
}

fn allow(sandbox: &Sandbox, account: Account, also: Vec<Account>, request: &AuthorizationRequest) -> Response {
    let code = token::random_token();
    let now = sandbox.now();
    let allowed = Allowed {
        account,
        also,
        redirect_uri: request.redirect_uri_text.clone(),
        challenge: request.challenge.clone(),
        scope: request.scope.clone(),
        ends_at: now + CODE_LIFETIME,
    };
    let code_hash = token::hash(code.expose_secret());
    let result = sandbox.ledger().record(Fact::Allowed { code: code_hash, allowed, at: now });
    if let Err(error) = result {
        tracing::error!(%error, "the sandbox could not store a consent");
        return request.redirect_with(&[("error", "server_error")]);
    }
    request.redirect_with(&[("code", code.expose_secret())])
}

fn error_page(message: &str) -> Response {
    pages::message(StatusCode::BAD_REQUEST, "Invalid request", message)
}
