use std::fmt::Write as _;

use dynoxide::actions::batch_get_item::BatchGetItemRequest;
use dynoxide::actions::delete_item::DeleteItemRequest;
use dynoxide::actions::get_item::GetItemRequest;
use dynoxide::actions::put_item::PutItemRequest;
use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::transact_write_items::TransactWriteItemsRequest;
use dynoxide::actions::update_item::UpdateItemRequest;
use dynoxide::types::AttributeValue;
use storage::Table;

use super::schema::{Attributes, PREFIX, schema};

pub(crate) enum Request {
    Get(GetItemRequest),
    BatchGet(BatchGetItemRequest),
    Query(Box<QueryRequest>),
    Put(Box<PutItemRequest>),
    Update(Box<UpdateItemRequest>),
    Delete(Box<DeleteItemRequest>),
    Transact(TransactWriteItemsRequest),
}

pub(crate) struct WrittenItem {
    pub(crate) how: &'static str,
    pub(crate) table: Table,
    pub(crate) key: Attributes,
    /// `None` unless the request contains the whole item.
    pub(crate) after: Option<Attributes>,
}

impl Request {
    /// `operation` is the name in `x-amz-target`.
    pub(crate) fn read(operation: &str, body: &[u8]) -> Self {
        fn parse<T: serde::de::DeserializeOwned>(body: &[u8]) -> T {
            serde_json::from_slice(body).expect("the SDK writes what the database reads")
        }
        match operation {
            "GetItem" => Self::Get(parse(body)),
            "BatchGetItem" => Self::BatchGet(parse(body)),
            "Query" => Self::Query(parse(body)),
            "PutItem" => Self::Put(parse(body)),
            "UpdateItem" => Self::Update(parse(body)),
            "DeleteItem" => Self::Delete(parse(body)),
            "TransactWriteItems" => Self::Transact(parse(body)),
            other => panic!("the simulator does not know {other}"),
        }
    }

    pub(crate) fn writes(&self) -> Vec<WrittenItem> {
        match self {
            Self::Get(_) | Self::BatchGet(_) | Self::Query(_) => Vec::new(),
            Self::Put(it) => vec![put(&it.table_name, &it.item)],
            Self::Update(it) => vec![written("update", &it.table_name, &it.key)],
            Self::Delete(it) => vec![written("delete", &it.table_name, &it.key)],
            Self::Transact(it) => {
                let each = it.transact_items.iter().map(|it| match (&it.put, &it.update, &it.delete) {
                    (Some(it), _, _) => put(&it.table_name, &it.item),
                    (_, Some(it), _) => written("update", &it.table_name, &it.key),
                    (_, _, Some(it)) => written("delete", &it.table_name, &it.key),
                    _ => panic!("the simulator does not know this part of a transaction"),
                });
                each.collect()
            }
        }
    }

    /// Identifies a repeated transaction.
    pub(crate) fn token(&self) -> Option<&str> {
        if let Self::Transact(it) = self { it.client_request_token.as_deref() } else { None }
    }

    /// 0 for other requests.
    pub(crate) fn transaction_items(&self) -> usize {
        if let Self::Transact(it) = self { it.transact_items.len() } else { 0 }
    }

    /// Whether it reads a table (not an index) without a consistent read.
    pub(crate) fn is_eventually_consistent(&self) -> bool {
        match self {
            Self::Get(it) => it.consistent_read != Some(true),
            Self::BatchGet(it) => it.request_items.values().any(|it| it.consistent_read != Some(true)),
            Self::Query(it) => it.index_name.is_none() && it.consistent_read != Some(true),
            _ => false,
        }
    }

    /// With ids, for the trace.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Get(it) => read(&mut text, &it.table_name, &it.key),
            Self::BatchGet(it) => {
                let mut tables: Vec<_> = it.request_items.iter().collect();
                tables.sort_by_key(|it| it.0);
                for (table, keys) in tables {
                    for key in &keys.keys {
                        read(&mut text, table, key);
                    }
                }
            }
            Self::Query(it) => {
                let index = it.index_name.as_deref().unwrap_or("keys");
                let _ = write!(text, "query {}/{index}", short(&it.table_name));
                for (name, value) in sorted(it.expression_attribute_values.as_ref()) {
                    let _ = write!(text, " {name}={}", plain(value));
                }
            }
            _ => {
                for it in self.writes() {
                    let _ = write!(text, "{}{} {}/{}", space(&text), it.how, it.table.as_str(), ids(&it.key));
                }
            }
        }
        text
    }
}

fn written(how: &'static str, table: &str, attributes: &Attributes) -> WrittenItem {
    let table = table_named(table);
    let schema = schema(table);
    let names = [Some(schema.hash), schema.range].into_iter().flatten().map(|it| it.name);
    let key = names.filter_map(|it| Some((it.to_owned(), attributes.get(it)?.clone()))).collect();
    WrittenItem { how, table, key, after: None }
}

fn put(table: &str, item: &Attributes) -> WrittenItem {
    WrittenItem { after: Some(item.clone()), ..written("put", table, item) }
}

pub(crate) fn table_named(name: &str) -> Table {
    let known = Table::ALL.into_iter().find(|it| it.table.as_str() == short(name));
    known.unwrap_or_else(|| panic!("a table {name}")).table
}

fn short(table: &str) -> &str {
    table.strip_prefix(PREFIX).and_then(|it| it.strip_prefix('-')).unwrap_or(table)
}

fn read(text: &mut String, table: &str, key: &Attributes) {
    let _ = write!(text, "{}get {}/{}", space(text), short(table), ids(key));
}

const fn space(text: &str) -> &'static str {
    if text.is_empty() { "" } else { " " }
}

fn sorted(values: Option<&Attributes>) -> Vec<(&String, &AttributeValue)> {
    let mut sorted: Vec<_> = values.into_iter().flatten().collect();
    sorted.sort_by_key(|it| it.0);
    sorted
}

/// Without the user and without leading zeros.
fn ids(key: &Attributes) -> String {
    let parts = sorted(Some(key)).into_iter().filter(|(name, _)| *name != "user_id").map(|(_, value)| plain(value));
    let parts: Vec<_> = parts.collect();
    parts.join("/")
}

fn plain(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => {
            let parts: Vec<_> = text.split('#').map(|it| it.trim_start_matches('0')).collect();
            parts.join("/")
        }
        AttributeValue::N(number) => number.clone(),
        _ => "?".to_owned(),
    }
}
