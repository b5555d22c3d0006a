//! The cost of a delivery's steps in the store.

/// The key that determines the partition of a table or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionBy {
    /// The user of the post.
    User,
    /// The connection of the target.
    Connection,
    /// The shard of the due index.
    DueShard,
}

/// The cost of a call in one table or one index.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The table, or `table/index`.
    pub place: String,
    /// The key that determines the partition.
    pub by: PartitionBy,
    pub read_units: f64,
    pub write_units: f64,
}

impl Operation {
    /// An operation that reads this many units.
    pub fn read(resource: &str, by: PartitionBy, units: f64) -> Self {
        Self { place: resource.to_owned(), by, read_units: units, write_units: 0.0 }
    }

    /// An operation that writes this many units.
    pub fn write(resource: &str, by: PartitionBy, units: f64) -> Self {
        Self { place: resource.to_owned(), by, read_units: 0.0, write_units: units }
    }
}

/// The cost of a delivery. The operations of one step are one call: when one of them is throttled,
/// all are. A throttled index also throttles writes to its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Deliver {
    /// Reading the delivery's inputs, before its second.
    pub read: Vec<Operation>,
    /// Writing the intent, in the due second, directly before the publish call.
    pub intend: Vec<Operation>,
    /// Writing the outcome of the call, and the record of the attempt.
    pub settle: Vec<Operation>,
}

/// The cost of each step in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Reading one entry of the due index. The units of a page are rounded up to half a unit.
    pub plan: Vec<Operation>,
    /// Moving one overdue entry of the due index.
    pub move_on: Vec<Operation>,
    pub deliver: Deliver,
    /// Acquiring or releasing a permit of the user.
    pub place: Vec<Operation>,
    /// Rolling up a post.
    pub roll_up: Vec<Operation>,
}

impl Profile {
    /// Costs that follow from the tables' layout, for use where the real costs were not measured.
    pub fn assumed() -> Self {
        use PartitionBy::{DueShard, User};
        let due = "deliveries/due";
        Self {
            // 130 bytes per entry, and an eventually consistent query reads 4
            // KiB for half a unit.
            plan: vec![Operation::read(due, DueShard, 130.0 / 4_096.0 / 2.0)],
            // An index entry with a new key takes two writes: the old entry is
            // removed, and a new one is written.
            move_on: vec![Operation::write("deliveries", User, 1.0), Operation::write(due, DueShard, 2.0)],
            deliver: Deliver {
                read: vec![
                    Operation::read("deliveries", User, 1.0),
                    Operation::read("posts", User, 1.0),
                    Operation::read("connections", User, 1.0),
                    Operation::read("limits", User, 1.0),
                ],
                intend: vec![Operation::write("deliveries", User, 1.0)],
                settle: vec![
                    Operation::write("deliveries", User, 1.0),
                    Operation::write(due, DueShard, 1.0),
                    Operation::write("attempts", User, 1.0),
                ],
            },
            place: vec![Operation::write("limits", User, 1.0)],
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
