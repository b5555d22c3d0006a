//! The cost of requests in each table and index, as the database reports it.

use serde_json::Value;

use super::request::Request;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Charge {
    /// The table, or table/index, without the deployment's prefix.
    pub(crate) place: String,
    pub(crate) read_units: f64,
    pub(crate) write_units: f64,
}

pub(crate) fn ask(request: &mut Request) {
    let wanted = Some("INDEXES".to_owned());
    match request {
        Request::Get(it) => it.return_consumed_capacity = wanted,
        Request::BatchGet(it) => it.return_consumed_capacity = wanted,
        Request::Query(it) => it.return_consumed_capacity = wanted,
        Request::Put(it) => it.return_consumed_capacity = wanted,
        Request::Update(it) => it.return_consumed_capacity = wanted,
        Request::Delete(it) => it.return_consumed_capacity = wanted,
        Request::Transact(it) => it.return_consumed_capacity = wanted,
    }
}

pub(crate) fn charges(response: &str, writes: bool, prefix: &str) -> Vec<Charge> {
    let response: Value = serde_json::from_str(response).expect("an answer in JSON");
    let tables = match &response["ConsumedCapacity"] {
        Value::Array(tables) => tables.clone(),
        Value::Null => Vec::new(),
        table => vec![table.clone()],
    };
    let mut charges = Vec::new();
    let mut charge = |place: String, units: &Value| {
        let units = units["CapacityUnits"].as_f64().unwrap_or(0.0);
        let (read_units, write_units) = if writes { (0.0, units) } else { (units, 0.0) };
        if 0.0 < units {
            charges.push(Charge { place, read_units, write_units });
        }
    };
    for table in &tables {
        let name = table["TableName"].as_str().unwrap_or_default();
        let name = name.strip_prefix(prefix).unwrap_or(name).trim_start_matches('-');
        charge(name.to_owned(), &table["Table"]);
        for (index, units) in table["GlobalSecondaryIndexes"].as_object().into_iter().flatten() {
            charge(format!("{name}/{index}"), units);
        }
    }
    charges
}
