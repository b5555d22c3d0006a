//! The tables of a run: a DynamoDB in this thread, emptied for every run.

use dynoxide::actions::query::{QueryRequest, QueryResponse};
use dynoxide::{Database, DynoxideError};
use storage::{Table, TableSchema};

use super::request::Request;
use super::schema::{Attributes, PREFIX};

thread_local! {
    static TABLES: Tables = Tables::create();
}

#[derive(Clone)]
pub(crate) struct Tables {
    database: Database,
    empty: std::sync::Arc<tempfile::TempPath>,
}

impl Tables {
    pub(crate) fn prepare() {
        TABLES.with(|_| ());
    }

    /// Empties the tables of the previous run on this thread.
    pub(crate) fn empty() -> Self {
        let tables = TABLES.with(Clone::clone);
        // This also removes the idempotency tokens of transactions.
        tables.database.restore_from(&tables.empty.to_string_lossy()).expect("the snapshot is there");
        tables
    }

    fn create() -> Self {
        let database = Database::memory().expect("memory for a database");
        for table in Table::ALL {
            let request = serde_json::from_value(creation(&table)).expect("a request for a table");
            database.create_table(request).expect("a table");
        }
        // Temporary names are drawn from the generator that a run seeds, so without the thread's id
        // two threads would draw the same name.
        let prefix = format!("simulation-{:?}-", std::thread::current().id());
        let empty = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".db")
            .tempfile()
            .expect("a file for the snapshot")
            .into_temp_path();
        // The database writes the snapshot itself, and fails if the file exists.
        std::fs::remove_file(&empty).expect("an empty file can be removed");
        database.vacuum_into(&empty.to_string_lossy()).expect("a snapshot");
        Self { database, empty: std::sync::Arc::new(empty) }
    }

    pub(crate) fn respond(&self, request: Request) -> Result<String, DynoxideError> {
        let database = &self.database;
        Ok(match request {
            Request::Get(it) => body(&database.get_item(it)?),
            Request::BatchGet(it) => body(&database.batch_get_item(it)?),
            Request::Query(it) => body(&self.query(*it)?),
            Request::Put(it) => body(&database.put_item(*it)?),
            Request::Update(it) => body(&database.update_item(*it)?),
            Request::Delete(it) => body(&database.delete_item(*it)?),
            Request::Transact(it) => body(&database.transact_write_items(it)?),
        })
    }

    pub(crate) fn query(&self, request: QueryRequest) -> Result<QueryResponse, DynoxideError> {
        self.database.query(request)
    }

    pub(crate) fn item(&self, table: Table, key: Attributes) -> Option<Attributes> {
        let request = dynoxide::actions::get_item::GetItemRequest {
            table_name: table.name(PREFIX),
            key,
            consistent_read: Some(true),
            projection_expression: None,
            expression_attribute_names: None,
            return_consumed_capacity: None,
            attributes_to_get: None,
        };
        self.database.get_item(request).expect("a readable item").item
    }
}

pub(super) fn body(answer: &impl serde::Serialize) -> String {
    serde_json::to_string(answer).expect("an answer in JSON")
}

fn creation(table: &TableSchema) -> serde_json::Value {
    use serde_json::{Value, json};
    let keys = |hash: storage::Key, range: Option<storage::Key>| -> Value {
        let hash = json!({"AttributeName": hash.name, "KeyType": "HASH"});
        let range = range.map(|it| json!({"AttributeName": it.name, "KeyType": "RANGE"}));
        Value::Array([Some(hash), range].into_iter().flatten().collect())
    };
    let mut attributes: Vec<_> = [table.hash].into_iter().chain(table.range).collect();
    attributes.extend(table.indexes.iter().flat_map(|it| [it.hash, it.range]));
    attributes.sort_by_key(|it| it.name);
    attributes.dedup();
    let attributes: Vec<_> =
        attributes.iter().map(|it| json!({"AttributeName": it.name, "AttributeType": it.kind})).collect();
    let mut request = json!({
        "TableName": table.table.name(PREFIX),
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": keys(table.hash, table.range),
        "AttributeDefinitions": attributes,
    });
    let indexes: Vec<_> = table
        .indexes
        .iter()
        .map(|it| {
            let projection = match it.projection {
                storage::Projection::Keys => json!({"ProjectionType": "KEYS_ONLY"}),
                storage::Projection::All => json!({"ProjectionType": "ALL"}),
                storage::Projection::Include(names) => {
                    json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": names})
                }
            };
            json!({"IndexName": it.name, "KeySchema": keys(it.hash, Some(it.range)), "Projection": projection})
        })
        .collect();
    if !indexes.is_empty() {
        request["GlobalSecondaryIndexes"] = indexes.into();
    }
    request
}
