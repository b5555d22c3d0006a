//! `/sign-in` and `/sign-out`: starts and ends the session of a browser.

use api::page::{Page, PageError, PageForm, PageQuery, PageResult};
use api::session::{cleared_cookie, cookie, local_path, set_cookie, sign_in as sign_in_address, sign_in_again_path};
use api::{ClientIp, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use chrono::TimeDelta;
use cloud::audit::{self, Event};
use http::header::{REFRESH, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use storage::Identity;
use subtle::ConstantTimeEq;

use crate::new_session::{NewSession, audit_sign_in, find_or_create_user};
use crate::oidc::{Attempt, IssuerUser, OidcError};
use crate::{App, Oidc, SignInMethod, sign_in_link};

/// The cookie with the secret of an attempt and the page to go to afterwards.
const COOKIE_NAME: &str = "__Host-sign-in";

/// How long a sign-in may take.
const LIFETIME: TimeDelta = TimeDelta::minutes(30);

#[derive(Deserialize)]
pub(crate) struct SignInQuery {
    #[serde(default)]
    next: String,
    /// Whether the issuer must ask for credentials again.
    #[serde(default)]
    anew: bool,
}

pub(crate) async fn sign_in(State(app): State<App>, PageQuery(query): PageQuery<SignInQuery>) -> PageResult<Response> {
    let oidc = match &app.method {
        SignInMethod::Oidc(oidc) => oidc,
        SignInMethod::Links(links) => return sign_in_link::entry_page(&**links, local_path(&query.next)),
    };
    let attempt = Attempt::new();
    let mut url =
        oidc.authorization_url(&attempt, app.api.clock.now()).await.map_err(|error| failed_page(&error, "/"))?;
    if query.anew {
        // OpenID Connect Core 1.0, section 3.1.2.1.
        url.query_pairs_mut().append_pair("prompt", "login");
    }
    let next = local_path(&query.next);
    let cookie = set_cookie(COOKIE_NAME, &cookie_value(&attempt, next), LIFETIME);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(url.as_str())).into_response())
}

#[derive(Deserialize)]
pub(crate) struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
}

pub(crate) async fn callback(
    State(app): State<App>,
    address: ClientIp,
    PageQuery(query): PageQuery<CallbackQuery>,
    headers: HeaderMap,
) -> PageResult<Response> {
    let SignInMethod::Oidc(oidc) = &app.method else { return Err(PageError::not_found()) };
    let signed_in = complete_sign_in(&app, oidc, address, query, &headers).await;
    audit_sign_in(&signed_in, address);
    let (_, session, next) = signed_in?;
    let cookies = AppendHeaders([(SET_COOKIE, session), (SET_COOKIE, cleared_cookie(COOKIE_NAME))]);
    Ok((cookies, Redirect::to(&next)).into_response())
}

async fn complete_sign_in(
    app: &App,
    oidc: &Oidc,
    address: ClientIp,
    query: CallbackQuery,
    headers: &HeaderMap,
) -> PageResult<NewSession> {
    let (attempt, next) = restore_attempt(headers, query.state.as_deref())?;
    let code = match (query.code, query.error) {
        (Some(code), None) => code,
        (_, error) => return Err(refused(error.as_deref(), &next)),
    };
    let now = app.api.clock.now();
    let oidc_user = oidc.person(&code, &attempt, now).await.map_err(|error| failed_page(&error, &next))?;
    check_sign_up(app, &oidc_user)?;
    let identity = Identity { issuer: oidc.issuer().to_owned(), subject: oidc_user.subject.clone() };
    let links = user_of_links(app, &identity, &oidc_user, &next).await?;
    let user = find_or_create_user(&app.api, &identity, links.as_ref(), &oidc_user.name, &oidc_user.email).await?;
    let session = SignedIn::start(&app.api, user.user_id, address).await?;
    Ok((user, session, next))
}

#[derive(Deserialize)]
pub(crate) struct SignOutForm {
    csrf: String,
}

#[derive(Template)]
#[template(path = "signed_out.html")]
struct SignedOutPage<'a> {
    /// The issuer's URL for signing out.
    issuer: Option<&'a str>,
}

pub(crate) async fn sign_out(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    PageForm(form): PageForm<SignOutForm>,
) -> PageResult<Response> {
    session.check(&form.csrf)?;
    let user = session.user;
    let cookie = session.end(&app.api).await?;
    audit::Entry::new(Event::SignedOut).user(user).address(address.0).write();
    signed_out(&app, cookie).await
}

