//! Connecting and disconnecting accounts.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::api::{Api, Device, Proof, Tokens};
use super::grant::{Grant, Session};
use super::oauth::SCOPE;
use super::user::{Home, Homeserver, UserId, link};
use super::{MAX_FILE_BYTES, Matrix, rules};
use crate::account::{Account, AccountDetails, Credentials};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues};
use crate::kit::{CallError, ErrorKind};
use crate::platform::Connect;
use crate::redaction::without_token;

const USER: &str = "user";
const PASSWORD: &str = "password";
const HOMESERVER: &str = "homeserver";

/// The way to sign in on a page that leads back to a client.
const PAGE: &str = "m.login.sso";

/// What our page asks.
pub(super) const FIELDS: &[Field] = &[
    Field::new(USER, "Your Matrix ID", "@alice:example.org"),
    Field {
        name: PASSWORD,
        label: "Your password, or an access token",
        example: "",
        secret: true,
        optional: Some(
            "Leave it empty to sign in on your homeserver's own page, as on matrix.org, which is safer. Homeservers \
             without OAuth 2.0 need one of the two. A password is used once and not kept.",
        ),
    },
    Field {
        name: HOMESERVER,
        label: "The address of your homeserver",
        example: "https://matrix.example.org",
        secret: false,
        optional: Some("Leave it empty: it is found by your Matrix ID, unless your server is set up in another way."),
    },
];

/// The most times that a domain leads elsewhere.
const MAX_MOVES: usize = 3;

/// The host of the homeserver that was typed, or else of the user's domain.
pub(super) fn named_host(answers: &FieldValues) -> Option<String> {
    let typed = |name| answers.get(name).map(|it| it.expose_secret().trim()).filter(|it| !it.is_empty());
    let server = match typed(HOMESERVER) {
        Some(address) => Homeserver::parse(address),
        None => UserId::parse(typed(USER)?)?.origin(),
    };
    server.map(|it| it.name())
}

impl Matrix {
    /// Begins with what was typed, which is enough where it proves who the user is.
    pub(super) async fn begin(
        &self,
        answers: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let typed = |name| answers.get(name).map(|it| it.expose_secret().trim().to_owned()).unwrap_or_default();
        let user = UserId::parse(&typed(USER)).ok_or_else(|| {
            wrong(USER, "Type your Matrix ID, such as @alice:example.org. Your app shows it in its settings.")
        })?;
        let home = find(&self.api, &user, &typed(HOMESERVER), now).await?;
        // As it was typed: a password may end with a space.
        let password = answers.get(PASSWORD).filter(|it| !it.expose_secret().trim().is_empty());
        let Some(password) = password else { return self.depart(home, user, request, now).await };
        let Home { server, .. } = home;
        let (tokens, session) = self.enter(&server, &user, password, now).await?;
        let grant = Grant { server, user, session };
        Ok(AuthorizeStep::Accounts(vec![self.connected(grant, tokens.credentials(now), now).await?]))
    }

    /// Sends the person to the page of their homeserver.
    async fn depart(
        &self,
        home: Home,
        user: UserId,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let here = request.urls.for_server(&home.server.to_string());
        let request = AuthorizationRequest { urls: here, ..request.clone() };
        let (session, url) = match self.api.auth_metadata(&home.server, now).await {
            Ok(metadata) if metadata.is_of(&home, &self.api.http) => {
                let registered = metadata.register(&self.api.http, &self.client_name, &request, now).await;
                let (client, page) = registered.map_err(not_registered)?;
                (Session::OAuth(Box::new(client)), page)
            }
            Ok(_) => return Err(signs_in_elsewhere(&home.server)),
            Err(error) if is_unsupported(&error) => (Session::Login, self.old_page(&home.server, &request, now).await?),
            Err(error) => return Err(error.into()),
        };
        let memory = Grant { server: home.server, user, session }.store();
        Ok(AuthorizeStep::Redirect { url, memory: Some(memory) })
    }

