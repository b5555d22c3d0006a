//! Counts units per second.

use super::{Ms, Tables};

/// The cost of a call in one table or index.
#[derive(Clone, Debug)]
pub(super) struct Charge {
    pub(super) place: usize,
    pub(super) read_units: f64,
    pub(super) write_units: f64,
}

impl Charge {
    pub(super) fn times(&self, times: f64) -> Self {
        Self { place: self.place, read_units: self.read_units * times, write_units: self.write_units * times }
    }
}

/// Units of one partition, or of a whole table or index, in one second.
#[derive(Clone, Default)]
pub(super) struct Meter {
    second: Ms,
    read: f64,
    written: f64,
    /// Includes throttled requests, but not their retries.
    asked_to_read: f64,
    asked_to_write: f64,
}

impl Meter {
    /// The counts of this second, initially zero.
    pub(super) fn at(&mut self, second: Ms) -> &mut Self {
        if self.second != second {
            *self = Self { second, ..Self::default() };
        }
        self
    }

    pub(super) fn has_room(&self, charge: &Charge, tables: Tables) -> bool {
        self.read + charge.read_units <= tables.read_units && self.written + charge.write_units <= tables.write_units
    }

    /// Counts the units of a request. Returns the load relative to the limit, for reads or writes,
    /// whichever is higher.
    pub(super) fn ask(&mut self, charge: &Charge, limits: Tables) -> f64 {
        self.asked_to_read += charge.read_units;
        self.asked_to_write += charge.write_units;
        (self.asked_to_read / limits.read_units).max(self.asked_to_write / limits.write_units)
    }

    pub(super) fn grant(&mut self, charge: &Charge) {
        self.read += charge.read_units;
        self.written += charge.write_units;
    }
}
