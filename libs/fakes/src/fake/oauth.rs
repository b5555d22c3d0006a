//! An authorization server: apps, codes that are good once, and grants.
//!
//! It is strict where the RFCs leave a choice: a redirect URI has to be the very one
//! that was registered, a code that is brought a second time ends its grant, and so
//! does a refresh token.

mod exchange;
mod fault;
mod grant;
mod page;
mod routes;

use chrono::{DateTime, TimeDelta, Utc};
use domain::token::{self, random_token};
use http::HeaderMap;
use http::request::Parts;
use platforms::conformance::fake_platform::Call;
use secrecy::ExposeSecret;

pub use self::fault::Fault;
pub use self::grant::Grant;
pub use self::page::{ConsentRequest, decide, redirect_to_honest_page};
pub use self::routes::{Authorizes, HasOAuth, page_at, press, routes, show};

use super::params::{Params, basic, bearer};

/// What a platform's documents say of its OAuth.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The parameter that names an app.
    pub client_id: &'static str,
    /// How an app may say who it is.
    pub clients: &'static [Client],
    /// Whether codes are bound to a challenge.
    pub pkce: Pkce,
    /// The scopes that there are. `{id}` at the end stands for an id of the app's choice.
    pub scopes: &'static [&'static str],
    /// What stands between two of them.
    pub separator: char,
    /// What is asked for when nothing is said; `None` where something has to be.
    pub default_scope: Option<&'static str>,
    /// Additional parameters that the page requires.
    pub page: &'static [(&'static str, &'static str)],
    /// How long a code can be exchanged.
    pub code_lives: TimeDelta,
    /// How long an access token works; `None` where it does not end.
    pub access_lives: Option<TimeDelta>,
    /// Whether there are refresh tokens.
    pub refresh: Refresh,
    /// How long a refresh token can be exchanged, from when it was first given; `None` where it does not end.
    pub refresh_lives: Option<TimeDelta>,
}

/// How an app says who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// In the `Authorization` header.
    Basic,
    /// Among the parameters.
    Body,
    /// By its id alone: it has no secret (RFC 6749, section 2.1).
    Public,
}

/// Whether codes are bound to a challenge, S256 alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pkce {
    /// A request without one is refused.
    Required,
    /// Where there is one, its verifier has to come.
    Possible,
    /// Nothing is made of it.
    Ignored,
    /// A request with one is refused: the documents know nothing of it.
    Unknown,
}

/// Whether there are refresh tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    None,
    /// One that is good for as long as its grant.
    Reusable,
    /// Each is good once, and the next one comes along.
    Rotating,
}

impl Rules {
    /// RFC 6749 with PKCE; access tokens for an hour.
    pub const STANDARD: Self = Self {
        client_id: "client_id",
        clients: &[Client::Basic, Client::Body],
        pkce: Pkce::Required,
        scopes: &[],
        separator: ' ',
        default_scope: None,
        page: &[],
        code_lives: TimeDelta::minutes(10),
        access_lives: Some(TimeDelta::hours(1)),
        refresh: Refresh::Rotating,
        refresh_lives: None,
    };
}

/// An app that somebody has registered.
#[derive(Clone, Debug)]
pub struct App {
    /// Names it.
    pub client_id: String,
    /// Proves that it is that one.
    pub client_secret: String,
    /// Where people may be sent back to.
    pub redirect_uris: Vec<String>,
    /// What it may ask for.
    pub scopes: Vec<String>,
    /// Whether it was removed. It can then only give tokens back.
    pub removed: bool,
}

/// The code by which an app learns that the person has agreed.
#[derive(Clone, Debug)]
pub struct Code {
    value: String,
    client_id: String,
    redirect_uri: String,
    /// What was agreed to.
    pub scopes: Vec<String>,
    pub account: String,
    challenge: Option<String>,
    ends_at: DateTime<Utc>,
    used: bool,
}

/// An authorization server.
#[derive(Debug)]
pub struct OAuth {
    /// What its documents say.
    pub rules: Rules,
    /// The apps that it knows.
    pub apps: Vec<App>,
    codes: Vec<Code>,
    /// What apps may do, also what they no longer may.
    pub grants: Vec<Grant>,
}

impl OAuth {
    pub fn new(rules: Rules) -> Self {
        Self { rules, apps: Vec::new(), codes: Vec::new(), grants: Vec::new() }
    }

    /// Registers an app that may ask for all scopes there are.
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

    /// From now on people may also be sent back here, by every app.
    pub fn permit(&mut self, redirect_uri: &str) {
        for app in &mut self.apps {
            app.redirect_uris.push(redirect_uri.to_owned());
        }
    }

    /// Forgets all apps, and what they were granted.
    pub fn forget(&mut self) {
        self.apps.clear();
        self.codes.clear();
        self.grants.clear();
    }

    /// The app that a request proves to come from, removed ones too.
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

    /// The grant of a request's token, which may have ended.
    pub fn find_by_bearer(&self, headers: &HeaderMap) -> Option<&Grant> {
        let token = bearer(headers)?;
        self.grants.iter().find(|it| it.access_token == token)
    }

    /// Accepts a request with a living token that has any of these scopes.
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

    /// Ends all access tokens. Their grants go on; those that do not end go on, too.
    pub fn end_access_tokens(&mut self, now: DateTime<Utc>) {
        for grant in &mut self.grants {
            grant.expires_at = grant.expires_at.map(|_| now);
        }
    }

    /// The person takes all grants away.
    pub fn revoke_all(&mut self) {
        for grant in &mut self.grants {
            grant.revoked = true;
        }
    }

    /// How many grants can still be used.
    pub fn usable(&self) -> usize {
        self.grants.iter().filter(|it| !it.revoked).count()
    }
}

/// Whether a scope is one of these, of which those that end with `{id}` stand for many.
fn is_scope(known: &[impl AsRef<str>], scope: &str) -> bool {
    known.iter().map(AsRef::as_ref).any(|known| match known.strip_suffix("{id}") {
        // As long as Matrix Authentication Service demands, of the unreserved characters of RFC 3986.
        Some(prefix) => scope.strip_prefix(prefix).is_some_and(|id| {
            10 <= id.len() && id.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._~".contains(&it))
        }),
        None => known == scope,
    })
}

/// A string that nobody else gives out.
pub fn secret() -> String {
    random_token().expose_secret().to_owned()
}

/// What kind of call for tokens this is.
pub fn classify_token_call(head: &Parts, body: &[u8]) -> Call {
    let params = Params::read("", &head.headers, body).unwrap_or_default();
    let is_refresh = params.text("grant_type").as_deref() == Some("refresh_token");
    if is_refresh { Call::Refresh } else { Call::Exchange }
}

/// The S256 challenge of a verifier.
fn challenge(verifier: &str) -> String {
    token::hash(verifier)
}
