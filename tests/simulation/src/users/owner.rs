//! The owner of an account: connects it, revokes the grant, disconnects it, and
//! connects it again when the service asks for that.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::connection::{Connection, Profile};
use domain::event::Event;
use domain::token::random_u64;
use platforms::Credentials;
use publishing::PublishingError;
use secrecy::ExposeSecret;
use storage::{Connected, ConnectionRecord, Disconnected, HandOff, Stage, credentials_context};

use super::People;
use crate::deployment::REQUEST_LIMIT;
use crate::network::Spec;
use crate::scenario::{AccountAct, AccountPlot};

/// How long a platform may take to revoke the grant, as in the connections
/// function.
const REVOCATION: Duration = Duration::from_secs(5);

/// How long owners still look after their accounts once nothing goes wrong any
/// more.
const CARED_FOR: TimeDelta = TimeDelta::minutes(3);

/// An account on a platform, connected or not.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) spec: Spec,
    pub(crate) id: String,
}

impl Account {
    pub(super) fn new(place: usize, platform: &str) -> Self {
        Self { spec: Spec::named(platform), id: format!("account-{place}") }
    }

    /// Whether a connection is of this account.
    pub(crate) fn is(&self, connection: &Connection) -> bool {
        connection.provider == self.spec.name && connection.profile.account_id == self.id
    }

    /// Connects the account as at the end of a hand-off.
    pub(super) async fn connect(&self, people: &People) -> Result<Connected, PublishingError> {
        let publishing = people.deployment.started();
        let (store, user, provider) = (&publishing.store, people.user.user_id, self.spec.name);
        let now = publishing.clock.now();
        let state = random_u64().to_string();
        store.begin_hand_off(&state, &self.hand_off(people, now)).await?;
        let credentials = people.deployment.network.authorize(self.spec, &self.id);
        loop {
            let found = store.connection_of_account(user, provider, &self.id).await?;
            let id = found.unwrap_or_else(|| publishing.ids.fresh());
            let plain = credentials.to_bytes();
            let context = credentials_context(user, id, provider);
            let sealed = publishing.sealer.seal(plain.expose_secret().as_bytes(), &context).await?;
            let connection = Connection {
                user_id: user,
                connection_id: id,
                provider: provider.to_owned(),
                profile: self.profile(),
                token_expires_at: credentials.expires_at,
                created_at: now,
                ..domain::testing::a_connection(&people.user)
            };
            let record = ConnectionRecord { connection, credentials: sealed };
            let refresh_at = self.spec.renewal.due_at(&credentials, now);
            let connected = store.connect(&state, &record, refresh_at, found, now).await?;
            if connected != Connected::Overtaken {
                return Ok(connected);
            }
        }
    }

    fn profile(&self) -> Profile {
        let id = self.id.clone();
        Profile { account_id: id, username: None, display_name: None, avatar: None, profile_url: None }
    }

    fn hand_off(&self, people: &People, now: chrono::DateTime<chrono::Utc>) -> HandOff {
        HandOff {
            user_id: people.user.user_id,
            provider: self.spec.name.to_owned(),
            stage: Stage::Answering,
            created_at: now,
            expires_at: now + TimeDelta::minutes(10),
            ended_at: None,
            connection_id: None,
            reason: None,
            goes_on: None,
            sealed: None,
        }
    }
}

/// The owner of an account.
pub(super) struct Owner {
    people: Arc<People>,
    account: Account,
    plot: AccountPlot,
}

impl Owner {
    pub(super) fn new(people: Arc<People>, place: usize, plot: AccountPlot) -> Self {
        let account = people.accounts[place].clone();
        Self { people, account, plot }
    }

    /// Does what the plot says, and looks after the account in between.
    pub(super) async fn live(self) {
        let world = Arc::clone(&self.people.deployment.world);
        let mut acts = self.plot.acts.iter();
        let mut next = acts.next();
        let ends_at = world.quiet_at + CARED_FOR;
        loop {
            let look_at = world.now() + TimeDelta::milliseconds(world.dice().i64(15_000..45_000));
            let act_at = next.map(|it| world.start + it.0);
            if let (Some(at), Some((_, act))) = (act_at.filter(|it| *it <= look_at), next) {
                world.sleep_until(at).await;
                self.act(*act).await;
                next = acts.next();
                continue;
            }
            if ends_at < look_at {
                return;
            }
            world.sleep_until(look_at).await;
            if self.plot.minded && self.is_asked_to_connect() {
                self.act(AccountAct::Connect).await;
            }
        }
    }

    fn is_asked_to_connect(&self) -> bool {
        self.people.connection(&self.account).is_some_and(|it| it.needs_reconnection)
    }

    async fn act(&self, act: AccountAct) {
        let deployment = &self.people.deployment;
        let (platform, id) = (self.account.spec.name, &self.account.id);
        deployment.world.note(format!("the owner of {id} on {platform}: {act:?}"));
        match act {
            AccountAct::Revoke => deployment.network.revoke(id),
            AccountAct::Connect => {
                let connect = self.account.connect(&self.people);
                let ended = deployment.world.process("connections", REQUEST_LIMIT, connect).await;
                deployment.world.note(format!("connected: {ended:?}"));
            }
            AccountAct::Disconnect => {
                let Some(connection) = self.people.connection(&self.account) else { return };
                let disconnect = self.disconnect(&connection);
                let ended = deployment.world.process("connections", REQUEST_LIMIT, disconnect).await;
                deployment.world.note(format!("disconnected: {ended:?}"));
            }
        }
    }

    /// Disconnects as the connections function does; returns whether it worked.
    async fn disconnect(&self, connection: &Connection) -> Result<bool, PublishingError> {
        let publishing = self.people.deployment.started();
        let (user, id) = (connection.user_id, connection.connection_id);
        let Disconnected::Deleted(record) = publishing.store.delete_connection(user, id).await? else {
            return Ok(false);
        };
        let context = credentials_context(user, id, &connection.provider);
        let opened = publishing.sealer.open(&record.credentials, &context).await?;
        let credentials = Credentials::from_bytes(&opened)?;
        let platforms = self.people.deployment.network.connectable();
        if let Some(platform) = platforms.get(&connection.provider) {
            match tokio::time::timeout(REVOCATION, platform.revoke(&credentials, publishing.clock.now())).await {
                Ok(Ok(())) => {}
                Ok(Err(setback)) => tracing::warn!(?setback, "a grant was not revoked"),
                Err(_) => tracing::warn!("a grant was not revoked in time"),
            }
        }
        let _ = publishing.events.put(&[Event::of_connection("connection.deleted", connection)]).await;
        Ok(true)
    }
}
