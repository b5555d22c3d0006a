//! Stores the accounts that a platform returned, at once or after the user has chosen among them.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use cloud::audit;
use cloud::events::publish_event;
use domain::connect_flow::ConnectFlow;
use domain::connection::{AccountInfo, Connection};
use domain::event::Event;
use domain::id::{ConnectionId, UserId};
use domain::rules::Rules;
use platforms::{Account, Connect, Credentials};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use storage::{
    Connected, Connecting, ConnectionRecord, MAX_CONNECTED, NewCredentials, WriteRetries, grant_context, grant_name,
    own_secret_context,
};

use crate::plan_limit::{fit_plan, over_plan_message};
use crate::{ConnectFlows, ConnectingError, LoadedFlow, revoke_grant};

/// Attempts of the conditional write of an account, which conflicts when another connect flow writes
/// that account.
const MAX_ATTEMPTS: u32 = 5;

/// Sealed and stored while the user chooses.
#[derive(Serialize, Deserialize)]
pub struct AccountChoice {
    pub profile: AccountInfo,
    /// Whether the submitted form selects it.
    #[serde(skip)]
    pub is_selected: bool,
    scopes: Vec<String>,
    rules: Rules,
    grant: Option<String>,
    credentials: String,
    own: Option<String>,
}

/// The reason that a customer with a link sees.
const LIMIT_REACHED: &str = "the limit of connected accounts is reached";

impl ConnectFlows {
    /// Continues with the accounts that a platform returned, like `complete`. After an error, the
    /// flow fails, because the platform does not return them again.
    pub(crate) async fn complete_or_fail(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        accounts: Vec<Account>,
    ) -> Result<(), ConnectingError> {
        if let Err(error) = self.complete(loaded, platform, accounts).await {
            tracing::error!(%error, platform = platform.name(), "an authorized account could not be stored");
            self.fail(loaded, "something went wrong on our side").await?;
        }
        Ok(())
    }

    /// Continues with the accounts that a platform returned: stores a single one, and lets the user
    /// choose among several. The flow must be in `Completing`.
    async fn complete(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        accounts: Vec<Account>,
    ) -> Result<(), ConnectingError> {
        // For every adapter: names from platforms are limited in length and cleared of control
        // characters.
        let with_display_names = |it: Account| Account { profile: it.profile.sanitized(), ..it };
        let mut accounts: Vec<Account> = accounts.into_iter().map(with_display_names).collect();
        let mut account_ids = HashSet::new();
        accounts.retain(|it| account_ids.insert(it.profile.account_id.clone()));
        if 1 < accounts.len() {
            let choices: Vec<AccountChoice> = accounts.into_iter().map(AccountChoice::from).collect();
            let sealed = self.seal(&loaded.hash, &choices).await?;
            let now = self.clock.now();
            self.advance(loaded, |it| it.offer_accounts(sealed.clone(), now)).await?;
            return Ok(());
        }
        match accounts.pop() {
            Some(account) => self.connect_accounts(loaded, platform, &[account], &[]).await,
            None => self.fail(loaded, "the platform returned no account that can be connected").await,
        }
    }

    pub async fn account_choices(&self, loaded: &LoadedFlow) -> Result<Vec<AccountChoice>, ConnectingError> {
        self.open(loaded).await
    }

