//! Steps that the handlers of a connect flow share: authorize, seal state, and store accounts.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use chrono::{DateTime, Utc};
use cloud::audit;
use cloud::events::publish_event;
use connecting::revoke_grant;
use domain::connection::{AccountInfo, Connection};
use domain::event::Event;
use domain::id::UserId;
use domain::rules::Rules;
use domain::token::{self, Pkce};
use platforms::{
    Account, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, Connect, ConnectError, Credentials,
    FieldValues, Instructions, PendingApproval,
};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use storage::{
    ConnectFlow, Connected, Connecting, ConnectionRecord, FlowState, MAX_CONNECTED, NewCredentials, WriteRetries,
    connect_flow_context, grant_context, grant_name, own_secret_context,
};

use crate::App;
use crate::error::ConnectionsError;
use crate::plan_limit::{PlanLimit, fit_plan, over_plan_message};
use crate::timeouts::{SUBMIT_TIMEOUT, within};

/// Attempts of the conditional write of an account, which conflicts when another connect flow writes
/// that account.
const MAX_ATTEMPTS: u32 = 5;

/// Sealed and stored while the user is on the platform's page.
#[derive(Serialize, Deserialize)]
pub(crate) struct PendingAuthorization {
    verifier: String,
    memory: Option<String>,
    /// The host that the user named. The callback needs a permit for it.
    pub(crate) host: Option<String>,
    /// What the user does to approve; `None` when the platform redirects to us instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<Instructions>,
}

/// An account, sealed and stored while the user chooses.
#[derive(Serialize, Deserialize)]
pub(crate) struct AccountChoice {
    pub(crate) profile: AccountInfo,
    /// Whether the submitted form selects it.
    #[serde(skip)]
    pub(crate) is_selected: bool,
    scopes: Vec<String>,
    rules: Rules,
    grant: Option<String>,
    credentials: String,
    own: Option<String>,
}

/// How the authorization at the platform started.
pub(crate) enum AuthorizeOutcome {
    /// The user goes to the platform's page. `sealed` is stored until the callback.
    Redirect { url: String, sealed: Vec<u8> },
    /// The user approves in an app or on another device. `sealed` is stored until then.
    WaitForApproval { sealed: Vec<u8> },
    /// The platform returned accounts without a page.
    Accounts(Vec<Account>),
    /// The platform did not start the authorization.
    Failed(ConnectError),
}

pub(crate) struct LoadedFlow {
    pub(crate) state_token: SecretString,
    pub(crate) hash: String,
    pub(crate) flow: ConnectFlow,
    /// The IP address of the browser or of the client that polls.
    pub(crate) address: IpAddr,
}

impl App {
    /// Finds a connect flow; `None` when it does not exist or is no longer remembered.
    pub(crate) async fn load_flow(
        &self,
        state_token: String,
        address: IpAddr,
        now: DateTime<Utc>,
    ) -> Result<Option<LoadedFlow>, ConnectionsError> {
        let hash = token::hash(&state_token);
        let found = self.api.store.connect_flow(&hash).await?.filter(|it| it.is_remembered(now));
        Ok(found.map(|connect_flow| LoadedFlow { state_token: state_token.into(), hash, flow: connect_flow, address }))
    }

    pub(crate) fn page_url(&self, state_token: &SecretString) -> String {
        format!("{}/connect/{}", self.api.origin, state_token.expose_secret())
    }

    pub(crate) fn addresses(&self, platform: &dyn Connect) -> CallbackUrls {
        CallbackUrls::new(&self.api.origin, platform.name())
    }

