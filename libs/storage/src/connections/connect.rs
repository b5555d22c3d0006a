//! The transaction that completes a connect flow: its accounts become connections of their grants.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use chrono::{DateTime, Utc};
use domain::connect_flow::ConnectFlow;
use domain::connection::Connection;
use domain::event::Event;
use domain::id::{ConnectionId, ProfileId, UserId};
use domain::owner::Owner;

use super::{ConnectionRecord, connection_key, marker, marker_of, read};
use crate::Store;
use crate::change::Change;
use crate::credentials::{CredentialsRecord, NewCredentials};
use crate::error::StorageError;
use crate::item::{at, n, s, to_item};
use crate::schema::Table;
use crate::transaction::TransactionOutcome;

/// The most accounts that one connect flow connects. A transaction has at most a hundred writes: one
/// for the connect flow, one for its profile, and at most four for each account (the connection, its
/// grant, and either its marker and its event, or the grant that it leaves).
pub const MAX_CONNECTED: usize = 24;

#[derive(Clone, Debug)]
pub struct Connecting {
    /// The connection to store. If it exists already, its id, creation time and pending posts stay.
    pub connection: Connection,
    /// Its grant, one of the `credentials` of [`Store::connect`].
    pub grant_name: String,
    /// A secret for this account only, sealed for [`crate::own_secret_context`].
    pub own: Option<Vec<u8>>,
    pub found: Option<ConnectionRecord>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Connected {
    Done {
        /// Credentials that no connection uses anymore, because their accounts are now connected
        /// with another grant.
        left: Vec<CredentialsRecord>,
    },
    /// The connect flow, its profile, an account or a grant was changed concurrently. Nothing was written; read
    /// them again.
    Overtaken,
    /// The connect flow had ended or expired. Nothing was written.
    Closed,
}

struct GrantChanges {
    before: HashMap<String, CredentialsRecord>,
    joining: BTreeMap<String, BTreeSet<ConnectionId>>,
    leaving: BTreeMap<String, BTreeSet<ConnectionId>>,
}

impl Store {
    /// By account id.
    pub async fn connected_accounts(
        &self,
        user: UserId,
        profile: Option<ProfileId>,
        provider: &str,
        accounts: impl IntoIterator<Item = &str>,
    ) -> Result<HashMap<String, ConnectionRecord>, StorageError> {
        let accounts: BTreeSet<&str> = accounts.into_iter().collect();
        let markers =
            accounts.into_iter().map(|it| (Table::ConnectFlows, marker(user, profile, provider, it))).collect();
        let found = self.batch_get(markers).await?.remove(&Table::ConnectFlows).unwrap_or_default();
        let ids = found.iter().filter_map(|it| it.get("connection_id")?.as_n().ok()?.parse().ok());
        let records = self.connection_records(user, ids.filter_map(ConnectionId::new)).await?;
        Ok(records.into_iter().map(|it| (it.connection.profile.account_id.clone(), it)).collect())
    }

    /// Unordered. Includes only connections that the owner may see.
    pub async fn connections_by_id(
        &self,
        owner: impl Into<Owner>,
        ids: impl IntoIterator<Item = ConnectionId>,
    ) -> Result<Vec<Connection>, StorageError> {
        let owner = owner.into();
        let found = self.connection_records(owner.user_id, ids).await?.into_iter().map(|it| it.connection);
        Ok(found.filter(|it| owner.may_see(it.of_profile.as_ref())).collect())
    }

    /// Unordered.
    pub(crate) async fn connection_records(
        &self,
        user: UserId,
        ids: impl IntoIterator<Item = ConnectionId>,
    ) -> Result<Vec<ConnectionRecord>, StorageError> {
        let keys = ids.into_iter().map(|it| (Table::Connections, connection_key(user, it))).collect();
        let found = self.batch_get(keys).await?.remove(&Table::Connections).unwrap_or_default();
        found.into_iter().map(read).collect()
    }

