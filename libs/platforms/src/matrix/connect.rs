//! Connecting an account: on its homeserver's page, or with a password or an access token.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::api::{Api, Device, Proof, Tokens};
use super::grant::{Grant, Session};
use super::oauth::SCOPE;
use super::user::{FoundHomeserver, Homeserver, UserId, link};
use super::{MAX_FILE_BYTES, Matrix, rules};
use crate::account::{Account, AccountDetails, Credentials};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues};
use crate::kit::{CallError, ErrorKind};
use crate::platform::Connect;
use crate::redaction::without_token;

const USER: &str = "user";
const PASSWORD: &str = "password";
const HOMESERVER: &str = "homeserver";

/// The login type of a page that redirects back to a client.
const PAGE: &str = "m.login.sso";

pub(super) const FIELDS: &[Field] = &[
    Field::new(USER, "Your Matrix ID", "@alice:example.org"),
    Field {
        name: PASSWORD,
        label: "Your password, or an access token",
        example: "",
        secret: true,
        optional: Some(
            "Leave this empty to sign in on your homeserver's own page, which is safer and works on matrix.org. \
             Homeservers without OAuth 2.0 need a password or an access token. The password is used once and not \
             stored.",
        ),
    },
    Field {
        name: HOMESERVER,
        label: "Homeserver URL",
        example: "https://matrix.example.org",
        secret: false,
        optional: Some("Leave this empty unless your homeserver cannot be found from your Matrix ID."),
    },
];

const MAX_MOVES: usize = 3;

pub(super) fn named_host(values: &FieldValues) -> Option<String> {
    let typed = |name| values.get(name).map(|it| it.expose_secret().trim()).filter(|it| !it.is_empty());
    let server = match typed(HOMESERVER) {
        Some(address) => Homeserver::parse(address),
        None => UserId::parse(typed(USER)?)?.origin(),
    };
    server.map(|it| it.name())
}

impl Matrix {
    /// Starts with the typed values. A password or a token is enough to connect the account.
    pub(super) async fn begin(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let typed = |name| values.get(name).map(|it| it.expose_secret().trim().to_owned()).unwrap_or_default();
        let user = UserId::parse(&typed(USER)).ok_or_else(|| {
            field_error(USER, "Type your Matrix ID, such as @alice:example.org. Your app shows it in its settings.")
        })?;
        let home = find(&self.api, &user, &typed(HOMESERVER), now).await?;
        // Not trimmed: a password may end with a space.
        let password = values.get(PASSWORD).filter(|it| !it.expose_secret().trim().is_empty());
        let Some(password) = password else { return self.redirect_to_login(home, user, request, now).await };
        let FoundHomeserver { server, .. } = home;
        let (tokens, session) = self.enter(&server, &user, password, now).await?;
        let grant = Grant { server, user, session };
        Ok(AuthorizeStep::Accounts(vec![self.connected(grant, tokens.credentials(now), now).await?]))
    }

    async fn redirect_to_login(
        &self,
        home: FoundHomeserver,
        user: UserId,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let urls = request.urls.for_server(&home.server.to_string());
        let request = AuthorizationRequest { urls, ..request.clone() };
        let (session, url) = match self.api.auth_metadata(&home.server, now).await {
            Ok(metadata) if metadata.is_of(&home, &self.api.http) => {
                let registered = metadata.register(&self.api.http, &self.client_name, &request, now).await;
                let (client, page) = registered.map_err(registration_error)?;
                (Session::OAuth(Box::new(client)), page)
            }
            Ok(_) => return Err(foreign_authorization_server(&home.server)),
            Err(error) if is_unsupported(&error) => (Session::Login, self.sso_page(&home.server, &request, now).await?),
            Err(error) => return Err(error.into()),
        };
        let memory = Grant { server: home.server, user, session }.store();
        Ok(AuthorizeStep::Redirect { url, memory: Some(memory) })
    }