    /// The page of a homeserver without OAuth 2.0, which knows nothing of who asks: where
    /// it sends people back to says which connect flow it is.
    async fn old_page(
        &self,
        server: &Homeserver,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<String, ConnectError> {
        let flows = match self.api.flows(server, now).await {
            Ok(flows) => flows,
            Err(error) if is_unsupported(&error) => return Err(no_passwords(server, false)),
            Err(error) => return Err(error.into()),
        };
        let has = |kind: &str| flows.iter().any(|it| it == kind);
        match (has(PAGE) && self.trusts(server), has("m.login.password")) {
            (true, _) => {}
            (false, true) => return Err(wrong(PASSWORD, "Type your password, or an access token.")),
            (false, false) => return Err(no_passwords(server, false)),
        }
        let back = Url::parse_with_params(&request.urls.redirect_uri, [("state", request.state.expose_secret())]);
        let back = back.map_err(|_| ConnectError::Unreachable)?;
        let mut page = server.url(&["_matrix", "client", "v3", "login", "sso", "redirect"]);
        page.query_pairs_mut().append_pair("redirectUrl", back.as_str()).append_pair("action", "login");
        Ok(page.into())
    }

    /// Whether the operator named this homeserver.
    fn trusts(&self, server: &Homeserver) -> bool {
        self.sso_homeservers.iter().any(|it| it.base().origin() == server.base().origin())
    }

    pub(super) async fn come_back(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Account, ConnectError> {
        let Some(grant) = callback.adapter_state.as_ref().and_then(Grant::read) else {
            return Err(ConnectError::Refused("what was begun is not known any more; connect again".to_owned()));
        };
        let here = callback.urls.for_server(&grant.server.to_string());
        callback.check_arrival(&here)?;
        let credentials = match &grant.session {
            Session::OAuth(client) => {
                client.check_issuer(callback)?;
                let callback = Callback { urls: here, ..callback.clone() };
                client.oauth(&self.api.http).complete(&callback).await?.credentials(None, now)
            }
            Session::Login | Session::Pasted => {
                let token = callback.query.get("loginToken").ok_or(ConnectError::Denied)?;
                let proof = Proof::FromPage(token);
                self.api.log_in(&grant.server, proof, &self.client_name, now).await?.tokens.credentials(now)
            }
        };
        let device = Device { server: &grant.server, token: &credentials.access_token, now };
        let who = self.api.who_am_i(device).await;
        let who = who.map_err(|it| without_token(it, &credentials.access_token)).and_then(|it| {
            // On the page, they may have signed in as another user of this homeserver.
            let user = UserId::parse(&it).filter(|it| it.domain() == grant.user.domain());
            user.ok_or_else(ConnectError::from_another_server)
        });
        match who {
            Ok(user) => self.connected(Grant { user, ..grant }, credentials, now).await,
            Err(refusal) => {
                self.end(&grant, &credentials, now).await;
                Err(refusal)
            }
        }
    }

    async fn connected(
        &self,
        grant: Grant,
        credentials: Credentials,
        now: DateTime<Utc>,
    ) -> Result<Account, ConnectError> {
        let device = Device { server: &grant.server, token: &credentials.access_token, now };
        match self.about_user(device, &grant.user).await {
            Ok(AccountDetails { profile, rules }) => {
                let credentials = Credentials { extra: Some(grant.store()), ..credentials };
                Ok(Account { profile, scopes: vec![SCOPE.to_owned()], rules, grant: None, credentials })
            }
            Err(error) => {
                self.end(&grant, &credentials, now).await;
                Err(without_token(error, &credentials.access_token))
            }
        }
    }

    /// Ends a device that will not be used. Whether this succeeds does not matter.
    async fn end(&self, grant: &Grant, credentials: &Credentials, now: DateTime<Utc>) {
        let credentials = Credentials { extra: Some(grant.store()), ..credentials.clone() };
        self.revoke(&credentials, now).await.ok();
    }

    /// A device, and where it comes from. What looks like a token is tried as one first.
    async fn enter(
        &self,
        server: &Homeserver,
        user: &UserId,
        password: &SecretString,
        now: DateTime<Utc>,
    ) -> Result<(Tokens, Session), ConnectError> {
        let pasted = SecretString::from(password.expose_secret().trim());
        if looks_like_a_token(pasted.expose_secret()) {
            match self.api.who_am_i(Device { server, token: &pasted, now }).await {
                Ok(whose) if whose == user.as_str() => return Ok((Tokens::lasting(pasted), Session::Pasted)),
                Ok(whose) => {
                    let whose = UserId::parse(&whose).ok_or(ConnectError::Unreachable)?;
                    let message = format!("This access token is of {}. Type that Matrix ID.", whose.as_str());
                    return Err(wrong(USER, &message));
                }
                Err(error) if error.kind == ErrorKind::Unauthorized => {}
                Err(error) => return Err(without_token(error, &pasted)),
            }
        }
        let entered = self.api.log_in(server, Proof::Password(user, password), &self.client_name, now).await;
        let entered = match entered {
            Ok(entered) => entered,
            Err(error) if is_unsupported(&error) => {
                let has_page = self.trusts(server) || self.api.auth_metadata(server, now).await.is_ok();
                return Err(no_passwords(server, has_page));
            }
            Err(error) => return Err(refused_login(error)),
        };
        if entered.user_id != user.as_str() {
            let device = Device { server, token: &entered.tokens.access_token, now };
            self.api.log_out(device).await.ok();
            let whose = UserId::parse(&entered.user_id).ok_or(ConnectError::Unreachable)?;
            return Err(wrong(USER, &format!("This is the password of {}. Type that Matrix ID.", whose.as_str())));
        }
        Ok((entered.tokens, Session::Login))
    }

    /// What an account says of itself.
    pub(super) async fn about_user(&self, device: Device<'_>, user: &UserId) -> Result<AccountDetails, CallError> {
        let (name, limit) = futures::try_join!(self.api.display_name(device, user), self.api.upload_limit(device))?;
        let profile = AccountInfo {
            account_id: user.as_str().to_owned(),
            username: Some(user.name().to_owned()),
            display_name: name,
            // Files are shown to users of a homeserver alone (since version 1.11).
            avatar: None,
            profile_url: link(&[user.as_str()]),
        };
        Ok(AccountDetails { profile, rules: rules(limit.unwrap_or(MAX_FILE_BYTES)) })
    }
}

impl Tokens {
    /// One that was pasted, of which nobody says when it ends.
    fn lasting(access_token: SecretString) -> Self {
        Self { access_token, refresh_token: None, expires_in_ms: None }
    }
}

/// Whether somebody may have pasted a token: no server gives one with other letters, and
/// none that is shorter. So few passwords look like that, and they go to their own
/// server all the same.
fn looks_like_a_token(typed: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"_-.~+/=".contains(&it);
    20 <= typed.len() && typed.bytes().all(is_letter)
}

/// The homeserver of a user: at the address that they typed, or at that of their domain,
/// or where one of these says (`/.well-known/matrix/client`).
async fn find(api: &Api, user: &UserId, typed: &str, now: DateTime<Utc>) -> Result<Home, ConnectError> {
    let (field, origin, itself) = if typed.is_empty() {
        (USER, user.origin(), user.itself())
    } else {
        let typed = Homeserver::parse(typed);
        (HOMESERVER, typed.clone(), typed)
    };
    let (Some(found_at), Some(itself)) = (origin, itself) else {
        return Err(wrong(field, "Type the address of your homeserver, such as https://matrix.example.org."));
    };
    let server = said_to_be(api, &found_at).await.unwrap_or(itself);
    let name = server.name();
    match api.is_homeserver(&server, now).await {
        Ok(true) => Ok(Home { server, found_at }),
        Err(error) if !error.status.is_some_and(|it| it.is_client_error()) => {
            Err(wrong(field, &format!("{name} was not found: {}. {}", error.message, advice(field))))
        }
        Ok(false) | Err(_) => Err(wrong(field, &format!("{name} is no homeserver of Matrix. {}", advice(field)))),
    }
}

fn advice(field: &str) -> &'static str {
    if field == USER { "Check your Matrix ID, or type the address of your homeserver below." } else { "Check it." }
}

/// Where an origin says that its homeserver is. What cannot be read says nothing: who is
/// at the origin itself is asked next.
async fn said_to_be(api: &Api, origin: &Homeserver) -> Option<Homeserver> {
    let mut url = origin.url(&[".well-known", "matrix", "client"]);
    for _ in 0..=MAX_MOVES {
        match api.well_known(url).await? {
            Ok(said) => return said["m.homeserver"]["base_url"].as_str().and_then(Homeserver::parse),
            Err(moved) => url = moved,
        }
    }
    None
}

fn refused_login(error: CallError) -> ConnectError {
    match error.kind {
        ErrorKind::Forbidden if error.has_code(&["M_FORBIDDEN"]) => {
            wrong(PASSWORD, "This is neither the password nor an access token.")
        }
        _ => error.into(),
    }
}

/// Whether a homeserver has no such call, or not this kind of it.
fn is_unsupported(error: &CallError) -> bool {
    error.kind == ErrorKind::InvalidPost && error.has_code(&["M_UNKNOWN", "M_UNRECOGNIZED", "M_NOT_FOUND"])
}

/// `has_page` is whether people can sign in on its page instead.
fn no_passwords(server: &Homeserver, has_page: bool) -> ConnectError {
    let instead = if has_page { "Leave this field empty to sign in there, or paste" } else { "Paste" };
    let name = server.name();
    wrong(
        PASSWORD,
        &format!("{name} takes no passwords here: it offers sign-in on its own page only. {instead} an access token."),
    )
}

/// Authorization servers take services at https alone, and their operators may have banned this one.
fn not_registered(error: CallError) -> ConnectError {
    match error.kind {
        ErrorKind::InvalidPost | ErrorKind::Forbidden => wrong(
            PASSWORD,
            &format!("Your homeserver does not register this service ({}). Paste an access token.", error.message),
        ),
        _ => error.into(),
    }
}

/// Its authorization server could be that of another homeserver: see `oauth.rs`.
fn signs_in_elsewhere(server: &Homeserver) -> ConnectError {
    let name = server.name();
    wrong(
        PASSWORD,
        &format!(
            "{name} signs people in at an address that is neither its own nor below the domain where it was found. Leave \
             its address empty if you typed it, or paste an access token."
        ),
    )
}

fn wrong(name: &'static str, message: &str) -> ConnectError {
    ConnectError::Field { name, message: message.to_owned() }
}
