//! The names of tables and attributes in a run.

use std::collections::HashMap;

use dynoxide::types::AttributeValue;
use storage::{Table, TableSchema};

pub(crate) const PREFIX: &str = "sim";

/// Attributes by name, as the database stores them.
pub(crate) type Attributes = HashMap<String, AttributeValue>;

pub(crate) fn schema(table: Table) -> TableSchema {
    Table::ALL.into_iter().find(|it| it.table == table).expect("every table is described")
}