    /// The page of a homeserver without OAuth 2.0, which has no `state`: its redirect URI names the
    /// connect flow.
    async fn sso_page(
        &self,
        server: &Homeserver,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<String, ConnectError> {
        let flows = match self.api.flows(server, now).await {
            Ok(flows) => flows,
            Err(error) if is_unsupported(&error) => return Err(passwords_not_accepted(server, false)),
            Err(error) => return Err(error.into()),
        };
        let has_flow = |kind: &str| flows.iter().any(|it| it == kind);
        match (has_flow(PAGE) && self.is_trusted_for_sso(server), has_flow("m.login.password")) {
            (true, _) => {}
            (false, true) => return Err(field_error(PASSWORD, "Type your password, or an access token.")),
            (false, false) => return Err(passwords_not_accepted(server, false)),
        }
        let back = Url::parse_with_params(&request.urls.redirect_uri, [("state", request.state.expose_secret())]);
        let back = back.map_err(|_| ConnectError::Unreachable)?;
        let mut page = server.url(&["_matrix", "client", "v3", "login", "sso", "redirect"]);
        page.query_pairs_mut().append_pair("redirectUrl", back.as_str()).append_pair("action", "login");
        Ok(page.into())
    }

    fn is_trusted_for_sso(&self, server: &Homeserver) -> bool {
        self.sso_homeservers.iter().any(|it| it.base().origin() == server.base().origin())
    }

    pub(super) async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Account, ConnectError> {
        let Some(grant) = callback.adapter_state.as_ref().and_then(Grant::read) else {
            return Err(ConnectError::Refused("the sign-in that you started has expired; connect again".to_owned()));
        };
        let urls = callback.urls.for_server(&grant.server.to_string());
        callback.check_redirect_uri(&urls)?;
        let credentials = match &grant.session {
            Session::OAuth(client) => {
                client.check_issuer(callback)?;
                let callback = Callback { urls, ..callback.clone() };
                client.oauth(&self.api.http).complete(&callback).await?.credentials(None, now)
            }
            Session::Login | Session::Pasted => {
                let token = callback.query.get("loginToken").ok_or(ConnectError::Denied)?;
                let proof = Proof::FromPage(token);
                self.api.log_in(&grant.server, proof, &self.client_name, now).await?.tokens.credentials(now)
            }
        };
        let device = Device { server: &grant.server, token: &credentials.access_token, now };
        let identity = self.api.who_am_i(device).await;
        let identity = identity.map_err(|it| without_token(it, &credentials.access_token)).and_then(|it| {
            // On the page, the user may have signed in as another user of this homeserver.
            let user = UserId::parse(&it).filter(|it| it.domain() == grant.user.domain());
            user.ok_or_else(ConnectError::from_another_server)
        });
        match identity {
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
                // A server can claim any account, so a grant of another server never replaces the credentials of this one.
                let name = format!("{} at {}", profile.account_id, grant.server);
                Ok(Account { profile, scopes: vec![SCOPE.to_owned()], rules, grant: Some(name), credentials })
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

    /// A device, and the origin of its tokens. Input that looks like a token is tried as one first.
    async fn enter(
        &self,
        server: &Homeserver,
        user: &UserId,
        password: &SecretString,
        now: DateTime<Utc>,
    ) -> Result<(Tokens, Session), ConnectError> {
        let pasted = SecretString::from(password.expose_secret().trim());
        if may_be_access_token(pasted.expose_secret()) {
            match self.api.who_am_i(Device { server, token: &pasted, now }).await {
                Ok(token_owner) if token_owner == user.as_str() => {
                    return Ok((Tokens::without_expiry(pasted), Session::Pasted));
                }
                Ok(token_owner) => {
                    let token_owner = UserId::parse(&token_owner).ok_or(ConnectError::Unreachable)?;
                    let message =
                        format!("This access token belongs to {}. Type that Matrix ID.", token_owner.as_str());
                    return Err(field_error(USER, &message));
                }
                Err(error) if error.kind == ErrorKind::Unauthorized => {}
                Err(error) => return Err(without_token(error, &pasted)),
            }
        }
        let logged_in = self.api.log_in(server, Proof::Password(user, password), &self.client_name, now).await;
        let logged_in = match logged_in {
            Ok(logged_in) => logged_in,
            Err(error) if is_unsupported(&error) => {
                let has_page = self.is_trusted_for_sso(server) || self.api.auth_metadata(server, now).await.is_ok();
                return Err(passwords_not_accepted(server, has_page));
            }
            Err(error) => return Err(login_error(error)),
        };
        if logged_in.user_id != user.as_str() {
            let device = Device { server, token: &logged_in.tokens.access_token, now };
            self.api.log_out(device).await.ok();
            let token_owner = UserId::parse(&logged_in.user_id).ok_or(ConnectError::Unreachable)?;
            return Err(field_error(
                USER,
                &format!("This password belongs to {}. Type that Matrix ID.", token_owner.as_str()),
            ));
        }
        Ok((logged_in.tokens, Session::Login))
    }

    pub(super) async fn about_user(&self, device: Device<'_>, user: &UserId) -> Result<AccountDetails, CallError> {
        let (name, limit) = futures::try_join!(self.api.display_name(device, user), self.api.upload_limit(device))?;
        let profile = AccountInfo {
            account_id: user.as_str().to_owned(),
            username: Some(user.name().to_owned()),
            display_name: name,
            // Files are visible only to users of a homeserver (since version 1.11).
            avatar: None,
            profile_url: link(&[user.as_str()]),
        };
        Ok(AccountDetails { profile, rules: rules(limit.unwrap_or(MAX_FILE_BYTES)) })
    }
}

impl Tokens {
    /// A pasted token, whose end is unknown.
    fn without_expiry(access_token: SecretString) -> Self {
        Self { access_token, refresh_token: None, expires_in_ms: None }
    }
}

/// Whether the input may be a token: no server issues one with other letters, and none that is
/// shorter. Few passwords look like that, and such a password is sent to its own server only.
fn may_be_access_token(typed: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"_-.~+/=".contains(&it);
    20 <= typed.len() && typed.bytes().all(is_letter)
}

/// The homeserver of a user: at the URL that they typed, or at that of their domain, or at the one
/// that either names (`/.well-known/matrix/client`).
async fn find(api: &Api, user: &UserId, typed: &str, now: DateTime<Utc>) -> Result<FoundHomeserver, ConnectError> {
    let (field, origin, server_at_domain) = if typed.is_empty() {
        (USER, user.origin(), user.itself())
    } else {
        let typed = Homeserver::parse(typed);
        (HOMESERVER, typed.clone(), typed)
    };
    let (Some(well_known_origin), Some(server_at_domain)) = (origin, server_at_domain) else {
        return Err(field_error(field, "Type the URL of your homeserver, such as https://matrix.example.org."));
    };
    let server = fetch_well_known(api, &well_known_origin).await.unwrap_or(server_at_domain);
    let name = server.name();
    match api.is_homeserver(&server, now).await {
        Ok(true) => Ok(FoundHomeserver { server, found_at: well_known_origin }),
        Err(error) if !error.status.is_some_and(|it| it.is_client_error()) => {
            Err(field_error(field, &format!("{name} could not be reached: {}. {}", error.message, advice(field))))
        }
        Ok(false) | Err(_) => Err(field_error(field, &format!("{name} is not a Matrix homeserver. {}", advice(field)))),
    }
}

fn advice(field: &str) -> &'static str {
    if field == USER { "Check your Matrix ID, or type the URL of your homeserver below." } else { "Check it." }
}

/// The homeserver that an origin names. An unreadable response names none, and the origin itself is
/// checked next.
async fn fetch_well_known(api: &Api, origin: &Homeserver) -> Option<Homeserver> {
    let mut url = origin.url(&[".well-known", "matrix", "client"]);
    for _ in 0..=MAX_MOVES {
        match api.well_known(url).await? {
            Ok(document) => return document["m.homeserver"]["base_url"].as_str().and_then(Homeserver::parse),
            Err(location) => url = location,
        }
    }
    None
}

fn login_error(error: CallError) -> ConnectError {
    match error.kind {
        ErrorKind::Forbidden if error.has_code(&["M_FORBIDDEN"]) => {
            field_error(PASSWORD, "This is neither your password nor a valid access token.")
        }
        _ => error.into(),
    }
}

/// Whether a homeserver does not support the call, or this kind of it.
fn is_unsupported(error: &CallError) -> bool {
    error.kind == ErrorKind::InvalidPost && error.has_code(&["M_UNKNOWN", "M_UNRECOGNIZED", "M_NOT_FOUND"])
}

/// `has_page`: whether the user can sign in on the homeserver's page instead.
fn passwords_not_accepted(server: &Homeserver, has_page: bool) -> ConnectError {
    let alternative = if has_page { "Leave this field empty to sign in there, or paste" } else { "Paste" };
    let name = server.name();
    field_error(
        PASSWORD,
        &format!(
            "{name} accepts no passwords from other services, only sign-in on its own page. {alternative} an access \
                  token."
        ),
    )
}

/// Authorization servers accept only services with https, and their operators may have banned this
/// one.
fn registration_error(error: CallError) -> ConnectError {
    match error.kind {
        ErrorKind::InvalidPost | ErrorKind::Forbidden => field_error(
            PASSWORD,
            &format!("Your homeserver refused to register this service ({}). Paste an access token.", error.message),
        ),
        _ => error.into(),
    }
}

/// Its authorization server could be that of another homeserver: see `oauth.rs`.
fn foreign_authorization_server(server: &Homeserver) -> ConnectError {
    let name = server.name();
    field_error(
        PASSWORD,
        &format!(
            "{name} signs users in at a URL that belongs neither to it nor to its domain. If you typed the homeserver \
             URL, leave it empty, or paste an access token."
        ),
    )
}

fn field_error(name: &'static str, message: &str) -> ConnectError {
    ConnectError::Field { name, message: message.to_owned() }
}
