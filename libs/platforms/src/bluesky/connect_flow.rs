//! Connecting an account: on its server's own page, or with an app password.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use url::Url;

use super::account::Videos;
use super::authorization_server::AuthorizationServer;
use super::client::{self, Client, ScopeSet};
use super::dpop::Nonces;
use super::host::{host_and_port, is_of_bluesky};
use super::identity::{Directory, Identity, IdentityError};
use super::names::Did;
use super::oauth::{Authorization, Page, Tokens};
use super::reply::ReplyError;
use super::session::{Grant, Kind, Session};
use super::signing_key::SigningKey;
use super::typed::{Name, TypedAccount};
use super::{account, app_password, client_key};
use crate::account::{Account, Credentials};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, FieldValues};
use crate::http_clients::HttpClients;
use crate::response;
use crate::vault::Vault;

pub(super) const HANDLE: &str = "handle";

/// The timeout of the code exchange, which may have to be sent twice. Together with the timeouts
/// below it fits in the 25 seconds that the user waits at most.
const EXCHANGE: Duration = Duration::from_secs(12);

const VOUCH_TIMEOUT: Duration = Duration::from_secs(6);

const REVOKE_TIMEOUT: Duration = Duration::from_secs(3);

const ABOUT: Duration = Duration::from_secs(5);

/// What an app password permits, as users see it. Its sessions have no OAuth scopes.
const APP_PASSWORD_SCOPE: &str = "app_password";

/// Stored while the user is on the server's page.
#[derive(Serialize, Deserialize)]
struct Flow {
    /// `None` if the user typed only a server.
    who: Option<Identity>,
    grant: Box<Grant>,
}

/// The server that was typed, or else the host of the handle.
pub(super) fn named_host(values: &FieldValues) -> Option<String> {
    Some(match TypedAccount::parse(values.get(HANDLE)?.expose_secret())? {
        TypedAccount::Server(url) => host_and_port(&url).to_owned(),
        TypedAccount::Name(name) => name.as_str().to_owned(),
    })
}

pub(super) struct ConnectFlows<'a> {
    pub(super) http: &'a HttpClients,
    pub(super) nonces: &'a Nonces,
    pub(super) directory: &'a Directory,
    pub(super) vault: &'a Arc<dyn Vault>,
    pub(super) appview: &'a Url,
    pub(super) any_video: bool,
}

