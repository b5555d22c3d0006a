//! The tables with their keys and indexes. The local stack creates tables from this description, and a
//! test compares it with `template.yaml`.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection as SdkProjection,
    ProjectionType, ScalarAttributeType,
};

use crate::error::StorageError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    Users,
    Grants,
    Limits,
    Connections,
    ConnectFlows,
    Media,
    Posts,
    Deliveries,
    Attempts,
    Idempotency,
    Vault,
    Claims,
    Credentials,
    Webhooks,
    WebhookDeliveries,
    Outbox,
    Profiles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub name: &'static str,
    /// `S` or `N`.
    pub kind: &'static str,
}

/// The attributes of an index in addition to its keys and those of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    Keys,
    Include(&'static [&'static str]),
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    pub name: &'static str,
    pub hash: Key,
    pub range: Key,
    pub projection: Projection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSchema {
    pub table: Table,
    pub hash: Key,
    pub range: Option<Key>,
    pub indexes: &'static [Index],
    /// Unix seconds.
    pub ttl: Option<&'static str>,
}

const fn s(name: &'static str) -> Key {
    Key { name, kind: "S" }
}

const fn n(name: &'static str) -> Key {
    Key { name, kind: "N" }
}

const fn index(name: &'static str, hash: Key, range: Key, projection: Projection) -> Index {
    Index { name, hash, range, projection }
}

const TTL: Option<&str> = Some("ttl");

impl Table {
    pub const ALL: [TableSchema; 17] = [
        TableSchema { table: Self::Users, hash: n("user_id"), range: None, indexes: &[], ttl: None },
        TableSchema {
            table: Self::Grants,
            hash: s("grant"),
            range: None,
            indexes: &[index("by_user", n("owner"), n("created_at"), Projection::All)],
            ttl: TTL,
        },
        TableSchema { table: Self::Limits, hash: s("subject"), range: Some(n("minute")), indexes: &[], ttl: TTL },
        TableSchema {
            table: Self::Connections,
            hash: n("user_id"),
            range: Some(n("connection_id")),
            indexes: &[],
            ttl: None,
        },
        TableSchema { table: Self::ConnectFlows, hash: s("connect_flow"), range: None, indexes: &[], ttl: TTL },
        TableSchema {
            table: Self::Media,
            hash: n("user_id"),
            range: Some(n("media_id")),
            indexes: &[index("unused", s("unused_shard"), n("unused_since"), Projection::Include(&["mime_type"]))],
            ttl: None,
        },
        TableSchema {
            table: Self::Posts,
            hash: n("user_id"),
            range: Some(n("post_id")),
            indexes: &[
                index("by_created", n("user_id"), n("listed"), Projection::Keys),
                index("by_status", s("status_list"), n("post_id"), Projection::Keys),
                index("by_profile", s("profile_list"), n("post_id"), Projection::Keys),
                index("by_time", n("user_id"), s("time_key"), Projection::Keys),
                index("by_status_and_time", s("status_list"), s("time_key"), Projection::Keys),
            ],
            ttl: None,
        },
        TableSchema {
            table: Self::Deliveries,
            hash: n("user_id"),
            range: Some(s("delivery")),
            indexes: &[index(
                "due",
                s("due_shard"),
                n("due_at"),
                Projection::Include(&["next_step_at", "revision", "connection_id", "profile_id"]),
            )],
            ttl: None,
        },
        TableSchema { table: Self::Attempts, hash: n("user_id"), range: Some(s("attempt")), indexes: &[], ttl: TTL },
        TableSchema { table: Self::Idempotency, hash: n("user_id"), range: Some(s("key")), indexes: &[], ttl: TTL },
        TableSchema { table: Self::Vault, hash: s("entry"), range: None, indexes: &[], ttl: TTL },
        TableSchema { table: Self::Claims, hash: s("account"), range: Some(s("post")), indexes: &[], ttl: TTL },
        TableSchema {
            table: Self::Credentials,
            hash: n("user_id"),
            range: Some(s("grant_name")),
            indexes: &[
                index("refresh", s("refresh_shard"), n("refresh_at"), Projection::Keys),
                index("by_grant", s("grant_name"), n("user_id"), Projection::Keys),
            ],
            ttl: None,
        },
        TableSchema {
            table: Self::Webhooks,
            hash: n("user_id"),
            range: Some(n("webhook_id")),
            indexes: &[],
            ttl: None,
        },
        TableSchema {
            table: Self::WebhookDeliveries,
            hash: n("user_id"),
            range: Some(s("notice")),
            indexes: &[
                index("due", s("due_shard"), n("due_at"), Projection::Include(&["next_step_at"])),
                index("by_endpoint", s("endpoint"), n("created_at"), Projection::Keys),
                index("waiting", s("waits_for"), n("created_at"), Projection::Keys),
            ],
            ttl: TTL,
        },
        TableSchema {
            table: Self::Outbox,
            hash: n("user_id"),
            range: Some(s("event")),
            indexes: &[index("due", s("due_shard"), n("due_at"), Projection::All)],
            ttl: None,
        },
        TableSchema {
            table: Self::Profiles,
            hash: n("user_id"),
            range: Some(s("entry")),
            indexes: &[index(
                "erasures",
                s("erasure_shard"),
                n("erase_at"),
                Projection::Include(&["profile_id", "requested_at"]),
            )],
            ttl: None,
        },
    ];

