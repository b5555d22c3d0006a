//! The world together with its journal: a fact is written down before it becomes
//! true.

use std::io;
use std::path::Path;

use super::SandboxError;
use super::fact::Fact;
use super::journal::Journal;
use super::world::SandboxState;

/// Keeps the world and its journal in step.
pub(super) struct Ledger {
    world: SandboxState,
    journal: Option<Journal>,
}

impl Ledger {
    /// A world that is forgotten at the end.
    pub(super) fn in_memory() -> Self {
        Self { world: SandboxState::default(), journal: None }
    }

    /// The world that the journal at `path` tells of.
    pub(super) fn open(path: &Path) -> Result<Self, SandboxError> {
        let mut world = SandboxState::default();
        let journal = Journal::open(path, |fact| world.apply(fact))?;
        Ok(Self { world, journal: Some(journal) })
    }

    /// What is true now.
    pub(super) fn world(&self) -> &SandboxState {
        &self.world
    }

    /// Writes the fact down, then makes it true.
    pub(super) fn record(&mut self, fact: Fact) -> io::Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(&fact)?;
        }
        self.world.apply(fact);
        Ok(())
    }
}
