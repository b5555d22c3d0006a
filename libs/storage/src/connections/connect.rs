//! The end of a connect flow: its accounts become connections of their grants.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::event::Event;
use domain::id::{ConnectionId, UserId};

use super::{ConnectionRecord, connection_key, marker, read};
use crate::Store;
use crate::change::Change;
use crate::connect_flows;
use crate::credentials::{CredentialsRecord, NewCredentials};
use crate::error::StorageError;
use crate::item::{at, n, s, to_item};
use crate::schema::Table;
use crate::transaction::Transacted;

/// The most accounts that one connect flow connects. A transaction has a hundred
/// writes: one for the connect flow, and four at most for each account, which are
/// itself, its grant, and its marker with the event that tells of it, or the grant
/// that it leaves.
pub const MAX_CONNECTED: usize = 24;

/// An account that a connect flow connects.
#[derive(Clone, Debug)]
pub struct Connecting {
    /// As it is to be kept. Of one that is there already, the id, the age and the
    /// pending posts stay.
    pub connection: Connection,
    /// Its grant, which is among those that come with it.
    pub grant_name: String,
    /// What the platform gave for this account alone, sealed for
    /// [`crate::credentials_context`].
    pub own: Option<Vec<u8>>,
    /// Its connection as it was read, if it has one.
    pub found: Option<ConnectionRecord>,
}

/// How a connect flow's accounts were kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Connected {
    /// Each is connected by these credentials now.
    Done {
        /// What nobody uses any more, because their accounts were connected by
        /// another grant.
        left: Vec<CredentialsRecord>,
    },
    /// An account or a grant was changed in between: nothing was written, read
    /// them again.
    Overtaken,
    /// The connect flow had ended or expired: nothing was written.
    Closed,
}

/// What becomes of the records of grants.
struct Grants {
    /// As they were read.
    before: HashMap<String, CredentialsRecord>,
    joining: BTreeMap<String, BTreeSet<ConnectionId>>,
    leaving: BTreeMap<String, BTreeSet<ConnectionId>>,
}

impl Store {
    /// The connections that this user has of these accounts of a platform, by
    /// account.
    pub async fn connected_accounts(
        &self,
        user: UserId,
        provider: &str,
        accounts: impl IntoIterator<Item = &str>,
    ) -> Result<HashMap<String, ConnectionRecord>, StorageError> {
        let accounts: BTreeSet<&str> = accounts.into_iter().collect();
        let markers = accounts.into_iter().map(|it| (Table::ConnectFlows, marker(user, provider, it))).collect();
        let found = self.batch_get(markers).await?.remove(&Table::ConnectFlows).unwrap_or_default();
        let ids = found.iter().filter_map(|it| it.get("connection_id")?.as_n().ok()?.parse().ok());
        let records = self.connection_records(user, ids.filter_map(ConnectionId::new)).await?;
        Ok(records.into_iter().map(|it| (it.connection.profile.account_id.clone(), it)).collect())
    }

    /// A user's connections with these ids, in no order.
    pub(crate) async fn connection_records(
        &self,
        user: UserId,
        ids: impl IntoIterator<Item = ConnectionId>,
    ) -> Result<Vec<ConnectionRecord>, StorageError> {
        let keys = ids.into_iter().map(|it| (Table::Connections, connection_key(user, it))).collect();
        let found = self.batch_get(keys).await?.remove(&Table::Connections).unwrap_or_default();
        found.into_iter().map(read).collect()
    }

