//! The authorization server of the sandbox: the kit of the fakes, with a consent page of its own
//! and with grants that survive a restart.

use std::io;
use std::sync::{Arc, LazyLock, MutexGuard, PoisonError};

use askama::Template;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, TimeDelta, Utc};

use super::accounts::Account;
use super::api_error::SandboxApiError;
use super::fact::Fact;
use super::{CLIENT_ID, CLIENT_SECRET, Inner, PLATFORM, Sandbox, pages};
use crate::fake::oauth::{App, Authorizes, Client, ConsentRequest, Fault, HasOAuth, OAuth, Redirects, Rules, routes};
use crate::fake::params::Params;

pub(super) const PROFILE: &str = "profile";
/// Scope for uploads, posts and comments.
pub(super) const PUBLISH: &str = "publish";

/// A deployed service that uses the sandbox has its own redirect URI.
const RULES: Rules = Rules {
    clients: &[Client::Body],
    scopes: &[PROFILE, PUBLISH],
    default_scope: Some("profile publish"),
    redirects: Redirects::Any,
    code_lives: TimeDelta::minutes(5),
    ..Rules::STANDARD
};

static HANDLES: LazyLock<Vec<&str>> = LazyLock::new(|| Account::all().map(Account::handle).collect());

/// Without grants.
pub(super) fn server() -> OAuth {
    let app = App {
        client_id: CLIENT_ID.to_owned(),
        client_secret: CLIENT_SECRET.to_owned(),
        redirect_uris: Vec::new(),
        scopes: [PROFILE, PUBLISH].map(str::to_owned).to_vec(),
        removed: false,
    };
    let mut oauth = OAuth::new(RULES);
    oauth.apps.push(app);
    oauth
}

/// A response leaves after its grant is stored.
pub(super) fn router(sandbox: &Sandbox) -> Router<Sandbox> {
    routes::<Inner>("/sandbox/oauth/authorize", "/sandbox/oauth/token", Some("/sandbox/oauth/revoke"))
        .with_state(Arc::clone(&sandbox.0))
        .route_layer(from_fn_with_state(sandbox.clone(), store_grants))
}

async fn store_grants(State(sandbox): State<Sandbox>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    // RFC 6749, section 5.1
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    match sandbox.store_grants() {
        Ok(()) => response,
        Err(error) => SandboxApiError::from(error).into_response(),
    }
}

impl Sandbox {
    /// Only the codes and grants that are new or have changed.
    pub(super) fn store_grants(&self) -> io::Result<()> {
        let oauth = self.0.oauth();
        let mut ledger = self.ledger();
        for code in oauth.codes.iter().skip(ledger.codes().len()) {
            ledger.record(Fact::Allowed { code: code.clone() })?;
        }
        for (index, grant) in oauth.grants.iter().enumerate() {
            if ledger.grants().get(index) != Some(grant) {
                ledger.record(Fact::Granted { index, grant: grant.clone() })?;
            }
        }
        Ok(())
    }

    /// `None` for all accounts.
    pub(super) fn expire_access(&self, account: Option<Account>) -> io::Result<()> {
        let now = self.now();
        let mut oauth = self.0.oauth();
        for grant in &mut oauth.grants {
            if account.is_none_or(|it| accounts_in(&grant.account).any(|covered| covered == it)) {
                grant.expires_at = Some(now);
            }
        }
        drop(oauth);
        self.store_grants()
    }
}

/// The user's own account first.
pub(super) fn accounts_in(grant: &str) -> impl Iterator<Item = Account> {
    grant.split(' ').filter_map(Account::find)
}

impl HasOAuth for Inner {
    fn oauth(&self) -> MutexGuard<'_, OAuth> {
        self.oauth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    fn platform(&self) -> &str {
        PLATFORM
    }
}

#[derive(Template)]
#[template(path = "sandbox/consent.html")]
struct ConsentPage<'a> {
    accounts: Vec<Account>,
    client: &'a str,
    returns_to: &'a str,
    may_publish: bool,
}

impl Authorizes for Inner {
    fn accounts(&self) -> &'static [&'static str] {
        &HANDLES
    }

    fn consent_page(&self, request: &ConsentRequest) -> Response {
        let returns_to = request.redirect_origin();
        let mut response = pages::show(&ConsentPage {
            accounts: Account::all().collect(),
            client: CLIENT_ID,
            returns_to: &returns_to,
            may_publish: request.scopes.iter().any(|it| it == PUBLISH),
        });
        // Browsers apply form-action to the redirect in the response as well.
        if let Ok(policy) = format!("{} {returns_to}", pages::POLICY).parse() {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }

    /// The chosen account, then those that the grant covers as well: `also.{handle}` for each.
    fn chosen_account(&self, form: &Params) -> Option<String> {
        let chosen = Account::find(&form.text("account")?)?;
        let is_ticked = |it: &Account| form.text(&format!("also.{}", it.handle())).is_some();
        let others = Account::all().filter(|it| *it != chosen && is_ticked(it));
        Some([chosen].into_iter().chain(others).map(Account::handle).collect::<Vec<_>>().join(" "))
    }

    fn page_refusal(&self, _: &Params, error: &Fault) -> Response {
        let message = format!("The app sent you here with an invalid request: {}.", error.message());
        pages::message(StatusCode::BAD_REQUEST, "Invalid request", &message)
    }
}
