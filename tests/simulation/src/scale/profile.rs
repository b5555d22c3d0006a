//! The cost of a delivery's steps in the store.

/// The key that determines the partition of a table or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionBy {
    /// The user of the post.
    User,
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

/// The cost of a delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Deliver {
    /// Reading the delivery's inputs, before its second.
    pub read: Vec<Operation>,
    /// Writing the intent, in the due second, directly before the publish call.
    pub intend: Vec<Operation>,
    /// Writing the outcome of the call, and the record of the attempt.
    pub settle: Vec<Operation>,
}

impl Deliver {
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.read.iter().chain(&self.intend).chain(&self.settle)
    }
}

/// The cost of each step in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Read units of one entry of the due index. The units of a page are rounded up to half a unit.
    pub plan_read_units: f64,
    /// Moving one overdue entry of the due index. Not part of the figures; a test bounds it.
    pub move_on: Vec<Operation>,
    pub deliver: Deliver,
    /// Acquiring or releasing a permit of the user. Not part of the figures; a test bounds it.
    pub permit: Vec<Operation>,
    /// Rolling up a post.
    pub roll_up: Vec<Operation>,
}
