//! Armed faults: how the next calls fail.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::accounts::Account;
use super::fault_kind::FaultKind;
use super::operation::Operation;

const MAX_ARMED: usize = 100;
/// Calls of one order.
const MAX_COUNT: u32 = 10_000;
const MAX_DELAY_MS: u64 = 60_000;
const MAX_FILE: u32 = 100;

/// A fault for the next `count` calls of one account, or of any account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    /// Assigned when the order is armed; identifies the order to switch off.
    #[serde(skip_deserializing)]
    pub(super) id: u64,
    #[serde(default)]
    pub(super) account: Option<Account>,
    pub(super) kind: FaultKind,
    /// `None`: all calls until the order is switched off.
    #[serde(default = "once")]
    pub(super) count: Option<u32>,
    #[serde(default)]
    pub(super) delay_ms: u64,
    /// For faults of files: the first affected file, counted from now. Each earlier file decrements
    /// the number, down to 1.
    #[serde(default = "first")]
    pub(super) file: u32,
}

#[expect(clippy::unnecessary_wraps, reason = "the default of a field that may be null")]
fn once() -> Option<u32> {
    Some(1)
}

fn first() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidFault {
    #[error(
        "the number of calls must be from 1 to {MAX_COUNT}, or empty for all calls until the fault is switched off"
    )]
    Count,
    #[error("the delay must be from 0 to {MAX_DELAY_MS} ms")]
    Delay,
    #[error("the first file must be from 1 to {MAX_FILE}; for faults that are not about files, it must be 1")]
    File,
    #[error("{MAX_ARMED} faults are already armed; switch some off first")]
    TooMany,
}

#[derive(Clone, Copy)]
pub(super) struct ArmedFault {
    pub(super) kind: FaultKind,
    pub(super) delay: Duration,
}

impl ArmedFault {
    /// Whole seconds, for `Retry-After`; 2 without a delay.
    pub(super) fn wait_seconds(self) -> u64 {
        let asked = u64::try_from(self.delay.as_millis().div_ceil(1000)).unwrap_or(60);
        if asked == 0 { 2 } else { asked }
    }
}

/// Oldest first. They end with the process.
#[derive(Default)]
pub(super) struct ArmedFaults {
    armed: Vec<Order>,
    last_id: u64,
}

impl ArmedFaults {
    pub(super) fn arm(&mut self, order: Order) -> Result<(), InvalidFault> {
        if order.count.is_some_and(|it| !(1..=MAX_COUNT).contains(&it)) {
            return Err(InvalidFault::Count);
        }
        if MAX_DELAY_MS < order.delay_ms {
            return Err(InvalidFault::Delay);
        }
        let last_file = if order.kind.is_for_files() { MAX_FILE } else { 1 };
        if !(1..=last_file).contains(&order.file) {
            return Err(InvalidFault::File);
        }
        if MAX_ARMED <= self.armed.len() {
            return Err(InvalidFault::TooMany);
        }
        self.last_id += 1;
        self.armed.push(Order { id: self.last_id, ..order });
        Ok(())
    }

    pub(super) fn clear(&mut self, account: Option<Account>) {
        self.armed.retain(|it| account.is_some() && it.account != account);
    }

    pub(super) fn switch_off(&mut self, id: u64) {
        self.armed.retain(|it| it.id != id);
    }

    /// Oldest first.
    pub(super) fn armed(&self) -> &[Order] {
        &self.armed
    }

    /// The call counts towards the order's `count`.
    pub(super) fn take(&mut self, operation: Operation, account: Account) -> Option<ArmedFault> {
        for at in 0..self.armed.len() {
            let order = &mut self.armed[at];
            if !order.kind.affects(operation) || order.account.is_some_and(|only| only != account) {
                continue;
            }
            if 1 < order.file {
                order.file -= 1;
                continue;
            }
            let fault = ArmedFault { kind: order.kind, delay: Duration::from_millis(order.delay_ms) };
            order.count = order.count.map(|it| it - 1);
            if order.count == Some(0) {
                self.armed.remove(at);
            }
            return Some(fault);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(account: Option<&str>, kind: &str, count: u32) -> Order {
        let (account, kind) = (account.map(|it| Account::find(it).unwrap()), FaultKind::find(kind).unwrap());
        Order { id: 0, account, kind, count: Some(count), delay_ms: 0, file: 1 }
    }

    fn taken(faults: &mut ArmedFaults, operation: Operation, account: &str, calls: usize) -> Vec<Option<&'static str>> {
        let account = Account::find(account).unwrap();
        (0..calls).map(|_| faults.take(operation, account).map(|it| it.kind.name)).collect()
    }

    #[test]
    fn fault_applies_to_its_account_operation_and_count() {
        let mut faults = ArmedFaults::default();
        faults.arm(order(Some("meadow"), "refuse", 2)).unwrap();
        faults.arm(Order { file: 3, ..order(None, "media_error", 1) }).unwrap();

        assert_eq!(taken(&mut faults, Operation::Publish, "harbour", 1), [None]);
        assert_eq!(taken(&mut faults, Operation::LookUp, "meadow", 1), [None]);
        assert_eq!(taken(&mut faults, Operation::Publish, "meadow", 3), [Some("refuse"), Some("refuse"), None]);
        assert_eq!(taken(&mut faults, Operation::Upload, "meadow", 4), [None, None, Some("media_error"), None]);
    }

    #[test]
    fn armed_faults_are_limited() {
        let mut faults = ArmedFaults::default();
        assert_eq!(faults.arm(order(None, "slow", 0)), Err(InvalidFault::Count));
        assert_eq!(faults.arm(order(None, "slow", 10_001)), Err(InvalidFault::Count));
        let long = Order { delay_ms: 60_001, ..order(None, "slow", 1) };
        assert_eq!(faults.arm(long), Err(InvalidFault::Delay));
        for (kind, file) in [("media_slow", 0), ("media_slow", 101), ("slow", 2)] {
            assert_eq!(faults.arm(Order { file, ..order(None, kind, 1) }), Err(InvalidFault::File));
        }
        for _ in 0..100 {
            faults.arm(order(None, "slow", 1)).unwrap();
        }
        assert_eq!(faults.arm(order(None, "slow", 1)), Err(InvalidFault::TooMany));
    }
}
