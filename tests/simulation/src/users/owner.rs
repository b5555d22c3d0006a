//! The owner of an account: connects it, revokes the grant, disconnects it, and reconnects it when
//! the service asks for that.

use std::sync::Arc;

use chrono::TimeDelta;
use cloud::events::publish_event;
use connecting::ConnectingError;
use domain::connect_flow::{ConnectFlow, FlowState};
use domain::connection::{AccountInfo, Connection};
use domain::event::Event;
use publishing::PublishingError;
use secrecy::ExposeSecret;
use storage::{Connected, Connecting, Disconnected, NewCredentials, grant_context, grant_name};

use super::People;
use crate::deployment::REQUEST_LIMIT;
use crate::scenario::{AccountAction, AccountPlan};
use crate::services::Services;
use crate::simulated_platforms::Spec;

/// How long owners continue to maintain their accounts after the last fault.
const CARED_FOR: TimeDelta = TimeDelta::minutes(3);

#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) spec: Spec,
    pub(crate) id: String,
}

impl Account {
    pub(super) fn new(index: usize, platform: &str) -> Self {
        Self { spec: Spec::named(platform), id: format!("account-{index}") }
    }

    pub(crate) fn is(&self, connection: &Connection) -> bool {
        connection.provider == self.spec.name && connection.profile.account_id == self.id
    }

    pub(super) async fn connect(&self, users: &People) -> Result<Connected, PublishingError> {
        let Services { scheduling, publishing } = users.deployment.started();
        let (store, user, provider) = (&publishing.store, users.user.user_id, self.spec.name);
        let now = publishing.clock.now();
        let state = publishing.random.u64().to_string();
        let started = ConnectFlow::start(users.user.user_id, provider.to_owned(), now);
        store.begin_connect_flow(&state, &ConnectFlow { state: FlowState::Completing, ..started }).await?;
        let credentials = users.deployment.platforms.authorize(self.spec, &self.id);
        let name = grant_name(provider, &self.id);
        let plain = credentials.to_bytes();
        let keys = &publishing.credentials.sealer;
        let result = keys.seal(plain.expose_secret().as_bytes(), &grant_context(user, &name)).await;
        let sealed = result.map_err(ConnectingError::from)?;
        let granted = [NewCredentials {
            grant_name: name.clone(),
            sealed,
            token_expires_at: credentials.expires_at,
            refresh_at: Some(self.spec.refresh_policy.due_at(&credentials, now)),
        }];
        loop {
            let Some(flow) = store.connect_flow(&state).await? else { return Ok(Connected::Closed) };
            let found = store.connected_accounts(user, None, provider, [self.id.as_str()]).await?.into_values().next();
            let connection = Connection {
                user_id: user,
                connection_id: found.as_ref().map_or_else(|| scheduling.ids.fresh(), |it| it.connection.connection_id),
                provider: provider.to_owned(),
                profile: self.profile(),
                token_expires_at: credentials.expires_at,
                created_at: now,
                rules: domain::testing::rules().with_threads(),
                ..domain::testing::a_connection(&users.user)
            };
            let event = found.is_none().then(|| Event::connected(&connection, now));
            let account = [Connecting { connection, grant_name: name.clone(), own: None, found }];
            let connected = store.connect(&state, &flow, &account, &granted, None, now).await?;
            if let (Some(event), Connected::Done { .. }) = (event, &connected) {
                publish_event(scheduling.events.as_ref(), &event).await;
            }
            if connected != Connected::Overtaken {
                return Ok(connected);
            }
        }
    }

    fn profile(&self) -> AccountInfo {
        let id = self.id.clone();
        AccountInfo { account_id: id, username: None, display_name: None, avatar: None, profile_url: None }
    }
}

pub(super) struct Owner {
    people: Arc<People>,
    account: Account,
    plot: AccountPlan,
}

impl Owner {
    pub(super) fn new(users: Arc<People>, index: usize, plan: AccountPlan) -> Self {
        let account = users.accounts[index].clone();
        Self { people: users, account, plot: plan }
    }

    /// Follows the plan, and maintains the account in between.
    pub(super) async fn live(self) {
        let world = Arc::clone(&self.people.deployment.world);
        let mut actions = self.plot.acts.iter();
        let mut next = actions.next();
        let ends_at = world.quiet_at + CARED_FOR;
        loop {
            let next_step_at = world.now() + TimeDelta::milliseconds(world.dice().i64(15_000..45_000));
            let act_at = next.map(|it| world.start + it.0);
            if let (Some(at), Some((_, action))) = (act_at.filter(|it| *it <= next_step_at), next) {
                world.sleep_until(at).await;
                self.act(*action).await;
                next = actions.next();
                continue;
            }
            if ends_at < next_step_at {
                return;
            }
            world.sleep_until(next_step_at).await;
            if self.plot.reconnects && self.is_asked_to_connect() {
                self.act(AccountAction::Connect).await;
            }
        }
    }

    fn is_asked_to_connect(&self) -> bool {
        self.people.connection(&self.account).is_some_and(|it| it.needs_reconnection)
    }

    async fn act(&self, action: AccountAction) {
        let deployment = &self.people.deployment;
        let (platform, id) = (self.account.spec.name, &self.account.id);
        deployment.world.note(format!("the owner of {id} on {platform}: {action:?}"));
        match action {
            AccountAction::Revoke => deployment.platforms.revoke(id),
            AccountAction::Connect => {
                let connect = self.account.connect(&self.people);
                let ended = deployment.world.process("connections", REQUEST_LIMIT, connect).await;
                deployment.world.note(format!("connected: {ended:?}"));
            }
            AccountAction::Disconnect => {
                let Some(connection) = self.people.connection(&self.account) else { return };
                let disconnect = self.disconnect(&connection);
                let ended = deployment.world.process("connections", REQUEST_LIMIT, disconnect).await;
                deployment.world.note(format!("disconnected: {ended:?}"));
            }
        }
    }

    /// Returns whether the request succeeded.
    async fn disconnect(&self, connection: &Connection) -> Result<bool, PublishingError> {
        let Services { scheduling, publishing } = self.people.deployment.started();
        let (user, id, now) = (connection.user_id, connection.connection_id, publishing.clock.now());
        let Disconnected::Deleted { ended, connection } = publishing.store.delete_connection(user, id, now).await?
        else {
            return Ok(false);
        };
        if let Some(record) = ended {
            let platforms = self.people.deployment.platforms.connectable();
            let (store, sealer) = (&publishing.store, publishing.credentials.sealer.as_ref());
            connecting::revoke_grant(store, sealer, &platforms, &record, now).await;
        }
        let bus = scheduling.events.as_ref();
        publish_event(bus, &Event::disconnected(&connection, now)).await;
        Ok(true)
    }
}