    /// At most [`MAX_CONNECTED`] accounts: new connections, or new credentials for existing ones.
    /// `left_out` tells the user which accounts were not connected.
    ///
    /// The connect flow, the connections, their markers and their grants change in one
    /// transaction, so a connect flow connects at most once. The transaction also puts
    /// [`Event::connected`] at `now` into the outbox for each new connection.
    pub async fn connect(
        &self,
        hash: &str,
        flow: &ConnectFlow,
        accounts: &[Connecting],
        credentials: &[NewCredentials],
        left_out: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Connected, StorageError> {
        let Some(first) = accounts.first().map(|it| &it.connection) else { return Ok(Connected::Overtaken) };
        let (user, provider) = (first.user_id, first.provider.as_str());
        let ids: Vec<ConnectionId> = accounts.iter().map(|it| it.connection.connection_id).collect();
        let Ok(completed) = flow.clone().complete(&ids, left_out, now) else { return Ok(Connected::Closed) };
        let grants = self.grant_changes(user, accounts).await?;
        let mut writes = vec![self.replace_connect_flow_action(hash, flow, &completed)?];
        let mut generations = HashMap::new();
        for new in credentials {
            let before = grants.before.get(&new.grant_name);
            generations.insert(new.grant_name.as_str(), new.state(before, now).generation);
            let connections = grants.connections(&new.grant_name);
            writes.push(self.granted(user, provider, new, before, &connections, now)?);
        }
        let mut left = Vec::new();
        for (name, leaving) in &grants.leaving {
            let Some(before) = grants.before.get(name).filter(|_| !generations.contains_key(name.as_str())) else {
                continue;
            };
            if before.connections.is_subset(leaving) {
                left.push(before.clone());
            }
            writes.push(self.released(before, leaving)?);
        }
        let added = accounts.iter().filter(|it| it.found.is_none()).count();
        if let Some(profile) = flow.of_profile.as_ref().filter(|_| added != 0) {
            writes.push(self.count_connections(user, profile.profile_id, added.try_into().unwrap_or(i64::MAX))?);
        }
        for account in accounts {
            let generation = generations.get(account.grant_name.as_str()).copied().unwrap_or_default();
            writes.extend(self.connected(account, generation)?);
            if account.found.is_none() {
                writes.push(self.outbox_action(&Event::connected(&account.connection, now))?);
            }
        }
        Ok(match self.transact(writes).await? {
            TransactionOutcome::Done => Connected::Done { left },
            TransactionOutcome::Refused(_) => Connected::Overtaken,
        })
    }

    async fn grant_changes(&self, user: UserId, accounts: &[Connecting]) -> Result<GrantChanges, StorageError> {
        let (mut joining, mut leaving) = (BTreeMap::new(), BTreeMap::new());
        let add = |map: &mut BTreeMap<String, BTreeSet<ConnectionId>>, name: &str, id| {
            map.entry(name.to_owned()).or_default().insert(id);
        };
        for account in accounts {
            let id = account.connection.connection_id;
            add(&mut joining, &account.grant_name, id);
            let old_grant = account.found.as_ref().map(|it| &it.grant_name);
            if let Some(other) = old_grant.filter(|it| **it != account.grant_name) {
                add(&mut leaving, other, id);
            }
        }
        let before = self.grants_by_name(user, joining.keys().chain(leaving.keys()).map(String::as_str)).await?;
        Ok(GrantChanges { before, joining, leaving })
    }

    fn connected(&self, account: &Connecting, generation: u64) -> Result<Vec<TransactWriteItem>, StorageError> {
        match &account.found {
            None => Ok(self.new_connection(account, generation)?.into()),
            Some(found) => Ok(vec![self.reconnect_action(account, found, generation)?]),
        }
    }

    fn new_connection(&self, account: &Connecting, generation: u64) -> Result<[TransactWriteItem; 2], StorageError> {
        let connection = &account.connection;
        let mut item = to_item(&Connection { generation, ..connection.clone() })?;
        item.insert("grant_name".to_owned(), s(&account.grant_name));
        if let Some(own) = &account.own {
            item.insert("own".to_owned(), AttributeValue::B(Blob::new(own.clone())));
        }
        let put = Put::builder()
            .table_name(self.table(Table::Connections))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(connection_id)");
        let mut mark = marker_of(connection);
        mark.insert("connection_id".to_owned(), n(connection.connection_id));
        let mark = Put::builder()
            .table_name(self.table(Table::ConnectFlows))
            .set_item(Some(mark))
            .condition_expression("attribute_not_exists(connect_flow)");
        let item = |put: aws_sdk_dynamodb::types::builders::PutBuilder| {
            Ok::<_, StorageError>(TransactWriteItem::builder().put(put.build().map_err(StorageError::build)?).build())
        };
        Ok([item(put)?, item(mark)?])
    }

    fn reconnect_action(
        &self,
        account: &Connecting,
        found: &ConnectionRecord,
        generation: u64,
    ) -> Result<TransactWriteItem, StorageError> {
        let connection = &account.connection;
        let mut item = to_item(connection)?;
        let mut change = Change::default();
        for name in ["profile", "scopes", "rules"] {
            let value = item.remove(name).ok_or_else(|| StorageError::Request(format!("connection without {name}")))?;
            change.set(name, value);
        }
        change.set("grant_name", s(&account.grant_name));
        change.set("generation", n(generation));
        change.set("needs_reconnection", AttributeValue::Bool(false));
        change.set_or_remove("own", account.own.clone().map(|it| AttributeValue::B(Blob::new(it))));
        change.set_or_remove("token_expires_at", connection.token_expires_at.map(at));
        change.set_or_remove("refreshed_at", connection.refreshed_at.map(at));
        change.remove(["alone"]);
        let update = Update::builder()
            .table_name(self.table(Table::Connections))
            .set_key(Some(connection_key(connection.user_id, connection.connection_id)))
            .condition_expression("grant_name = :was")
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .expression_attribute_values(":was", s(&found.grant_name));
        let update = update.build().map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

impl GrantChanges {
    fn connections(&self, name: &str) -> BTreeSet<ConnectionId> {
        let mut all = self.before.get(name).map(|it| it.connections.clone()).unwrap_or_default();
        all.retain(|it| !self.leaving.get(name).is_some_and(|leaving| leaving.contains(it)));
        all.extend(self.joining.get(name).into_iter().flatten());
        all
    }
}
