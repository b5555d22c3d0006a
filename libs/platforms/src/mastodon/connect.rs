//! Connecting and disconnecting accounts.

use chrono::{DateTime, Utc};
use domain::delivery::Setback;
use domain::rules::Rules;
use secrecy::ExposeSecret;

use super::grant::{Grant, Memory};
use super::refused::{self, Failure};
use super::server::{self, Server};
use super::{Mastodon, account, credentials, instance};
use crate::account::{Account, Credentials};
use crate::handoff::{Answers, AuthorizationRequest, Callback, Departure, Field, HandOffRefusal};
use crate::platform::Connect;

#[async_trait::async_trait]
impl Connect for Mastodon {
    fn rules(&self) -> Rules {
        instance::stock_rules()
    }

    fn fields(&self) -> &'static [Field] {
        const FIELDS: &[Field] = &[Field::new(server::FIELD, "Your server", server::EXAMPLE)];
        FIELDS
    }

    async fn authorize(
        &self,
        answers: &Answers,
        request: &AuthorizationRequest,
        _now: DateTime<Utc>,
    ) -> Result<Departure, HandOffRefusal> {
        let typed = answers.get(server::FIELD).map_or("", |it| it.expose_secret());
        let found = self.api.discover(Server::parse(typed)?).await?;
        let grant = self.apps.at(&found, request).await?;
        let url = grant.authorization_url(request);
        let memory = Memory { grant, rules: found.rules };
        Ok(Departure::Page { url, memory: Some(memory.store()) })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal> {
        let code = code(callback)?;
        let Some(Memory { grant, rules }) = callback.memory.as_ref().and_then(Memory::read) else {
            return Err(HandOffRefusal::Refused("what was begun is not known any more; connect again".to_owned()));
        };
        let tokens = match self.api.exchange(&grant, code, callback).await {
            Err(Failure::Refused(refused)) if refused.may_be_of_our_app() => {
                return Err(self.apps.forgotten(&grant, &callback.here, &refused).await?);
            }
            exchanged => exchanged?,
        };
        let me = self.api.me(&grant.server, &tokens.access_token).await?;
        // A server may leave the scope out when all that was asked for is granted
        // (RFC 6749, section 5.1).
        let granted = tokens.scope.as_deref().filter(|it| !it.trim().is_empty());
        let scope = granted.unwrap_or(&grant.app.scopes);
        Ok(vec![Account {
            profile: account::profile(&grant.server, me),
            scopes: scope.split_whitespace().map(str::to_owned).collect(),
            rules,
            credentials: credentials(tokens, None, grant.store(), now),
        }])
    }

    async fn revoke(&self, credentials: &Credentials, _now: DateTime<Utc>) -> Result<(), Setback> {
        let grant = Grant::of(credentials)?;
        self.api.revoke(&grant, &credentials.access_token).await.map_err(Failure::setback)
    }
}

/// The authorization code that the server's answer brings, or why it has none.
fn code(callback: &Callback) -> Result<&str, HandOffRefusal> {
    let answer = |name: &str| callback.query.get(name).map(String::as_str);
    match answer("error") {
        None => answer("code").ok_or_else(|| HandOffRefusal::Refused("it sent no code".to_owned())),
        Some("access_denied") => Err(HandOffRefusal::Denied),
        Some(error) => Err(HandOffRefusal::Refused(refused::trimmed(answer("error_description").unwrap_or(error)))),
    }
}
