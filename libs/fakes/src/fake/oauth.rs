//! An authorization server: apps, codes that are valid once, and grants.
//!
//! It is strict where the RFCs leave a choice: a redirect URI has to equal the registered one unless
//! [`Redirects::Any`] permits every URL, and a second use of a code or a refresh token ends its grant.

mod exchange;
mod fault;
mod grant;
mod page;
mod routes;

use chrono::{DateTime, TimeDelta, Utc};
use domain::token::{self, random_token};
use http::HeaderMap;
use http::request::Parts;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

pub use self::fault::Fault;
pub use self::grant::Grant;
pub use self::page::{ConsentRequest, decide, redirect_to_honest_page};
pub use self::routes::{Authorizes, HasOAuth, page_at, press, routes, show};

use super::params::{Params, basic, bearer};
use crate::conformance::fake_platform::Call;

/// The documented OAuth behavior of a platform.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The name of the parameter with the client id.
    pub client_id: &'static str,
    pub clients: &'static [Client],
    /// Whether codes are bound to a PKCE challenge.
    pub pkce: Pkce,
    /// All scopes. A scope that ends with `{id}` matches any id that the app chooses.
    pub scopes: &'static [&'static str],
    /// Between two scopes.
    pub separator: char,
    /// The scope of a request without one; `None` if the scope is required.
    pub default_scope: Option<&'static str>,
    /// Which redirect URIs a request may have.
    pub redirects: Redirects,
    /// Additional parameters that the page requires.
    pub page: &'static [(&'static str, &'static str)],
    pub code_lives: TimeDelta,
    /// How long an access token is valid; `None` if it does not expire.
    pub access_lives: Option<TimeDelta>,
    pub refresh: Refresh,
    /// How long a refresh token is valid, counted from its issue; `None` if it does not expire.
    pub refresh_lives: Option<TimeDelta>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// In the `Authorization` header.
    Basic,
    /// Among the parameters.
    Body,
    /// By its id alone: a public client without a secret (RFC 6749, section 2.1).
    Public,
}

/// Whether codes are bound to a PKCE challenge; S256 is the only method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pkce {
    /// A request without a challenge is refused.
    Required,
    /// A code with a challenge requires its verifier.
    Possible,
    /// The parameters are ignored.
    Ignored,
    /// A request with a challenge is refused: the documents have no such parameter.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// Only those of the app.
    Registered,
    /// Every http or https URL.
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    None,
    /// Valid as long as its grant.
    Reusable,
    /// Valid once; each refresh returns the next one.
    Rotating,
}

impl Rules {
    /// RFC 6749 with PKCE; access tokens are valid for an hour.
    pub const STANDARD: Self = Self {
        client_id: "client_id",
        clients: &[Client::Basic, Client::Body],
        pkce: Pkce::Required,
        scopes: &[],
        separator: ' ',
        default_scope: None,
        redirects: Redirects::Registered,
        page: &[],
        code_lives: TimeDelta::minutes(10),
        access_lives: Some(TimeDelta::hours(1)),
        refresh: Refresh::Rotating,
        refresh_lives: None,
    };
}

#[derive(Clone, Debug)]
pub struct App {
    pub client_id: String,
    pub client_secret: String,
    pub redirect_uris: Vec<String>,
    pub scopes: Vec<String>,
    /// Whether it was removed. A removed app can only revoke tokens.
    pub removed: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Code {
    value: String,
    client_id: String,
    redirect_uri: String,
    pub scopes: Vec<String>,
    pub account: String,
    challenge: Option<String>,
    ends_at: DateTime<Utc>,
    used: bool,
}

#[derive(Debug)]
pub struct OAuth {
    pub rules: Rules,
    pub apps: Vec<App>,
    /// All codes, also used ones.
    pub codes: Vec<Code>,
    /// All grants, also revoked ones.
    pub grants: Vec<Grant>,
}

impl OAuth {
    pub fn new(rules: Rules) -> Self {
        Self { rules, apps: Vec::new(), codes: Vec::new(), grants: Vec::new() }
    }