    /// Ends a connect flow with these accounts, at most [`MAX_CONNECTED`]: new
    /// connections, or new credentials for those that are there. `left_out` says,
    /// for the person, which others could not be connected.
    ///
    /// The connect flow, the connections, their markers and their grants change
    /// together or not at all, so a connect flow connects at most once. With them go the
    /// events of new connections into the outbox, [`Event::connected`] at `now`.
    pub async fn connect(
        &self,
        connect_flow: &str,
        accounts: &[Connecting],
        credentials: &[NewCredentials],
        left_out: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Connected, StorageError> {
        let Some(first) = accounts.first().map(|it| &it.connection) else { return Ok(Connected::Overtaken) };
        let (user, provider) = (first.user_id, first.provider.as_str());
        let grants = self.grants_before(user, accounts).await?;
        let ids: Vec<ConnectionId> = accounts.iter().map(|it| it.connection.connection_id).collect();
        let completed = connect_flows::completed(self.table(Table::ConnectFlows), connect_flow, &ids, left_out, now)?;
        let mut writes = vec![completed];
        let mut generations = HashMap::new();
        for new in credentials {
            let before = grants.before.get(&new.grant_name);
            generations.insert(new.grant_name.as_str(), NewCredentials::generation(before, now));
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
        for account in accounts {
            let generation = generations.get(account.grant_name.as_str()).copied().unwrap_or_default();
            writes.extend(self.connected(account, generation)?);
            if account.found.is_none() {
                writes.push(self.outbox_put(&Event::connected(&account.connection, now))?);
            }
        }
        Ok(match self.transact(writes).await? {
            Transacted::Done => Connected::Done { left },
            // The connect flow is the first of the items.
            Transacted::Refused(0) => Connected::Closed,
            Transacted::Refused(_) => Connected::Overtaken,
        })
    }

    async fn grants_before(&self, user: UserId, accounts: &[Connecting]) -> Result<Grants, StorageError> {
        let (mut joining, mut leaving) = (BTreeMap::new(), BTreeMap::new());
        let enter = |of: &mut BTreeMap<String, BTreeSet<ConnectionId>>, name: &str, id| {
            of.entry(name.to_owned()).or_default().insert(id);
        };
        for account in accounts {
            let id = account.connection.connection_id;
            enter(&mut joining, &account.grant_name, id);
            let was_under = account.found.as_ref().and_then(ConnectionRecord::grant_name);
            if let Some(other) = was_under.filter(|it| *it != account.grant_name) {
                enter(&mut leaving, other, id);
            }
        }
        let before = self.grants_named(user, joining.keys().chain(leaving.keys()).map(String::as_str)).await?;
        Ok(Grants { before, joining, leaving })
    }

    fn connected(&self, account: &Connecting, generation: u64) -> Result<Vec<TransactWriteItem>, StorageError> {
        match &account.found {
            None => Ok(self.new_connection(account, generation)?.into()),
            Some(found) => Ok(vec![self.renewed_connection(account, found, generation)?]),
        }
    }

    fn new_connection(&self, account: &Connecting, generation: u64) -> Result<[TransactWriteItem; 2], StorageError> {
        let connection = &account.connection;
        let mut item = to_item(&Connection { generation, ..connection.clone() })?;
        item.insert("account".to_owned(), s(connection.account()));
        item.insert("grant_name".to_owned(), s(&account.grant_name));
        if let Some(own) = &account.own {
            item.insert("own".to_owned(), AttributeValue::B(Blob::new(own.clone())));
        }
        let put = Put::builder()
            .table_name(self.table(Table::Connections))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(connection_id)");
        let mut mark = marker(connection.user_id, &connection.provider, &connection.profile.account_id);
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

    fn renewed_connection(
        &self,
        account: &Connecting,
        found: &ConnectionRecord,
        generation: u64,
    ) -> Result<TransactWriteItem, StorageError> {
        let connection = &account.connection;
        let mut item = to_item(connection)?;
        let mut change = Change::default();
        for name in ["profile", "scopes", "rules"] {
            let value =
                item.remove(name).ok_or_else(|| StorageError::Request(format!("a connection without {name}")))?;
            change.set(name, value);
        }
        change.set("account", s(connection.account()));
        change.set("grant_name", s(&account.grant_name));
        change.set("generation", n(generation));
        change.set("needs_reconnection", AttributeValue::Bool(false));
        change.set_or_remove("own", account.own.clone().map(|it| AttributeValue::B(Blob::new(it))));
        change.set_or_remove("token_expires_at", connection.token_expires_at.map(at));
        change.set_or_remove("renewed_at", connection.renewed_at.map(at));
        change.remove(["alone", "credentials"]);
        // Of a connection that was kept with its credentials.
        change.refresh_at(connection.user_id, None);
        let (is_under, was_under) = match found.grant_name() {
            Some(name) => ("grant_name = :was", Some(s(name))),
            None => ("attribute_not_exists(grant_name)", None),
        };
        let mut update = Update::builder()
            .table_name(self.table(Table::Connections))
            .set_key(Some(connection_key(connection.user_id, connection.connection_id)))
            .condition_expression(format!("attribute_exists(connection_id) AND {is_under}"))
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values));
        if let Some(was_under) = was_under {
            update = update.expression_attribute_values(":was", was_under);
        }
        let update = update.build().map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

impl Grants {
    /// The connections of a grant, with those that join it and without those that
    /// leave.
    fn connections(&self, name: &str) -> BTreeSet<ConnectionId> {
        let mut all = self.before.get(name).map(|it| it.connections.clone()).unwrap_or_default();
        all.retain(|it| !self.leaving.get(name).is_some_and(|leaving| leaving.contains(it)));
        all.extend(self.joining.get(name).into_iter().flatten());
        all
    }
}
