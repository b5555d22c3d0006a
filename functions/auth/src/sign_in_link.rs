//! Sign-in without an issuer: with a link that works once, from an e-mail or from the operator.
//!
//! Opening the link shows a form and changes nothing, because mail programs open links in advance.

use std::fmt;

use api::page::{Page, PageError, PageForm, PageQuery, PageResult};
use api::session::local_path;
use api::{ClientIp, SignedIn};
use askama::Template;
use async_trait::async_trait;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use storage::Identity;

use crate::new_session::{NewSession, audit_sign_in, find_or_create_user};
use crate::{App, SignInMethod};

/// The longest e-mail address in bytes (RFC 5321, section 4.5.3.1.3, without the brackets).
const MAX_EMAIL_BYTES: usize = 254;

#[async_trait]
pub trait SignInLinks: fmt::Debug + Send + Sync {
    fn sends_mail(&self) -> bool;

    /// After the sign-in the link leads to the page `next`.
    async fn send(&self, email: &str, next: &str) -> Result<(), LinkError>;

    /// A link that is valid and unused.
    async fn find(&self, token: &str) -> Result<Option<SignInLink>, LinkError>;

    /// Like [`SignInLinks::find`], but the link is then used. Of concurrent calls, one gets it.
    async fn redeem(&self, token: &str) -> Result<Option<SignInLink>, LinkError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInLink {
    /// `None` in the first link of a deployment: its user enters an address.
    pub email: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("sign-in links: {0}")]
pub struct LinkError(pub String);

#[derive(Template)]
#[template(path = "sign_in.html")]
struct EntryPage<'a> {
    sends_mail: bool,
    next: &'a str,
}

#[derive(Template)]
#[template(path = "sign_in_sent.html")]
struct SentPage<'a> {
    email: &'a str,
}

#[derive(Template)]
#[template(path = "sign_in_link.html")]
struct LinkPage<'a> {
    email: Option<&'a str>,
    token: &'a str,
    next: &'a str,
}

/// The routes that a service with an issuer does not have.
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/sign-in", post(send)).route("/sign-in/link", get(show).post(redeem))
}

pub(crate) fn entry_page(links: &dyn SignInLinks, next: &str) -> PageResult<Response> {
    Ok(Page::render("Sign in", &EntryPage { sends_mail: links.sends_mail(), next })?.into_response())
}

#[derive(Deserialize)]
struct RequestForm {
    email: String,
    #[serde(default)]
    next: String,
}

/// Refuses a form of another site, which could sign a user in to an account of the attacker.
fn check_site(app: &App, headers: &HeaderMap) -> PageResult<()> {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let is_ours = text("sec-fetch-site").is_none_or(|it| ["same-origin", "none"].contains(&it))
        && text("origin").is_none_or(|it| it == app.api.origin);
    if is_ours { Ok(()) } else { Err(PageError::forged()) }
}

/// Sends a link to an address that may sign in. The page is the same for all addresses, so that nobody
/// learns who is a user.
async fn send(State(app): State<App>, headers: HeaderMap, PageForm(form): PageForm<RequestForm>) -> PageResult<Page> {
    check_site(&app, &headers)?;
    let links = links(&app)?;
    if !links.sends_mail() {
        return Err(PageError::not_found());
    }
    let email = parse_email(&form.email)?;
    let is_user = app.api.store.user_of(&Identity::by_links(&email)).await?.is_some();
    if is_user || app.sign_up.admits(&email, true) {
        let (links, email, next) = (links.clone(), email.clone(), local_path(&form.next).to_owned());
        tokio::spawn(async move {
            if let Err(error) = links.send(&email, &next).await {
                tracing::error!(%error, "a sign-in link was not sent");
            }
        });
    }
    Page::render("Check your e-mail", &SentPage { email: &email })
}

#[derive(Deserialize)]
struct LinkQuery {
    #[serde(default)]
    token: String,
    #[serde(default)]
    next: String,
}

