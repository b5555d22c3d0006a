//! The tables of the template and of the store must agree.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use storage::{Key, Projection, Table, TableSchema};
use tests::template::Template;

#[test]
fn template_has_the_tables_of_the_store() {
    let template = Template::read().unwrap();
    let deployed = template.resources("AWS::DynamoDB::Table");
    let deployed: BTreeMap<_, _> =
        deployed.into_values().map(|it| (it["TableName"].to_string(), table_shape(it))).collect();

    let expected_tables = Table::ALL.iter().map(|it| {
        let name = json!({ "Fn::Sub": it.table.name("${AWS::StackName}") });
        (name.to_string(), expected_table(it))
    });

    assert_eq!(deployed, expected_tables.collect());
}

fn table_shape(table: &Value) -> Value {
    let mut attributes = table["AttributeDefinitions"].as_array().unwrap().clone();
    attributes.sort_by_key(|it| it["AttributeName"].to_string());
    let mut indexes = table.get("GlobalSecondaryIndexes").cloned().unwrap_or_default();
    for index in indexes.as_array_mut().into_iter().flatten() {
        // The warm throughput affects the speed of the index, not its content.
        index.as_object_mut().unwrap().remove("WarmThroughput");
    }
    json!({
        "attributes": attributes,
        "keys": table["KeySchema"],
        "indexes": indexes,
        "ttl": table.get("TimeToLiveSpecification").unwrap_or(&Value::Null),
        "billing": table["BillingMode"],
        "recovery": table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"],
        "encryption": table["SSESpecification"]["SSEEnabled"],
        "protection": table["DeletionProtectionEnabled"],
    })
}

fn expected_table(table: &TableSchema) -> Value {
    let index_keys = table.indexes.iter().flat_map(|it| [it.hash, it.range]);
    let keys: BTreeMap<&str, Key> =
        [table.hash].into_iter().chain(table.range).chain(index_keys).map(|it| (it.name, it)).collect();
    let attributes: Vec<_> =
        keys.values().map(|it| json!({ "AttributeName": it.name, "AttributeType": it.kind })).collect();
    let indexes: Vec<_> = table
        .indexes
        .iter()
        .map(|it| {
            let projection = match it.projection {
                Projection::Keys => json!({ "ProjectionType": "KEYS_ONLY" }),
                Projection::Include(names) => json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names }),
                Projection::All => json!({ "ProjectionType": "ALL" }),
            };
            json!({ "IndexName": it.name, "KeySchema": key_schema(it.hash, Some(it.range)), "Projection": projection })
        })
        .collect();
    json!({
        "attributes": attributes,
        "keys": key_schema(table.hash, table.range),
        "indexes": if indexes.is_empty() { Value::Null } else { json!(indexes) },
        "ttl": table.ttl.map_or(Value::Null, |it| json!({ "AttributeName": it, "Enabled": true })),
        "billing": "PAY_PER_REQUEST",
        "recovery": true,
        "encryption": true,
        "protection": { "Ref": "DeletionProtection" },
    })
}

fn key_schema(hash: Key, range: Option<Key>) -> Value {
    let mut keys = vec![json!({ "AttributeName": hash.name, "KeyType": "HASH" })];
    keys.extend(range.map(|it| json!({ "AttributeName": it.name, "KeyType": "RANGE" })));
    json!(keys)
}
