//! The troubles that a test has ordered, and how many calls came.

use std::collections::{HashMap, VecDeque};

use platforms::conformance::network::{Call, Trouble};

/// Which calls are to fail and how, and how many calls of each kind arrived.
#[derive(Default)]
pub(in crate::bluesky) struct Troubles {
    expected: HashMap<Call, VecDeque<Trouble>>,
    arrived: HashMap<Call, usize>,
}

impl Troubles {
    pub(in crate::bluesky) fn expect(&mut self, call: Call, trouble: Trouble, count: usize) {
        self.expected.insert(call, std::iter::repeat_n(trouble, count).collect());
    }

    pub(in crate::bluesky) fn arrived(&self, call: Call) -> usize {
        self.arrived.get(&call).copied().unwrap_or_default()
    }

    /// Counts a call. Returns how it is to fail, if it is.
    pub(in crate::bluesky) fn meet(&mut self, call: Call) -> Option<Trouble> {
        *self.arrived.entry(call).or_default() += 1;
        self.expected.get_mut(&call)?.pop_front()
    }
}
