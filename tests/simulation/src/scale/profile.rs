#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionBy {
    User,
    DueShard,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The table, or `table/index`.
    pub place: String,
    pub by: PartitionBy,
    pub read_units: f64,
    pub write_units: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Deliver {
    /// Before the second of the delivery.
    pub read: Vec<Operation>,
    /// In the due second, directly before the publish call.
    pub intend: Vec<Operation>,
    /// With the record of the attempt.
    pub settle: Vec<Operation>,
}

impl Deliver {
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.read.iter().chain(&self.intend).chain(&self.settle)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Read units of one entry of the due index. The units of a page are rounded up to half a unit.
    pub plan_read_units: f64,
    /// Moving one overdue entry of the due index. Not part of the figures; a test bounds it.
    pub move_on: Vec<Operation>,
    pub deliver: Deliver,
    /// Acquiring or releasing a permit of the user. Not part of the figures; a test bounds it.
    pub permit: Vec<Operation>,
    pub roll_up: Vec<Operation>,
}