    /// Starts the authorization at the platform.
    pub(crate) async fn authorize(
        &self,
        platform: &dyn Connect,
        state_token: &SecretString,
        field_values: &FieldValues,
    ) -> Result<AuthorizeOutcome, ConnectionsError> {
        let pkce = Pkce::random();
        let request = AuthorizationRequest {
            state: state_token.clone(),
            urls: self.addresses(platform),
            challenge: pkce.challenge,
        };
        let call = platform.authorize(field_values, &request, self.api.clock.now());
        let (url, instructions, adapter_state) = match within(SUBMIT_TIMEOUT, call).await {
            Ok(AuthorizeStep::Redirect { url, memory: adapter_state }) => (Some(url), None, adapter_state),
            Ok(AuthorizeStep::WaitForApproval { instructions, memory: adapter_state }) => {
                (None, Some(instructions), adapter_state)
            }
            Ok(AuthorizeStep::Accounts(accounts)) => return Ok(AuthorizeOutcome::Accounts(accounts)),
            Err(error) => return Ok(AuthorizeOutcome::Failed(error)),
        };
        let pending = PendingAuthorization {
            verifier: pkce.verifier.expose_secret().to_owned(),
            memory: adapter_state.map(|it| it.expose_secret().to_owned()),
            host: platform.named_host(field_values),
            instructions,
        };
        let sealed = self.seal(&token::hash(state_token.expose_secret()), &pending).await?;
        Ok(match url {
            Some(url) => AuthorizeOutcome::Redirect { url, sealed },
            None => AuthorizeOutcome::WaitForApproval { sealed },
        })
    }

    pub(crate) async fn pending_authorization(
        &self,
        loaded: &LoadedFlow,
    ) -> Result<PendingAuthorization, ConnectionsError> {
        self.open(loaded).await
    }

    pub(crate) fn pending_approval(&self, platform: &dyn Connect, pending: PendingAuthorization) -> PendingApproval {
        let urls = self.addresses(platform);
        PendingApproval { verifier: pending.verifier.into(), urls, adapter_state: pending.memory.map(Into::into) }
    }

    pub(crate) async fn instructions(&self, loaded: &LoadedFlow) -> Result<Instructions, ConnectionsError> {
        self.pending_authorization(loaded).await?.instructions.ok_or(ConnectionsError::UnreadableState)
    }

    pub(crate) fn callback(
        &self,
        platform: &dyn Connect,
        pending: PendingAuthorization,
        query: std::collections::BTreeMap<String, String>,
        arrived_at: String,
    ) -> Callback {
        Callback {
            query,
            arrived_at,
            verifier: pending.verifier.into(),
            urls: self.addresses(platform),
            adapter_state: pending.memory.map(Into::into),
        }
    }

    /// Continues with the accounts that a platform returned: stores a single one, and lets the user
    /// choose among several. The flow must be in `Completing`.
    pub(crate) async fn complete_flow(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        accounts: Vec<Account>,
    ) -> Result<(), ConnectionsError> {
        // For every adapter: names from platforms are limited in length and cleared of control
        // characters.
        let with_display_names = |it: Account| Account { profile: it.profile.sanitized(), ..it };
        let mut accounts: Vec<Account> = accounts.into_iter().map(with_display_names).collect();
        let mut account_ids = HashSet::new();
        accounts.retain(|it| account_ids.insert(it.profile.account_id.clone()));
        if 1 < accounts.len() {
            let choices: Vec<AccountChoice> = accounts.into_iter().map(AccountChoice::from).collect();
            let sealed = self.seal(&loaded.hash, &choices).await?;
            let (store, now) = (&self.api.store, self.api.clock.now());
            store
                .advance_connect_flow(
                    &loaded.hash,
                    &[FlowState::Completing],
                    FlowState::ChoosingAccounts,
                    Some(sealed),
                    now,
                )
                .await?;
            return Ok(());
        }
        match accounts.pop() {
            Some(account) => self.connect_accounts(loaded, platform, &[account], &[]).await,
            None => self.end_without_account(loaded, "the platform returned no account that can be connected").await,
        }
    }

    pub(crate) async fn account_choices(&self, loaded: &LoadedFlow) -> Result<Vec<AccountChoice>, ConnectionsError> {
        self.open(loaded).await
    }

