//! Faults that were ordered: what the next publish calls are to suffer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::accounts::Account;

/// How many orders may stand at once.
const MAX_ARMED: usize = 100;
/// How many calls one order may cover.
const MAX_COUNT: u32 = 10_000;
/// The longest delay, in milliseconds.
const MAX_DELAY_MS: u64 = 60_000;

/// What happens to a publish call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// Done, but only after the delay, even when the client has gone by then.
    Slow,
    /// The content is refused.
    Refuse,
    /// The client is told to wait.
    RateLimit,
    /// An error of the server, and nothing was done.
    ErrorBefore,
    /// Done, and the connection is cut without an answer.
    LoseAnswer,
    /// The grant ends.
    Revoke,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Slow, Self::Refuse, Self::RateLimit, Self::ErrorBefore, Self::LoseAnswer, Self::Revoke];

    /// The name in JSON and in the form.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Refuse => "refuse",
            Self::RateLimit => "rate_limit",
            Self::ErrorBefore => "error_before",
            Self::LoseAnswer => "lose_answer",
            Self::Revoke => "revoke",
        }
    }

    /// What it does, in words for the page.
    pub(super) fn effect(self) -> &'static str {
        match self {
            Self::Slow => "publishes only after the delay",
            Self::Refuse => "refuses the content",
            Self::RateLimit => "asks to wait (for the delay, or 2 seconds)",
            Self::ErrorBefore => "answers with an error and publishes nothing",
            Self::LoseAnswer => "publishes, then cuts the connection without an answer",
            Self::Revoke => "ends the grant; the account has to be connected again",
        }
    }
}

/// An order: the next `count` publish calls of an account, or of any.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    #[serde(default)]
    pub(super) account: Option<Account>,
    pub(super) kind: Kind,
    #[serde(default = "once")]
    pub(super) count: u32,
    #[serde(default)]
    pub(super) delay_ms: u64,
}

fn once() -> u32 {
    1
}

/// Why an order is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidOrder {
    #[error("count must be from 1 to {MAX_COUNT}")]
    Count,
    #[error("delay_ms must be from 0 to {MAX_DELAY_MS}")]
    Delay,
    #[error("{MAX_ARMED} faults are armed already; clear them first")]
    TooMany,
}

/// A fault that strikes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strike {
    pub(super) kind: Kind,
    pub(super) delay: Duration,
}

/// The orders that stand, in the order in which they came. They end with the
/// process.
#[derive(Default)]
pub(super) struct Faults(Vec<Order>);

impl Faults {
    pub(super) fn arm(&mut self, order: Order) -> Result<(), InvalidOrder> {
        if !(1..=MAX_COUNT).contains(&order.count) {
            return Err(InvalidOrder::Count);
        }
        if MAX_DELAY_MS < order.delay_ms {
            return Err(InvalidOrder::Delay);
        }
        if MAX_ARMED <= self.0.len() {
            return Err(InvalidOrder::TooMany);
        }
        self.0.push(order);
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What is armed, the oldest first.
    pub(super) fn armed(&self) -> &[Order] {
        &self.0
    }

    /// The fault for a publish call of this account; it is used up by this.
    pub(super) fn take(&mut self, account: Account) -> Option<Strike> {
        let at = self.0.iter().position(|it| it.account.is_none_or(|only| only == account))?;
        let order = &mut self.0[at];
        let strike = Strike { kind: order.kind, delay: Duration::from_millis(order.delay_ms) };
        order.count -= 1;
        if order.count == 0 {
            self.0.remove(at);
        }
        Some(strike)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(account: Option<&str>, kind: Kind, count: u32) -> Order {
        Order { account: account.map(|it| Account::find(it).unwrap()), kind, count, delay_ms: 0 }
    }

    fn kinds(faults: &mut Faults, account: &str, calls: usize) -> Vec<Option<Kind>> {
        let account = Account::find(account).unwrap();
        (0..calls).map(|_| faults.take(account).map(|it| it.kind)).collect()
    }

    #[test]
    fn an_order_strikes_as_often_as_it_says() {
        let mut faults = Faults::default();
        faults.arm(order(None, Kind::Refuse, 2)).unwrap();
        faults.arm(order(None, Kind::Slow, 1)).unwrap();

        let struck = kinds(&mut faults, "meadow", 4);

        assert_eq!(struck, [Some(Kind::Refuse), Some(Kind::Refuse), Some(Kind::Slow), None]);
    }

    #[test]
    fn an_order_for_one_account_leaves_the_others_alone() {
        let mut faults = Faults::default();
        faults.arm(order(Some("meadow"), Kind::Revoke, 1)).unwrap();

        assert_eq!(kinds(&mut faults, "harbour", 1), [None]);
        assert_eq!(kinds(&mut faults, "meadow", 1), [Some(Kind::Revoke)]);
    }

    #[test]
    fn orders_are_bounded() {
        let mut faults = Faults::default();
        assert_eq!(faults.arm(order(None, Kind::Slow, 0)), Err(InvalidOrder::Count));
        assert_eq!(faults.arm(order(None, Kind::Slow, 10_001)), Err(InvalidOrder::Count));
        let long = Order { delay_ms: 60_001, ..order(None, Kind::Slow, 1) };
        assert_eq!(faults.arm(long), Err(InvalidOrder::Delay));
        for _ in 0..100 {
            faults.arm(order(None, Kind::Slow, 1)).unwrap();
        }
        assert_eq!(faults.arm(order(None, Kind::Slow, 1)), Err(InvalidOrder::TooMany));
    }

    #[test]
    fn a_kind_is_named_as_in_json() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
