//! Connecting an account: on the page of the server that the user names.

use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use domain::rules::Rules;
use secrecy::ExposeSecret;

use super::errors::may_be_unknown_app;
use super::grant::{DIALECT, Grant, Memory};
use super::server::{self, Server, TypedServer};
use super::{Mastodon, account, instance};
use crate::account::{Account, Credentials};
use crate::connect_flow::{AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues};
use crate::platform::Connect;
use crate::redaction::without_token;

#[async_trait::async_trait]
impl Connect for Mastodon {
    fn rules(&self) -> Rules {
        instance::stock_rules()
    }

    fn fields(&self) -> &'static [Field] {
        const FIELDS: &[Field] = &[Field::new(server::FIELD, "Your server", server::EXAMPLE)];
        FIELDS
    }

    fn named_host(&self, values: &FieldValues) -> Option<String> {
        let typed = TypedServer::parse(values.get(server::FIELD)?.expose_secret()).ok()?;
        Some(typed.server.name().to_owned())
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        _now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let typed = values.get(server::FIELD).map_or("", |it| it.expose_secret());
        let found = self.api.discover(&TypedServer::parse(typed)?).await?;
        let urls = request.urls.for_server(found.server.origin());
        let request = AuthorizationRequest { urls, ..request.clone() };
        let grant = self.apps.at(&found, &request).await?;
        let url = grant.authorization_url(&request);
        let memory = Memory { grant, rules: found.rules, domain: found.domain, issuer: found.issuer };
        Ok(AuthorizeStep::Redirect { url, memory: Some(memory.store()) })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let Some(Memory { grant, rules, domain, issuer }) = callback.adapter_state.as_ref().and_then(Memory::read)
        else {
            return Err(ConnectError::Refused("the sign-in that you started has expired; connect again".to_owned()));
        };
        let urls = callback.urls.for_server(grant.server.origin());
        callback.check_redirect_uri(&urls)?;
        check_issuer(callback, issuer.as_deref(), &grant.server)?;
        let code = DIALECT.read_code(callback)?;
        let tokens = match self.api.exchange(&grant, code, &callback.verifier, &urls).await {
            Err(error) if may_be_unknown_app(&error) => {
                return Err(self.apps.forgotten(&grant, &urls, &error.message).await?);
            }
            exchanged => exchanged?,
        };
        let me = self.api.me(&grant.server, &tokens.access_token).await;
        let me = me.map_err(|it| without_token(it, &tokens.access_token))?;
        let domain_of_name = match &domain {
            Some(domain) if self.api.names(domain, &me.username, &grant.server).await => domain,
            _ => &grant.server,
        };
        let requested_scopes: Vec<_> = grant.app.scopes.split_whitespace().collect();
        Ok(vec![Account {
            profile: account::profile(&grant.server, domain_of_name, me),
            scopes: tokens.granted(&requested_scopes),
            rules,
            grant: None,
            credentials: tokens.credentials(Some(grant.store()), now),
        }])
    }

    async fn revoke(&self, credentials: &Credentials, _now: DateTime<Utc>) -> Result<(), AttemptError> {
        let grant = Grant::load(credentials)?;
        Ok(self.api.revoke(&grant, &credentials.access_token).await?)
    }
}

/// Refuses the response of another server (RFC 9207): a server that promises `iss` has to send it,
/// and a server that sends it without a promise has to name itself.
fn check_issuer(callback: &Callback, expected: Option<&str>, server: &Server) -> Result<(), ConnectError> {
    let issuer = callback.query.get("iss").map(String::as_str);
    let is_its_own = match (expected, issuer) {
        (Some(expected), issuer) => issuer == Some(expected),
        (None, Some(issuer)) => Server::named(issuer).as_ref() == Some(server),
        (None, None) => true,
    };
    if is_its_own { Ok(()) } else { Err(ConnectError::from_another_server()) }
}