/// The page after signing out here. It redirects to the issuer, so that the issuer does not silently
/// approve the next sign-in of this browser.
///
/// The page redirects automatically, because a redirect response would follow a form, and the policy of
/// our pages lets no form lead to another site.
pub(crate) async fn signed_out(app: &App, cookie: HeaderValue) -> PageResult<Response> {
    let issuer = match &app.method {
        SignInMethod::Oidc(oidc) => oidc.sign_out_url(app.api.clock.now()).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the issuer could not be asked to sign a browser out");
            None
        }),
        SignInMethod::Links(_) => None,
    };
    let page = Page::render("You are signed out", &SignedOutPage { issuer: issuer.as_ref().map(Url::as_str) })?;
    let mut response = ([(SET_COOKIE, cookie)], page).into_response();
    let refresh = issuer.and_then(|it| HeaderValue::try_from(format!("0; url={it}")).ok());
    if let Some(refresh) = refresh {
        response.headers_mut().insert(REFRESH, refresh);
    }
    Ok(response)
}

fn cookie_value(attempt: &Attempt, next: &str) -> SecretString {
    // `next` is encoded as in the address of the sign-in: those characters are allowed in a cookie
    // too.
    let next = sign_in_address(next);
    let next = next.split_once('=').map_or("", |it| it.1);
    format!("{}.{next}", attempt.secret().expose_secret()).into()
}

/// The attempt of this browser, and the page to redirect to afterwards.
fn restore_attempt(headers: &HeaderMap, state: Option<&str>) -> PageResult<(Attempt, String)> {
    let cookie = cookie(headers, COOKIE_NAME).unwrap_or_default();
    let (secret, next) = cookie.split_once('.').unwrap_or_default();
    let attempt = Attempt::from_secret(secret);
    let is_ours: bool = attempt.state().as_bytes().ct_eq(state.unwrap_or_default().as_bytes()).into();
    if secret.is_empty() || !is_ours {
        return Err(PageError::new(
            StatusCode::BAD_REQUEST,
            "This sign-in has expired",
            "It was started in another browser, took too long, or was already completed. Sign in again.",
        )
        .with_link("/sign-in", "Sign in"));
    }
    let next = url::form_urlencoded::parse(format!("next={next}").as_bytes())
        .next()
        .map(|it| local_path(&it.1).to_owned())
        .unwrap_or_default();
    Ok((attempt, next))
}

fn check_sign_up(app: &App, oidc_user: &IssuerUser) -> PageResult<()> {
    if app.sign_up.admits(&oidc_user.email, oidc_user.email_verified) {
        return Ok(());
    }
    let error = PageError::new(
        StatusCode::FORBIDDEN,
        "You cannot sign up here",
        format!(
            "This service is open to listed e-mail addresses only, and {} is not listed, or is not verified. \
             Sign in with another account, or ask the operator of this service to add your address.",
            oidc_user.email
        ),
    );
    Err(error.with_link(sign_in_again_path("/account"), "Sign in with another account"))
}

/// The identity of a user who signed in with links to this address until now. Without a verified address, that
/// user must not silently become a new one.
async fn user_of_links(
    app: &App,
    identity: &Identity,
    oidc_user: &IssuerUser,
    next: &str,
) -> PageResult<Option<Identity>> {
    let store = &app.api.store;
    // Other characters of an address may have several lower-case forms.
    if !oidc_user.email.is_ascii() || store.user_of(identity).await?.is_some() {
        return Ok(None);
    }
    let links = Identity::by_links(&oidc_user.email.to_ascii_lowercase());
    if store.user_of(&links).await?.is_none() {
        return Ok(None);
    }
    if oidc_user.email_verified {
        return Ok(Some(links));
    }
    let text = format!(
        "{} has an account here. Verify this address at your sign-in provider, then sign in again.",
        oidc_user.email
    );
    let error = PageError::new(StatusCode::FORBIDDEN, "Your e-mail address is not verified", text);
    Err(error.with_link(sign_in_again_path(next), "Sign in again"))
}

fn refused(error: Option<&str>, next: &str) -> PageError {
    let text = match error {
        Some("access_denied") => "You cancelled the sign-in. Nothing was changed.",
        _ => "The sign-in provider denied the sign-in. Try again.",
    };
    PageError::new(StatusCode::FORBIDDEN, "You are not signed in", text).with_link(sign_in_address(next), "Sign in")
}