impl ConnectFlows<'_> {
    pub(super) async fn begin(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let value = |name| values.get(name).filter(|it| !it.expose_secret().trim().is_empty());
        let typed = value(HANDLE).and_then(|it| TypedAccount::parse(it.expose_secret()));
        let typed = typed.ok_or_else(|| handle("Type your full handle, such as alice.bsky.social."))?;
        match (typed, value(app_password::FIELD)) {
            (TypedAccount::Name(name), Some(password)) => self.sign_in(&name, password, now).await,
            (TypedAccount::Server(_), Some(_)) => {
                Err(handle("An app password needs your handle, such as alice.bsky.social."))
            }
            (TypedAccount::Name(name), None) => {
                let identity = self.directory.find(&name).await?;
                let server = AuthorizationServer::for_pds(self.http, &identity.pds).await?;
                self.redirect(server, Some(identity), Some(name.as_str()), request, now).await
            }
            (TypedAccount::Server(url), None) => {
                // The URL is of a PDS, or of a server that only issues tokens for such servers.
                let server = match AuthorizationServer::for_pds(self.http, &url).await {
                    Ok(server) => server,
                    Err(refusal @ ConnectError::Field { .. }) => return Err(refusal),
                    Err(_) => AuthorizationServer::at(self.http, &url).await?,
                };
                self.redirect(server, None, None, request, now).await
            }
        }
    }

    async fn redirect(
        &self,
        server: AuthorizationServer,
        identity: Option<Identity>,
        login_hint: Option<&str>,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let mut refused = String::new();
        for extent in [ScopeSet::Posts, ScopeSet::Everything] {
            let client = self.client(&request.urls, extent).await?;
            let grant = Grant { server: server.clone(), client, key: SigningKey::generate()? };
            let authorization = Authorization { http: self.http, nonces: self.nonces, grant: &grant, now };
            match authorization.push(request, login_hint).await? {
                Page::At(url) => {
                    let flow = Flow { who: identity, grant: Box::new(grant) };
                    let memory = serde_json::to_string(&flow).map_err(|_| ConnectError::Unreachable)?;
                    return Ok(AuthorizeStep::Redirect { url: url.into(), memory: Some(memory.into()) });
                }
                Page::NotFor(message) => refused = message,
            }
        }
        Err(ConnectError::Refused(refused))
    }

    async fn client(&self, urls: &CallbackUrls, extent: ScopeSet) -> Result<Client, ConnectError> {
        if client::is_loopback_origin(urls) {
            return Ok(Client::for_loopback(&client::redirect_uri(urls), extent));
        }
        Ok(Client::new(urls, client_key::newest(self.vault.as_ref()).await?, extent))
    }

    pub(super) async fn end(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Account, ConnectError> {
        callback.check_redirect_uri(&callback.urls)?;
        let memory = callback.adapter_state.as_ref().ok_or(ConnectError::Unreachable)?;
        let Flow { who: identity, grant } =
            serde_json::from_str(memory.expose_secret()).map_err(|_| ConnectError::Unreachable)?;
        let parameter = |name| callback.query.get(name).map(String::as_str);
        // A response with another issuer is refused: an attacker may try to have a code of one
        // server sent to another (mix-up attack, RFC 9207).
        if parameter("iss") != Some(grant.server.issuer.as_str()) {
            return Err(ConnectError::from_another_server());
        }
        match parameter("error") {
            None => {}
            Some("access_denied") => return Err(ConnectError::Denied),
            Some(error) => {
                let message = parameter("error_description").unwrap_or(error);
                return Err(ConnectError::Refused(response::shown(message)));
            }
        }
        let code = parameter("code").ok_or_else(|| refused("the server sent no code"))?;
        let authorization = Authorization { http: self.http, nonces: self.nonces, grant: &grant, now };
        let redirect_uri = client::redirect_uri(&callback.urls);
        let exchanged = authorization.exchange(code, &callback.verifier, &redirect_uri);
        let tokens = with_timeout(EXCHANGE, exchanged).await?;
        let identity = match with_timeout(VOUCH_TIMEOUT, self.owner(&tokens, identity, &grant.server)).await {
            Ok(identity) => identity,
            Err(refusal) => {
                // The tokens will not be used. Whether this call succeeds does not matter.
                let token = tokens.refresh_token.as_ref().unwrap_or(&tokens.access_token);
                timeout(REVOKE_TIMEOUT, authorization.revoke(token)).await.ok();
                return Err(refusal);
            }
        };
        let credentials = Credentials {
            expires_at: tokens.expires_at(now),
            refresh_token: tokens.refresh_token.clone(),
            ..Credentials::new(tokens.access_token.clone())
        };
        let scopes = tokens.scopes().map(str::to_owned).collect();
        Ok(self.account(&identity, Kind::Oauth(grant), credentials, scopes).await)
    }

    async fn owner(
        &self,
        tokens: &Tokens,
        expected: Option<Identity>,
        server: &AuthorizationServer,
    ) -> Result<Identity, ConnectError> {
        if !tokens.is_supported() {
            return Err(refused("the server issued an unsupported kind of token"));
        }
        let did: Did = tokens.sub.parse().map_err(|_| refused("the server named no account"))?;
        match expected {
            Some(identity) if identity.did == did => Ok(identity),
            Some(identity) => {
                let name = identity.handle.as_ref().map_or(identity.did.as_str(), |it| it.as_str());
                Err(ConnectError::Refused(format!(
                    "you signed in to another account than {name}; sign in to {name}, \
                                                   or type the other handle"
                )))
            }
            None => self.check_server(did, server).await,
        }
    }

    /// The identity of an account that only the server named. The account's own entry in the
    /// directory has to name that server; otherwise any server could issue tokens for any account.
    async fn check_server(&self, did: Did, server: &AuthorizationServer) -> Result<Identity, ConnectError> {
        let identity = self.directory.find(&Name::Did(did)).await?;
        let account_server = AuthorizationServer::for_pds(self.http, &identity.pds).await?;
        if account_server.issuer != server.issuer {
            return Err(ConnectError::Refused("this server is not responsible for that account".to_owned()));
        }
        Ok(identity)
    }

    async fn sign_in(
        &self,
        name: &Name,
        password: &SecretString,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let identity = self.directory.find(name).await?;
        let tokens = app_password::sign_in(self.http, &identity.pds, &identity.did, password).await?;
        let credentials = tokens.into_credentials(None, now);
        let scopes = vec![APP_PASSWORD_SCOPE.to_owned()];
        Ok(AuthorizeStep::Accounts(vec![self.account(&identity, Kind::AppPassword, credentials, scopes).await]))
    }

    pub(super) async fn account(
        &self,
        identity: &Identity,
        kind: Kind,
        credentials: Credentials,
        scopes: Vec<String>,
    ) -> Account {
        let is_of_bluesky = is_of_bluesky(&identity.pds);
        let blob_limit = async {
            if is_of_bluesky {
                return None;
            }
            timeout(ABOUT, account::blob_limit(self.http, &identity.pds)).await.ok().flatten()
        };
        let profile = account::profile(self.http, self.appview, identity, ABOUT);
        let (profile, blob_limit) = futures::join!(profile, blob_limit);
        // Videos that are sent to the video service are not limited by the account's server.
        let videos = if self.any_video || is_of_bluesky {
            Videos::ToService
        } else {
            Videos::ToServer { max_bytes: blob_limit.unwrap_or(account::DEFAULT_UPLOAD_LIMIT) }
        };
        // No call reports which embeds a server knows. Bluesky's own servers are current. Others
        // state the limit since `@atproto/pds` 0.5.22 of July 2026, two months after galleries.
        let accepts_galleries = is_of_bluesky || blob_limit.is_some();
        let session = Session { did: identity.did.clone(), pds: identity.pds.clone(), kind };
        Account {
            profile,
            scopes,
            rules: account::rules(videos, accepts_galleries),
            grant: None,
            credentials: Credentials { extra: Some(session.store()), ..credentials },
        }
    }
}

async fn with_timeout<T>(
    within: Duration,
    future: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    timeout(within, future).await.unwrap_or(Err(ConnectError::Unreachable))
}

fn refused(message: &str) -> ConnectError {
    ConnectError::Refused(message.to_owned())
}

fn handle(message: &str) -> ConnectError {
    ConnectError::Field { name: HANDLE, message: message.to_owned() }
}

impl From<ReplyError> for ConnectError {
    fn from(reply_error: ReplyError) -> Self {
        match reply_error {
            // Every server here was reached from what the user typed.
            ReplyError::Refused(refusal) => IdentityError::Blocked(refusal).into(),
            _ => Self::Unreachable,
        }
    }
}

impl From<IdentityError> for ConnectError {
    fn from(unknown: IdentityError) -> Self {
        match unknown {
            IdentityError::Unreachable => Self::Unreachable,
            _ => handle(&unknown.to_string()),
        }
    }
}