    /// Completes a connect flow: stores accounts as new connections, or updates the connections that
    /// exist. If the plan does not allow all of them, the first ones are connected and the reason
    /// names the others; if it allows none, the flow fails. A flow that ended in the meantime stays
    /// as it is.
    ///
    /// Also updates those of `others` that are connected by the same grant, because its new
    /// credentials are theirs too.
    pub(crate) async fn connect_accounts(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        accounts: &[Account],
        others: &[Account],
    ) -> Result<(), ConnectingError> {
        let store = &self.store;
        let user = loaded.flow.user_id;
        let mut flow = loaded.flow.clone();
        let profile = flow.of_profile.as_ref().map(|it| it.profile_id);
        let ids = || accounts.iter().chain(others).map(|it| it.profile.account_id.as_str());
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let found = store.connected_accounts(user, profile, platform.name(), ids()).await?;
            let limit = self.plan_limit(user).await?;
            let (mut fitting, left_out) = fit_plan(accounts, &found, limit);
            let left_out = limit.and_then(|limit| over_plan_message(&left_out, limit));
            // A customer with a link cannot change the plan.
            let left_out = left_out.map(|it| if flow.link.is_some() { LIMIT_REACHED.to_owned() } else { it });
            if let Some(reason) = &left_out {
                let entry = audit::Entry::new(audit::Event::PlanRefused).user(user).why(reason);
                entry.address(loaded.address).write();
            }
            if let (true, Some(reason)) = (fitting.is_empty(), &left_out) {
                self.fail(loaded, reason).await?;
                return self.revoke_unused(loaded, platform, accounts).await;
            }
            let capacity = MAX_CONNECTED.saturating_sub(fitting.len());
            let covered = others.iter().filter(|it| is_covered(it, &fitting, &found)).take(capacity);
            fitting.extend(covered.collect::<Vec<_>>());
            let now = self.clock.now();
            let (connecting, granted) = self.records(&flow, platform, &fitting, found, now).await?;
            match store.connect(&loaded.hash, &flow, &connecting, &granted, left_out.as_deref(), now).await? {
                Connected::Done { left } => {
                    for record in left {
                        revoke_grant(store, self.sealer.as_ref(), &self.platforms, &record, now).await;
                    }
                    self.record_connected(loaded, &connecting, now).await;
                    if let Err(error) = self.update_siblings(user, &connecting, &granted, ids().collect()).await {
                        tracing::warn!(%error, "connections of other profiles could not be updated");
                    }
                    return Ok(());
                }
                Connected::Closed => return self.revoke_unused(loaded, platform, accounts).await,
                Connected::Overtaken => {
                    retries.next_attempt().await?;
                    if let Some(profile) = profile
                        && store.profile(user, profile).await?.is_none()
                    {
                        self.fail(loaded, "the customer for whom you connected the account was deleted").await?;
                        return self.revoke_unused(loaded, platform, accounts).await;
                    }
                    let Some(changed) = store.connect_flow(&loaded.hash).await? else {
                        return self.revoke_unused(loaded, platform, accounts).await;
                    };
                    flow = changed;
                }
            }
        }
    }

    /// Other profiles may have connected the same accounts by these grants: their connections have
    /// the new credentials, too.
    async fn update_siblings(
        &self,
        user: UserId,
        connecting: &[Connecting],
        granted: &[NewCredentials],
        accounts: HashSet<&str>,
    ) -> Result<(), ConnectingError> {
        let records = self.store.grants_by_name(user, granted.iter().map(|it| it.grant_name.as_str())).await?;
        let connected: HashSet<ConnectionId> = connecting.iter().map(|it| it.connection.connection_id).collect();
        let others = records.values().flat_map(|it| it.connections.iter().copied());
        let others: HashSet<_> = others.filter(|it| !connected.contains(it)).collect();
        if others.is_empty() {
            return Ok(());
        }
        let mut siblings = self.store.connections_by_id(user, others).await?;
        siblings.retain(|it| accounts.contains(it.profile.account_id.as_str()));
        for (name, record) in &records {
            let Some(reconnected) = connecting.iter().find(|it| it.grant_name == *name) else { continue };
            for sibling in siblings.iter().filter(|it| record.connections.contains(&it.connection_id)) {
                let expires_at = reconnected.connection.token_expires_at;
                self.store.mark_refreshed(sibling.connection_id, record, expires_at).await?;
            }
        }
        Ok(())
    }

    async fn record_connected(&self, loaded: &LoadedFlow, connecting: &[Connecting], now: DateTime<Utc>) {
        for account in connecting {
            let connection = &account.connection;
            let entry = audit::Entry::new(audit::Event::ConnectionMade).user(connection.user_id);
            let entry = entry.connection(connection.connection_id).address(loaded.address);
            if account.found.is_some() {
                entry.why("reconnected").write();
            } else {
                entry.write();
                publish_event(self.events.as_ref(), &Event::connected(connection, now)).await;
            }
        }
    }

    async fn records(
        &self,
        flow: &ConnectFlow,
        platform: &dyn Connect,
        accounts: &[&Account],
        mut found: HashMap<String, ConnectionRecord>,
        now: DateTime<Utc>,
    ) -> Result<(Vec<Connecting>, Vec<NewCredentials>), ConnectingError> {
        let user = flow.user_id;
        let (mut connecting, mut granted) = (Vec::new(), Vec::<NewCredentials>::new());
        for account in accounts {
            let found = found.remove(&account.profile.account_id);
            let id = found.as_ref().map_or_else(|| self.ids.fresh(), |it| it.connection.connection_id);
            let grant_name = grant_name(platform.name(), account.grant_name());
            let credentials = &account.credentials;
            if !granted.iter().any(|it| it.grant_name == grant_name) {
                let plain = credentials.to_bytes();
                let context = grant_context(user, &grant_name);
                granted.push(NewCredentials {
                    grant_name: grant_name.clone(),
                    sealed: self.sealer.seal(plain.expose_secret().as_bytes(), &context).await?,
                    token_expires_at: credentials.expires_at,
                    refresh_at: Some(platform.refresh_policy().due_at(credentials, now)),
                });
            }
            let own = match &credentials.own_token {
                Some(own) => {
                    let context = own_secret_context(user, id, platform.name());
                    Some(self.sealer.seal(own.expose_secret().as_bytes(), &context).await?)
                }
                None => None,
            };
            let connection = Connection {
                user_id: user,
                connection_id: id,
                provider: platform.name().to_owned(),
                profile: account.profile.clone(),
                scopes: account.scopes.clone(),
                needs_reconnection: false,
                token_expires_at: credentials
                    .expires_at
                    .filter(|_| !platform.refresh_policy().can_refresh(credentials)),
                refreshed_at: None,
                created_at: now,
                pending: 0,
                rules: account.rules.clone(),
                generation: 1,
                of_profile: flow.of_profile.clone(),
            };
            connecting.push(Connecting { connection, grant_name, own, found });
        }
        Ok((connecting, granted))
    }
}

