//! The names that tables and attributes have in a run.

use std::collections::HashMap;

use dynoxide::types::AttributeValue;
use storage::{Table, TableSchema};

/// The prefix of the tables' names.
pub(crate) const PREFIX: &str = "sim";

/// Attributes by name, as the database has them.
pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// The description of a table.
pub(crate) fn schema(table: Table) -> TableSchema {
    Table::ALL.into_iter().find(|it| it.table == table).expect("every table is described")
}
