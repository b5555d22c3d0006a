use crate::{ensure, error::Result, promises::Broken};

#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Starts of the service on what a power cut or a fault left.
    pub(super) starts: usize,
    /// Successful responses to writes.
    pub(super) acknowledged: usize,
    pub(super) broken: Broken,
    /// The check proves that a loss is found.
    pub(super) is_loss_expected: bool,
}

impl Measured {
    pub(super) fn verdict(&self) -> Result {
        if !self.is_loss_expected {
            return self.broken.check();
        }
        ensure!(!self.broken.lost.is_empty(), "no loss was found, so the check of power cuts proves nothing");
        Ok(())
    }
}