fn failed_page(error: &OidcError, next: &str) -> PageError {
    tracing::error!(%error, "a sign-in failed");
    PageError::new(
        StatusCode::BAD_GATEWAY,
        "Sign-in failed",
        "The sign-in provider sent no valid response. Try again in a minute.",
    )
    .with_link(sign_in_address(next), "Try again")
}

#[cfg(test)]
mod tests {
    use domain::testing::a_user;
    use http::HeaderValue;
    use http::header::COOKIE;

    use super::*;
    use crate::testing::{harness_with_sign_up, service};

    fn headers(attempt: &Attempt, next: &str) -> HeaderMap {
        let value = format!("{COOKIE_NAME}={}", cookie_value(attempt, next).expose_secret());
        [(COOKIE, HeaderValue::from_str(&value).unwrap())].into_iter().collect()
    }

    #[test]
    fn callback_is_accepted_only_in_the_browser_that_started() {
        let attempt = Attempt::new();
        let ours = headers(&attempt, "/device?user_code=WDJB-MJHT");

        let (back, next) = restore_attempt(&ours, Some(&attempt.state())).unwrap();
        assert_eq!(back.nonce(), attempt.nonce());
        assert_eq!(next, "/device?user_code=WDJB-MJHT");
        for (headers, state) in [
            (&ours, Some(Attempt::new().state())),
            (&ours, None),
            (&headers(&Attempt::new(), "/"), Some(attempt.state())),
            (&HeaderMap::new(), Some(attempt.state())),
            (&HeaderMap::new(), Some(Attempt::from_secret("").state())),
        ] {
            assert!(restore_attempt(headers, state.as_deref()).is_err());
        }
    }

    #[tokio::test]
    async fn user_of_links_keeps_everything_once_at_an_issuer() {
        let service = service().await;
        let mut users = Vec::new();
        for email in ["unverified@example.com", "one@example.com"] {
            let user = a_user();
            service.store.join(&Identity::by_links(email), &user).await.unwrap();
            users.push(user.user_id);
        }

        let unverified = service.sign_in("unverified@example.com", "/account").await;
        assert_eq!((unverified.status, unverified.session()), (403, String::new()));
        assert!(unverified.text.contains("Verify this address"), "{}", unverified.text);
        for _ in 0..2 {
            let verified = service.sign_in("One@example.com", "/account").await;
            assert_eq!(service.session_user(&verified.session()).await, users[1]);
        }
        // Another account of the issuer with this address is another user.
        let later_owner = service.sign_in("ONE@example.com", "/account").await;
        assert_ne!(service.session_user(&later_owner.session()).await, users[1]);
    }

    #[tokio::test]
    async fn unlisted_email_gets_403_and_no_user() {
        let service = harness_with_sign_up(SignUp::listed("example.com")).await;

        let refused = service.sign_in("one@other.example", "/account").await;
        let admitted = service.sign_in("one@example.com", "/account").await;

        assert_eq!((refused.status, refused.header("set-cookie")), (403, ""));
        assert!(refused.text.contains("one@other.example"));
        assert_eq!(admitted.status, 303);
    }

    #[tokio::test]
    async fn signing_out_visits_the_issuer_and_returns() {
        let service = service().await;
        let session = service.sign_in("one@example.com", "/").await.session();
        let csrf = service.csrf(&session).await;

        let out = service.submit("/sign-out", &session, &[("csrf", &csrf)]).await;

        let back = "https%3A%2F%2Fsocial.example%2F";
        let expected = format!(
            "https://issuer.example/logout?kept=1&client_id=client&post_logout_redirect_uri={back}&logout_uri={back}"
        );
        assert_eq!(out.header("refresh"), format!("0; url={expected}"));
        assert!(out.text.contains(&expected.replace('&', "&#38;")), "{}", out.text);
    }

    #[tokio::test]
    async fn user_with_revoked_access_cannot_sign_in() {
        let service = service().await;
        let session = service.sign_in("one@example.com", "/").await.session();
        let user = service.session_user(&session).await;

        service.store.set_disabled(user, true).await.unwrap();

        assert_eq!(service.page("/account", &session).await.status, 303);
        let refused = service.sign_in("one@example.com", "/").await;
        assert_eq!((refused.status, refused.header("set-cookie")), (403, ""));
    }

    use crate::SignUp;
}