async fn show(State(app): State<App>, PageQuery(query): PageQuery<LinkQuery>) -> PageResult<Page> {
    let link = links(&app)?.find(&query.token).await.map_err(failed)?.ok_or_else(expired)?;
    let page = LinkPage { email: link.email.as_deref(), token: &query.token, next: local_path(&query.next) };
    Page::render("Sign in", &page)
}

#[derive(Deserialize)]
struct RedeemForm {
    token: String,
    /// Only for a link without an address.
    email: Option<String>,
    #[serde(default)]
    next: String,
}

async fn redeem(
    State(app): State<App>,
    address: ClientIp,
    headers: HeaderMap,
    PageForm(form): PageForm<RedeemForm>,
) -> PageResult<Response> {
    check_site(&app, &headers)?;
    let signed_in = start_session(&app, address, form).await;
    audit_sign_in(&signed_in, address);
    let (_, session, next) = signed_in?;
    Ok(([(SET_COOKIE, session)], Redirect::to(&next)).into_response())
}

async fn start_session(app: &App, address: ClientIp, form: RedeemForm) -> PageResult<NewSession> {
    // Before the link is used, so that a mistyped address can be corrected.
    let entered = form.email.as_deref().map(parse_email).transpose()?;
    let link = links(app)?.redeem(&form.token).await.map_err(failed)?.ok_or_else(expired)?;
    let email = link.email.or(entered).ok_or_else(|| invalid_email(""))?;
    let name = email.split('@').next().unwrap_or_default();
    let user = find_or_create_user(&app.api, &Identity::by_links(&email), None, name, &email).await?;
    let session = SignedIn::start(&app.api, user.user_id, address).await?;
    Ok((user, session, local_path(&form.next).to_owned()))
}

fn links(app: &App) -> PageResult<&std::sync::Arc<dyn SignInLinks>> {
    match &app.method {
        SignInMethod::Links(links) => Ok(links),
        SignInMethod::Oidc(_) => Err(PageError::not_found()),
    }
}

fn parse_email(typed: &str) -> PageResult<String> {
    let email = typed.trim().to_lowercase();
    let has_both_parts = email.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'));
    // Programs that send mail read these as the parts of a list of addresses.
    let is_special = |it: char| it.is_control() || it.is_whitespace() || r#"<>()[]\,;:""#.contains(it);
    let is_plain = email.len() <= MAX_EMAIL_BYTES && !email.contains(is_special) && email.matches('@').count() == 1;
    if has_both_parts && is_plain { Ok(email) } else { Err(invalid_email(typed)) }
}

fn invalid_email(typed: &str) -> PageError {
    let typed: String = typed.chars().take(100).collect();
    let text = format!("“{typed}” is not an e-mail address. Go back and correct it.");
    PageError::new(StatusCode::BAD_REQUEST, "Enter an e-mail address", text)
}

fn expired() -> PageError {
    let text =
        "A sign-in link works once and for a limited time. Request a new one, or ask the operator of this service.";
    PageError::new(StatusCode::BAD_REQUEST, "This link is not valid any more", text).with_link("/sign-in", "Sign in")
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: LinkError) -> PageError {
    tracing::error!(%error, "a sign-in failed");
    PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "Sign-in failed", "The link could not be read. Try again.")
}

#[cfg(test)]
mod tests {
    use super::parse_email;
    use crate::SignUp;
    use crate::testing::{MemoryLinks, service_with_links};

    #[tokio::test]
    async fn link_signs_in_once() {
        let links = MemoryLinks::default();
        let service = service_with_links(&links, SignUp::listed("")).await;
        let token = links.add(Some("one@example.com"));

        let page = service.page(&format!("/sign-in/link?token={token}&next=/posts"), "").await;
        assert_eq!(page.status, 200);
        assert!(page.text.contains("one@example.com"), "{}", page.text);
        let form = [("token", token.as_str()), ("next", "/posts")];
        let first = service.submit("/sign-in/link", "", &form).await;
        let second = service.submit("/sign-in/link", "", &form).await;

        assert_eq!((first.status, first.header("location")), (303, "/posts"));
        assert_eq!((second.status, second.session()), (400, String::new()));
        assert!(service.page("/account", &first.session()).await.text.contains("one@example.com"));
    }

