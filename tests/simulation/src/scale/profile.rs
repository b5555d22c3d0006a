//! What the steps of a delivery cost in the store.

/// What the partitions of a table or an index are chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionBy {
    /// Whose post it is.
    User,
    /// The account it goes out by.
    Connection,
    /// Its shard of the due index.
    DueShard,
}

/// What a call costs in one table or one index.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The table, or table/index.
    pub place: String,
    /// What its partitions are chosen by.
    pub by: PartitionBy,
    /// Read units.
    pub read_units: f64,
    /// Write units.
    pub write_units: f64,
}

impl Operation {
    /// Reads this many units.
    pub fn read(place: &str, by: PartitionBy, units: f64) -> Self {
        Self { place: place.to_owned(), by, read_units: units, write_units: 0.0 }
    }

    /// Writes this many units.
    pub fn write(place: &str, by: PartitionBy, units: f64) -> Self {
        Self { place: place.to_owned(), by, read_units: 0.0, write_units: units }
    }
}

/// What a delivery costs. The operations of one step are one call: when one
/// of them is throttled all are, which is what a throttled index does to the
/// writes of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Deliver {
    /// What it has to know; before its second.
    pub read: Vec<Operation>,
    /// The intent; in its second, directly before the public call.
    pub intend: Vec<Operation>,
    /// How the call ended.
    pub settle: Vec<Operation>,
}

/// What everything costs in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Reading one entry of the due index. A page is rounded up to half a unit.
    pub plan: Vec<Operation>,
    /// Moving one entry of the due index that is overdue.
    pub move_on: Vec<Operation>,
    /// A delivery.
    pub deliver: Deliver,
    /// Telling a post how it ended.
    pub roll_up: Vec<Operation>,
}

impl Profile {
    /// As the tables are laid out; to be replaced by what the code is measured
    /// to use.
    pub fn assumed() -> Self {
        use PartitionBy::{DueShard, User};
        let due = "deliveries/due";
        Self {
            // 130 bytes of an eventually consistent query: half a unit buys 4 KiB.
            plan: vec![Operation::read(due, DueShard, 130.0 / 4_096.0 / 2.0)],
            // A new key in an index: the old entry is removed, a new one written.
            move_on: vec![Operation::write("deliveries", User, 1.0), Operation::write(due, DueShard, 2.0)],
            deliver: Deliver {
                read: vec![
                    Operation::read("deliveries", User, 1.0),
                    Operation::read("posts", User, 1.0),
                    Operation::read("connections", User, 1.0),
                ],
                intend: vec![Operation::write("deliveries", User, 1.0)],
                settle: vec![Operation::write("deliveries", User, 1.0), Operation::write(due, DueShard, 1.0)],
            },
            roll_up: vec![
                Operation::read("posts", User, 1.0),
                Operation::read("deliveries", User, 1.0),
                Operation::write("posts", User, 4.0),
                Operation::write("posts/by_status", User, 2.0),
                Operation::write("posts/by_status_and_time", User, 2.0),
                Operation::write("connections", User, 1.0),
                Operation::write("deliveries", User, 2.0),
                Operation::write(due, DueShard, 1.0),
            ],
        }
    }
}
