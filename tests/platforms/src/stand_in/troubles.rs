//! The troubles that a test has ordered.

use std::collections::BTreeMap;

use platforms::conformance::network::{Call, Trouble};

/// Which calls fail next and how, and how many calls of each kind arrived.
#[derive(Debug, Default)]
pub struct Troubles {
    next: BTreeMap<Call, (Trouble, usize)>,
    calls: BTreeMap<Call, usize>,
    translates: bool,
}

impl Troubles {
    /// Makes the next calls of this kind fail, in place of what was ordered before.
    pub fn order(&mut self, call: Call, trouble: Trouble, count: usize) {
        self.next.insert(call, (trouble, count));
    }

    /// From now on the messages of refusals are in another language.
    pub fn translate(&mut self) {
        self.translates = true;
    }

    /// The JSON pointers whose messages are in another language: all of these, or none.
    pub fn translated(&self, words: &'static [&'static str]) -> &'static [&'static str] {
        if self.translates { words } else { &[] }
    }

    /// How many calls of this kind arrived.
    pub fn calls(&self, call: Call) -> usize {
        self.calls.get(&call).copied().unwrap_or_default()
    }

    /// Counts a call. Returns how it is to fail, if it is.
    pub fn meet(&mut self, call: Call) -> Option<Trouble> {
        *self.calls.entry(call).or_default() += 1;
        let (trouble, count) = self.next.get_mut(&call).filter(|(_, count)| *count != 0)?;
        *count -= 1;
        Some(*trouble)
    }
}
