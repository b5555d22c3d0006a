//! The state together with its journal: a fact is recorded before it is applied.

use std::io;
use std::path::Path;

use super::SandboxError;
use super::fact::Fact;
use super::journal::Journal;
use super::sandbox_state::SandboxState;

pub(super) struct Ledger {
    world: SandboxState,
    journal: Option<Journal>,
}

impl Ledger {
    /// An empty state without a journal.
    pub(super) fn in_memory() -> Self {
        Self { world: SandboxState::default(), journal: None }
    }

    /// Reads the state from the journal at `path`.
    pub(super) fn open(path: &Path) -> Result<Self, SandboxError> {
        let mut state = SandboxState::default();
        let journal = Journal::open(path, |fact| state.apply(fact))?;
        Ok(Self { world: state, journal: Some(journal) })
    }

    pub(super) fn state(&self) -> &SandboxState {
        &self.world
    }

    /// Records the fact, then applies it.
    pub(super) fn record(&mut self, fact: Fact) -> io::Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(&fact)?;
        }
        self.world.apply(fact);
        Ok(())
    }
}
