use std::collections::HashMap;

use dynoxide::types::AttributeValue;
use storage::{Table, TableSchema};

pub(crate) const PREFIX: &str = "sim";

pub(crate) type Attributes = HashMap<String, AttributeValue>;

pub(crate) fn schema(table: Table) -> TableSchema {
    Table::ALL.into_iter().find(|it| it.table == table).expect("every table is described")
}