    /// Registers an app that may request every scope.
    pub fn register(&mut self, redirect_uri: &str) -> App {
        let app = App {
            client_id: secret(),
            client_secret: secret(),
            redirect_uris: vec![redirect_uri.to_owned()],
            scopes: self.rules.scopes.iter().map(|it| (*it).to_owned()).collect(),
            removed: false,
        };
        self.apps.push(app.clone());
        app
    }

    /// Continues with codes and grants that were stored. The code of a grant counts as used.
    pub fn restore(&mut self, codes: Vec<Code>, grants: Vec<Grant>) {
        self.codes = codes;
        for code in &mut self.codes {
            code.used = grants.iter().any(|it| it.spent.contains(&code.value));
        }
        self.grants = grants;
    }

    /// Every app may use this redirect URI from now on.
    pub fn permit(&mut self, redirect_uri: &str) {
        for app in &mut self.apps {
            app.redirect_uris.push(redirect_uri.to_owned());
        }
    }

    pub fn forget(&mut self) {
        self.apps.clear();
        self.codes.clear();
        self.grants.clear();
    }

    /// The app that a request authenticates, also a removed one.
    pub fn authenticated(&self, headers: &HeaderMap, params: &Params) -> Option<App> {
        let accepts = |client| self.rules.clients.contains(&client);
        if accepts(Client::Public) && params.text("client_secret").is_none() {
            let id = params.text(self.rules.client_id)?;
            return self.apps.iter().find(|it| it.client_id == id && it.client_secret.is_empty()).cloned();
        }
        let in_body = || Some((params.text(self.rules.client_id)?, params.text("client_secret")?));
        let (id, secret) = basic(headers)
            .filter(|_| accepts(Client::Basic))
            .or_else(|| in_body().filter(|_| accepts(Client::Body)))?;
        self.apps.iter().find(|it| it.client_id == id && it.client_secret == secret).cloned()
    }

    /// The grant of a request's access token, which may have expired or be revoked.
    pub fn find_by_bearer(&self, headers: &HeaderMap) -> Option<&Grant> {
        let token = bearer(headers)?;
        self.grants.iter().find(|it| it.access_token == token)
    }

    /// Accepts a request with a valid access token that has any of these scopes.
    pub fn accept(&self, headers: &HeaderMap, any_of: &[&str], now: DateTime<Utc>) -> Result<&Grant, Fault> {
        let grant = self.find_by_bearer(headers).ok_or(Fault::UnknownToken)?;
        if grant.revoked {
            return Err(Fault::RevokedToken);
        }
        if grant.expires_at.is_some_and(|it| it <= now) {
            return Err(Fault::ExpiredToken);
        }
        if !any_of.iter().any(|scope| grant.scopes.iter().any(|it| it == scope)) {
            return Err(Fault::BeyondScope);
        }
        Ok(grant)
    }

    /// Expires all access tokens, except those that never expire. Their grants stay valid.
    pub fn end_access_tokens(&mut self, now: DateTime<Utc>) {
        for grant in &mut self.grants {
            grant.expires_at = grant.expires_at.map(|_| now);
        }
    }

    pub fn revoke_all(&mut self) {
        for grant in &mut self.grants {
            grant.revoked = true;
        }
    }

    pub fn usable(&self) -> usize {
        self.grants.iter().filter(|it| !it.revoked).count()
    }
}

/// Whether a scope is one of these; a known scope that ends with `{id}` matches every id.
fn is_scope(known: &[impl AsRef<str>], scope: &str) -> bool {
    known.iter().map(AsRef::as_ref).any(|known| match known.strip_suffix("{id}") {
        // The length that Matrix Authentication Service demands, in unreserved characters of RFC
        // 3986.
        Some(prefix) => scope.strip_prefix(prefix).is_some_and(|id| {
            10 <= id.len() && id.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._~".contains(&it))
        }),
        None => known == scope,
    })
}

pub fn secret() -> String {
    random_token().expose_secret().to_owned()
}

/// The kind of a call to the token endpoint.
pub fn classify_token_call(head: &Parts, body: &[u8]) -> Call {
    let params = Params::read("", &head.headers, body).unwrap_or_default();
    let is_refresh = params.text("grant_type").as_deref() == Some("refresh_token");
    if is_refresh { Call::Refresh } else { Call::Exchange }
}

fn challenge(verifier: &str) -> String {
    token::hash(verifier)
}