/// Whether the grant of one of `accounts` already connects the account.
fn is_covered(account: &Account, accounts: &[&Account], found: &HashMap<String, ConnectionRecord>) -> bool {
    let Some(found) = found.get(&account.profile.account_id) else { return false };
    let name_at_platform = |it: &&Account| grant_name(&found.connection.provider, it.grant_name());
    accounts.iter().any(|it| found.grant_name == name_at_platform(it))
}

impl From<Account> for AccountChoice {
    fn from(account: Account) -> Self {
        let Account { profile, scopes, rules, grant, credentials } = account;
        let own = credentials.own_token.as_ref().map(|it| it.expose_secret().to_owned());
        let credentials = credentials.to_bytes().expose_secret().to_owned();
        Self { profile, is_selected: false, scopes, rules, grant, credentials, own }
    }
}

impl TryFrom<AccountChoice> for Account {
    type Error = ConnectingError;

    fn try_from(choice: AccountChoice) -> Result<Self, ConnectingError> {
        let AccountChoice { profile, scopes, rules, grant, credentials, own, .. } = choice;
        let credentials =
            Credentials::from_bytes(credentials.as_bytes()).map_err(|_| ConnectingError::UnreadableState)?;
        let credentials = Credentials { own_token: own.map(Into::into), ..credentials };
        Ok(Self { profile, scopes, rules, grant, credentials })
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_connection, a_user};

    use super::*;

    #[test]
    fn account_waiting_for_its_choice_keeps_its_own_token() {
        let Connection { profile, scopes, rules, .. } = a_connection(&a_user());
        let credentials = Credentials { own_token: Some("page-token".into()), ..Credentials::new("access-7".into()) };
        let waiting = Account { profile, scopes, rules, grant: None, credentials };

        let chosen = Account::try_from(AccountChoice::from(waiting)).unwrap();

        assert_eq!(chosen.credentials.own_token.unwrap().expose_secret(), "page-token");
        assert_eq!(chosen.credentials.access_token.expose_secret(), "access-7");
    }
}
