//! The store: partitions with a limit of units per second.

use std::collections::BTreeMap;

use super::limits::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};
use super::meter::{Charge, Meter};
use super::{Ms, Operation, PartitionBy, Partitions, PeakPartition, Setting, Tables};

/// The keys that determine the partitions of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) user: u32,
    pub(super) connection: u32,
    pub(super) shard: u32,
}

/// The cost of a call in each table and index.
pub(super) type Call = Vec<Charge>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Done,
    Throttled,
}

struct Resource {
    name: String,
    by: PartitionBy,
    whole: Meter,
    partitions: Vec<Meter>,
    throttled: u32,
}

impl Resource {
    fn partition(&self, keys: &Keys, partitions: Partitions) -> usize {
        let key = match self.by {
            PartitionBy::User => keys.user,
            PartitionBy::Connection => keys.connection,
            PartitionBy::DueShard => keys.shard,
        } as usize;
        match partitions {
            Partitions::OnePerKey => key,
            Partitions::Shared => scattered(key) % self.partitions.len(),
        }
    }
}

/// The hash of a key; any function that scatters keys is suitable.
fn scattered(key: usize) -> usize {
    let mixed = key.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// The tables and indexes.
pub(super) struct Store {
    tables: Tables,
    places: Vec<Resource>,
    keys: [usize; 3],
    hottest_partition: PeakPartition,
    hottest_table: PeakPartition,
}

impl Store {
    pub(super) fn new(setting: &Setting) -> Self {
        let users = setting.users as usize;
        Self {
            tables: setting.tables,
            places: Vec::new(),
            keys: [users, users * 2, setting.due_shards as usize],
            hottest_partition: PeakPartition::default(),
            hottest_table: PeakPartition::default(),
        }
    }

    pub(super) fn call(&mut self, operations: &[Operation]) -> Call {
        let charge = |it: &Operation| Charge {
            place: self.place(&it.place, it.by),
            read_units: it.read_units,
            write_units: it.write_units,
        };
        operations.iter().map(charge).collect()
    }

    fn place(&mut self, name: &str, by: PartitionBy) -> usize {
        if let Some(found) = self.places.iter().position(|it| it.name == name && it.by == by) {
            return found;
        }
        let keys = match by {
            PartitionBy::User => self.keys[0],
            PartitionBy::Connection => self.keys[1],
            PartitionBy::DueShard => self.keys[2],
        };
        let count = match self.tables.partitions {
            Partitions::OnePerKey => keys,
            Partitions::Shared => self.tables.partition_count(),
        };
        let partitions = vec![Meter::default(); count];
        self.places.push(Resource { name: name.to_owned(), by, whole: Meter::default(), partitions, throttled: 0 });
        self.places.len() - 1
    }

    /// Makes a call that costs `times` as much as `call`. `repeated` marks the retry of a throttled
    /// call.
    pub(super) fn make(&mut self, call: &Call, times: f64, keys: &Keys, now: Ms, repeated: bool) -> CallOutcome {
        let second = now.div_euclid(1_000);
        let limits = Tables {
            read_units: PARTITION_READ_UNITS,
            write_units: PARTITION_WRITE_UNITS,
            partitions: self.tables.partitions,
        };
        let mut response = CallOutcome::Done;
        for charge in call {
            let charge = charge.times(times);
            let resource = &mut self.places[charge.place];
            let partition = resource.partition(keys, self.tables.partitions);
            let meter = resource.partitions[partition].at(second);
            let whole = resource.whole.at(second);
            if !repeated {
                let share = meter.ask(&charge, limits);
                self.hottest_partition.heat(share, second, || format!("{} {partition}", resource.name));
                let share = whole.ask(&charge, self.tables);
                self.hottest_table.heat(share, second, || resource.name.clone());
            }
            if response == CallOutcome::Done
                && !(meter.has_room(&charge, limits) && whole.has_room(&charge, self.tables))
            {
                resource.throttled += 1;
                response = CallOutcome::Throttled;
            }
        }
        if response == CallOutcome::Done {
            for charge in call {
                let charge = charge.times(times);
                let resource = &mut self.places[charge.place];
                let partition = resource.partition(keys, self.tables.partitions);
                resource.partitions[partition].grant(&charge);
                resource.whole.grant(&charge);
            }
        }
        response
    }

    /// The partition and the table with the highest load since the previous call.
    pub(super) fn take_hottest(&mut self) -> (PeakPartition, PeakPartition) {
        (std::mem::take(&mut self.hottest_partition), std::mem::take(&mut self.hottest_table))
    }

    /// Throttled calls so far, by table or index.
    pub(super) fn throttled(&self) -> BTreeMap<String, u32> {
        self.places.iter().filter(|it| 0 < it.throttled).map(|it| (it.name.clone(), it.throttled)).collect()
    }
}

/// Read and write units of a call.
pub(super) fn units(call: &Call) -> (f64, f64) {
    call.iter().fold((0.0, 0.0), |(read, write), it| (read + it.read_units, write + it.write_units))
}

impl Tables {
    /// Number of partitions that this throughput needs.
    fn partition_count(self) -> usize {
        let needed = (self.write_units / PARTITION_WRITE_UNITS).max(self.read_units / PARTITION_READ_UNITS);
        (1..u16::MAX).find(|it| needed <= f64::from(*it)).unwrap_or(u16::MAX).into()
    }
}
