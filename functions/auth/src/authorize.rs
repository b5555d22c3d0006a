//! `/oauth/authorize`: the page on which a user approves or denies an app.

mod asked;

use api::page::{Page, PageError, PageForm, PageQuery, PageResult};
use api::{Api, ClientIp, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use cloud::audit::{self, Event};
use domain::scope::Scope;
use domain::token;
use http::header::REFRESH;
use http::{HeaderValue, StatusCode};
use secrecy::ExposeSecret;
use serde::Deserialize;
use storage::{AuthorizationGrant, WriteOutcome};

use self::asked::AuthorizeQuery;
use crate::App;
use crate::approval::{Program, Requester};
use crate::profile_choice::{ChosenAccess, ProfileField};

const DECIDED_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// Lifetime of a code (RFC 6749, section 4.1.2, permits ten minutes).
const CODE_LIFETIME: TimeDelta = TimeDelta::minutes(1);

#[derive(Deserialize)]
pub(crate) struct DecisionForm {
    csrf: String,
    request: String,
    decision: Decision,
    /// The profile to which the user limits the access; empty for everything.
    profile: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    ApproveDrafts,
    Deny,
}

#[derive(Template)]
#[template(path = "program_done.html")]
struct DonePage<'a> {
    approved: bool,
    host: String,
    back: &'a str,
}

pub(crate) async fn show_authorization(
    State(app): State<App>,
    session: SignedIn,
    PageQuery(query): PageQuery<AuthorizeQuery>,
) -> PageResult<Page> {
    let now = app.api.clock.now();
    let requested = query.read(&app, session.user).await?;
    let secret = token::random_token();
    let request = AuthorizationGrant {
        user_id: session.user,
        client_id: requested.client_id,
        client_name: requested.client_name,
        redirect_uri: requested.redirect_uri,
        state: requested.state,
        challenge: requested.challenge,
        resource: requested.resource,
        scopes: requested.scopes,
        profile_id: None,
        created_at: now,
        expires_at: now + DECIDED_WITHIN,
        code_hash: None,
        token_hash: None,
    };
    app.api.store.put_authorization(&token::hash(secret.expose_secret()), &request).await?;
    let profile = ProfileField::load(&app.api.store, session.user).await?;
    approval_page(&session, secret.expose_secret(), &request, &profile)
}

fn approval_page(
    session: &SignedIn,
    secret: &str,
    request: &AuthorizationGrant,
    profile: &ProfileField,
) -> PageResult<Page> {
    let program = Requester::Program(Program {
        request: secret.to_owned(),
        host: request.client_id.host().to_owned(),
        answered_at: request.redirect_uri.host(),
        is_on_this_machine: request.redirect_uri.is_loopback(),
        asks_to_schedule: request.scopes.has(Scope::PostsWrite),
    });
    program.page(session, Some(&request.client_name), &request.scopes, profile)
}

pub(crate) async fn decide(
    State(api): State<Api>,
    session: SignedIn,
    ip: ClientIp,
    PageForm(form): PageForm<DecisionForm>,
) -> PageResult<Response> {
    session.check(&form.csrf)?;
    let now = api.clock.now();
    let hash = token::hash(&form.request);
    let mut request = api.store.authorization(&hash).await?.ok_or_else(request_ended)?;
    let secret = token::random_token();
    if form.decision == Decision::ApproveDrafts {
        request.scopes = request.scopes.with_drafts_only();
    }
    let approved = form.decision != Decision::Deny;
    if approved {
        let (store, user) = (&api.store, session.user);
        match ChosenAccess::read(store, user, form.profile.as_deref()).await? {
            ChosenAccess::LimitedTo(profile) => request.profile_id = profile,
            // The page would show the request of another user.
            ChosenAccess::Invalid if request.user_id != user => return Err(request_ended()),
            ChosenAccess::Invalid => {
                let profile = ProfileField::load_with_fault(store, user).await?;
                return Ok(approval_page(&session, &form.request, &request, &profile)?.into_response());
            }
        }
    }
    request.user_id = session.user;
    let outcome = if approved {
        let code_hash = token::hash(secret.expose_secret());
        api.store.approve_authorization(&hash, &request, &code_hash, now, now + CODE_LIFETIME).await?
    } else {
        api.store.deny_authorization(&hash, session.user).await?
    };
    // Expired, already decided, or made in another user's browser.
    if outcome == WriteOutcome::Conflict {
        return Err(request_ended());
    }
    let event = if approved { Event::ClientApproved } else { Event::ClientDenied };
    audit::Entry::new(event).user(session.user).limited_to(request.profile_id).address(ip.0).write();
    let code = format!("{}.{}", form.request, secret.expose_secret());
    let result = if approved { ("code", code.as_str()) } else { ("error", "access_denied") };
    redirect_page(&api, &session, &request, result)
}

/// A page that redirects automatically: a redirect response would follow a form, and the policy of our
/// pages lets no form lead to another site.
fn redirect_page(
    api: &Api,
    session: &SignedIn,
    request: &AuthorizationGrant,
    result: (&str, &str),
) -> PageResult<Response> {
    // `iss` proves to the app that the response is ours (RFC 9207).
    let mut parameters = vec![result, ("iss", api.origin.as_str())];
    parameters.extend(request.state.as_deref().map(|it| ("state", it)));
    let redirect_url = request.redirect_uri.with(&parameters);
    let approved = result.0 == "code";
    let title = if approved { "Access approved" } else { "Access denied" };
    let page = DonePage { approved, host: request.redirect_uri.host(), back: &redirect_url };
    let mut response = Page::render(title, &page)?.signed_in(session).into_response();
    if let Ok(refresh) = HeaderValue::try_from(format!("0; url={redirect_url}")) {
        response.headers_mut().insert(REFRESH, refresh);
    }
    Ok(response)
}

fn request_ended() -> PageError {
    PageError::new(
        StatusCode::GONE,
        "This request has ended",
        "It was already approved or denied, is older than 10 minutes, or belongs to another user. Nothing was \
         changed. Start again in the app that requests access.",
    )
}

#[cfg(test)]
mod tests;