    #[tokio::test]
    async fn first_user_enters_an_address() {
        let links = MemoryLinks::default();
        let service = service_with_links(&links, SignUp::listed("")).await;
        let token = links.add(None);

        let mistyped = service.submit("/sign-in/link", "", &[("token", &token), ("email", "owner")]).await;
        let corrected = service.submit("/sign-in/link", "", &[("token", &token), ("email", "Owner@Example.com")]).await;

        assert_eq!(mistyped.status, 400);
        assert!(service.page("/account", &corrected.session()).await.text.contains("owner@example.com"));
    }

    #[tokio::test]
    async fn form_of_another_site_is_refused() {
        let links = MemoryLinks::default();
        let service = service_with_links(&links, SignUp::listed("")).await;
        let token = links.add(Some("one@example.com"));

        for (name, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
            let request = http::Request::post("/sign-in/link")
                .header(name, value)
                .header("content-type", "application/x-www-form-urlencoded")
                .body(axum::body::Body::from(format!("token={token}")))
                .unwrap();
            let refused = service.send_request(request).await;
            assert_eq!((refused.status, refused.session()), (403, String::new()), "{name}");
        }
        assert_eq!(service.submit("/sign-in/link", "", &[("token", &token)]).await.status, 303);
    }

    #[test]
    fn list_of_addresses_is_not_an_address() {
        assert_eq!(parse_email(" One@Example.com").unwrap(), "one@example.com");
        for typed in
            ["one", "@example.com", "a<b@example.com>", "a@b@example.com", "a,b@example.com", "a b@example.com"]
        {
            assert!(parse_email(typed).is_err(), "{typed}");
        }
    }

    #[tokio::test]
    async fn address_of_a_link_cannot_be_replaced() {
        let links = MemoryLinks::default();
        let service = service_with_links(&links, SignUp::listed("")).await;
        let token = links.add(Some("one@example.com"));

        let form = [("token", token.as_str()), ("email", "other@example.com")];
        let session = service.submit("/sign-in/link", "", &form).await.session();

        assert!(service.page("/account", &session).await.text.contains("one@example.com"));
    }

    #[tokio::test]
    async fn only_users_and_listed_addresses_get_a_mail() {
        let links = MemoryLinks::default();
        let service = service_with_links(&links, SignUp::listed("example.org")).await;
        let token = links.add(Some("user@example.com"));
        service.submit("/sign-in/link", "", &[("token", &token)]).await;

        let mut pages = Vec::new();
        for email in ["user@example.com", "anyone@example.org", "stranger@example.com"] {
            let sent = service.submit("/sign-in", "", &[("email", email), ("next", "//evil.example")]).await;
            pages.push((sent.status, sent.text.replace(email, "")));
        }
        tokio::task::yield_now().await;

        assert_eq!(pages[0], pages[2], "the page does not tell who is a user");
        assert_eq!(links.sent(), ["user@example.com /account", "anyone@example.org /account"]);
    }

    #[tokio::test]
    async fn sign_out_ends_on_our_page() {
        let links = MemoryLinks::default();
        let service = service_with_links(&links, SignUp::listed("")).await;
        let token = links.add(Some("one@example.com"));
        let session = service.submit("/sign-in/link", "", &[("token", &token)]).await.session();
        let csrf = service.csrf(&session).await;

        let out = service.submit("/sign-out", &session, &[("csrf", &csrf)]).await;

        assert_eq!((out.status, out.header("refresh")), (200, ""));
        let sign_in = service.page("/sign-in", "").await;
        assert!(sign_in.text.contains("name=\"email\""), "{}", sign_in.text);
    }
}