    /// Without the prefix of the deployment.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Grants => "grants",
            Self::Limits => "limits",
            Self::Connections => "connections",
            Self::ConnectFlows => "connect_flows",
            Self::Media => "media",
            Self::Posts => "posts",
            Self::Deliveries => "deliveries",
            Self::Attempts => "attempts",
            Self::Idempotency => "idempotency",
            Self::Vault => "vault",
            Self::Claims => "claims",
            Self::Credentials => "credentials",
            Self::Webhooks => "webhooks",
            Self::WebhookDeliveries => "webhook_deliveries",
            Self::Outbox => "outbox",
            Self::Profiles => "profiles",
        }
    }

    pub fn name(self, prefix: &str) -> String {
        format!("{prefix}-{}", self.as_str())
    }
}

impl TableSchema {
    /// For the local stack and tests. Does nothing if the table exists.
    pub async fn create(&self, client: &Client, prefix: &str) -> Result<(), StorageError> {
        let mut attributes = vec![self.hash];
        attributes.extend(self.range);
        attributes.extend(self.indexes.iter().flat_map(|it| [it.hash, it.range]));
        attributes.sort_by_key(|it| it.name);
        attributes.dedup();

        let mut request = client
            .create_table()
            .table_name(self.table.name(prefix))
            .billing_mode(BillingMode::PayPerRequest)
            .set_key_schema(Some(key_schema(self.hash, self.range)?));
        for attribute in attributes {
            let kind = if attribute.kind == "N" { ScalarAttributeType::N } else { ScalarAttributeType::S };
            let definition = AttributeDefinition::builder().attribute_name(attribute.name).attribute_type(kind);
            request = request.attribute_definitions(definition.build().map_err(StorageError::build)?);
        }
        for index in self.indexes {
            let projection = match index.projection {
                Projection::Keys => SdkProjection::builder().projection_type(ProjectionType::KeysOnly),
                Projection::All => SdkProjection::builder().projection_type(ProjectionType::All),
                Projection::Include(names) => SdkProjection::builder()
                    .projection_type(ProjectionType::Include)
                    .set_non_key_attributes(Some(names.iter().map(ToString::to_string).collect())),
            };
            let built = GlobalSecondaryIndex::builder()
                .index_name(index.name)
                .set_key_schema(Some(key_schema(index.hash, Some(index.range))?))
                .projection(projection.build());
            request = request.global_secondary_indexes(built.build().map_err(StorageError::build)?);
        }
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) if error.as_service_error().is_some_and(CreateTableError::is_resource_in_use_exception) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn key_schema(hash: Key, range: Option<Key>) -> Result<Vec<KeySchemaElement>, StorageError> {
    let keys = [Some((hash, KeyType::Hash)), range.map(|it| (it, KeyType::Range))];
    let element = |(key, kind): (Key, KeyType)| {
        KeySchemaElement::builder().attribute_name(key.name).key_type(kind).build().map_err(StorageError::build)
    };
    keys.into_iter().flatten().map(element).collect()
}