    /// Completes a connect flow: stores accounts as new connections, or renews the connections that
    /// exist. If the plan does not allow all of them, the first ones are connected and the reason
    /// names the others; if it allows none, the flow fails. A flow that ended in the meantime stays
    /// as it is.
    ///
    /// Also renews those of `others` that are connected by the same grant, because its new
    /// credentials are theirs too.
    pub(crate) async fn connect_accounts(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        accounts: &[Account],
        others: &[Account],
    ) -> Result<(), ConnectionsError> {
        let store = &self.api.store;
        let user = loaded.flow.user_id;
        let ids = || accounts.iter().chain(others).map(|it| it.profile.account_id.as_str());
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            let found = store.connected_accounts(user, platform.name(), ids()).await?;
            let limit = self.plan_limit(user).await?;
            let (mut fitting, left_out) = fit_plan(accounts, &found, limit);
            let left_out = limit.and_then(|limit| over_plan_message(&left_out, limit));
            if let Some(reason) = &left_out {
                let entry = audit::Entry::new(audit::Event::PlanRefused).user(user).why(reason);
                entry.address(loaded.address).write();
            }
            if let (true, Some(reason)) = (fitting.is_empty(), &left_out) {
                self.end_without_account(loaded, reason).await?;
                return self.revoke_unused(loaded, platform, accounts).await;
            }
            let capacity = MAX_CONNECTED.saturating_sub(fitting.len());
            let covered = others.iter().filter(|it| is_covered(it, &fitting, &found)).take(capacity);
            fitting.extend(covered.collect::<Vec<_>>());
            let now = self.api.clock.now();
            let (connecting, granted) = self.connecting(user, platform, &fitting, found, now).await?;
            match store.connect(&loaded.hash, &connecting, &granted, left_out.as_deref(), now).await? {
                Connected::Done { left } => {
                    for record in left {
                        revoke_grant(store, self.sealer.as_ref(), &self.platforms, &record, now).await;
                    }
                    self.record_connected(loaded, &connecting, now).await;
                    return Ok(());
                }
                Connected::Closed => return self.revoke_unused(loaded, platform, accounts).await,
                Connected::Overtaken => retries.next_attempt().await?,
            }
        }
    }

    async fn record_connected(&self, loaded: &LoadedFlow, connecting: &[Connecting], now: DateTime<Utc>) {
        for account in connecting {
            let connection = &account.connection;
            let entry = audit::Entry::new(audit::Event::ConnectionMade).user(connection.user_id);
            let entry = entry.connection(connection.connection_id).address(loaded.address);
            if account.found.is_some() {
                entry.why("renewed").write();
            } else {
                entry.write();
                publish_event(self.events.as_ref(), &Event::connected(connection, now)).await;
            }
        }
    }

    /// Fails a connect flow, in any open state.
    pub(crate) async fn end_without_account(&self, loaded: &LoadedFlow, reason: &str) -> Result<(), ConnectionsError> {
        const OPEN: [FlowState; 5] = [
            FlowState::CollectingInput,
            FlowState::AwaitingCallback,
            FlowState::AwaitingApproval,
            FlowState::Completing,
            FlowState::ChoosingAccounts,
        ];
        self.api.store.fail_connect_flow(&loaded.hash, &OPEN, reason, self.api.clock.now()).await?;
        Ok(())
    }

    /// The reason why the user's plan allows no further account; `None` when it allows one.
    ///
    /// Reconnecting an account does not count. Which account the user will choose is not known at
    /// the start, so a flow may start when any account on the platform `renewing` needs to be
    /// reconnected.
    pub(crate) async fn plan_limit_reached(
        &self,
        user: UserId,
        platform: &str,
    ) -> Result<Option<String>, ConnectionsError> {
        let Some((limit, connections)) = self.plan_limit_and_connections(user).await? else { return Ok(None) };
        let is_reconnection = connections.iter().any(|it| it.needs_reconnection && it.provider == platform);
        Ok((limit.left == 0 && !is_reconnection).then(|| limit.reached_message()))
    }

    /// `None` when the plan has no limit.
    pub(crate) async fn plan_limit(&self, user: UserId) -> Result<Option<PlanLimit>, ConnectionsError> {
        Ok(self.plan_limit_and_connections(user).await?.map(|it| it.0))
    }

    async fn plan_limit_and_connections(
        &self,
        user: UserId,
    ) -> Result<Option<(PlanLimit, Vec<Connection>)>, ConnectionsError> {
        let store = &self.api.store;
        let (user, connections) = futures::try_join!(store.user(user), store.connections(user))?;
        let plan = self.plans.named(user.as_ref().and_then(|it| it.plan.as_deref()));
        let Some(max) = plan.max_connections else { return Ok(None) };
        let left = usize::try_from(max).unwrap_or(usize::MAX).saturating_sub(connections.len());
        Ok(Some((PlanLimit { max, left }, connections)))
    }

    /// The accounts as they are stored, and their grants.
    async fn connecting(
        &self,
        user: UserId,
        platform: &dyn Connect,
        accounts: &[&Account],
        mut found: HashMap<String, ConnectionRecord>,
        now: DateTime<Utc>,
    ) -> Result<(Vec<Connecting>, Vec<NewCredentials>), ConnectionsError> {
        let (mut connecting, mut granted) = (Vec::new(), Vec::<NewCredentials>::new());
        for account in accounts {
            let found = found.remove(&account.profile.account_id);
            let id = found.as_ref().map_or_else(|| self.api.ids.fresh(), |it| it.connection.connection_id);
            let grant_name = grant_name(platform.name(), account.grant_name());
            let credentials = &account.credentials;
            if !granted.iter().any(|it| it.grant_name == grant_name) {
                let plain = credentials.to_bytes();
                let context = grant_context(user, &grant_name);
                granted.push(NewCredentials {
                    grant_name: grant_name.clone(),
                    sealed: self.sealer.seal(plain.expose_secret().as_bytes(), &context).await?,
                    token_expires_at: credentials.expires_at,
                    renewed_at: None,
                    is_gone: false,
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
                renewed_at: None,
                created_at: now,
                pending: 0,
                rules: account.rules.clone(),
                generation: 1,
            };
            connecting.push(Connecting { connection, grant_name, own, found });
        }
        Ok((connecting, granted))
    }

    async fn seal<T: Serialize>(&self, hash: &str, state: &T) -> Result<Vec<u8>, ConnectionsError> {
        let plain = serde_json::to_vec(state).map_err(|_| ConnectionsError::UnreadableState)?;
        Ok(self.sealer.seal(&plain, &connect_flow_context(hash)).await?)
    }

    async fn open<T: DeserializeOwned>(&self, loaded: &LoadedFlow) -> Result<T, ConnectionsError> {
        let sealed = loaded.flow.sealed.as_ref().ok_or(ConnectionsError::UnreadableState)?;
        let plain = self.sealer.open(sealed, &connect_flow_context(&loaded.hash)).await?;
        serde_json::from_slice(&plain).map_err(|_| ConnectionsError::UnreadableState)
    }
}

/// Whether the account is already connected by the grant of an account in `by`.
fn is_covered(account: &Account, accounts: &[&Account], found: &HashMap<String, ConnectionRecord>) -> bool {
    let Some(found) = found.get(&account.profile.account_id) else { return false };
    let name_at_platform = |it: &&Account| grant_name(&found.connection.provider, it.grant_name());
    accounts.iter().any(|it| found.grant_name == name_at_platform(it))
}

impl AccountChoice {
    /// The name of the checkbox in the form.
    pub(crate) fn field(&self) -> String {
        format!("account.{}", self.profile.account_id)
    }
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
    type Error = ConnectionsError;

    fn try_from(choice: AccountChoice) -> Result<Self, ConnectionsError> {
        let AccountChoice { profile, scopes, rules, grant, credentials, own, .. } = choice;
        let credentials =
            Credentials::from_bytes(credentials.as_bytes()).map_err(|_| ConnectionsError::UnreadableState)?;
        let credentials = Credentials { own_token: own.map(Into::into), ..credentials };
        Ok(Self { profile, scopes, rules, grant, credentials })
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use platforms::Credentials;
    use secrecy::ExposeSecret;

    use super::{Account, AccountChoice};
    use crate::testing::{Harness, account};

    #[test]
    fn account_waiting_for_its_choice_keeps_its_own_token() {
        let mut waiting = account("7", noon());
        waiting.credentials = Credentials { own_token: Some("page-token".into()), ..waiting.credentials };

        let chosen = Account::try_from(AccountChoice::from(waiting)).unwrap();

        assert_eq!(chosen.credentials.own_token.unwrap().expose_secret(), "page-token");
        assert_eq!(chosen.credentials.access_token.expose_secret(), "access-7");
    }

    #[tokio::test]
    async fn token_that_cannot_be_refreshed_shows_when_it_ends() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        harness.callback(&begun, "7,8~refreshable").await;
        harness.send(&begun, "all=1").await;

        let connections = harness.get("/api/v1/connections").await.body["data"].clone();
        for connection in connections.as_array().unwrap() {
            let details = harness.get(&format!("/api/v1/connections/{}", connection["id"])).await.body;
            let entries = details["meta"].as_array().unwrap();
            let ends_at = &entries.iter().find(|it| it["name"] == "token_expires_at").unwrap()["value"];
            assert_eq!(ends_at.is_null(), connection["username"] == "user8", "{details}");
        }
    }
}
