//! Waiting for a transaction that has an item which is to be written.
//!
//! `DynamoDB` refuses such a write, and the SDK does not try it again by itself:
//! the transaction is over in milliseconds.

use domain::backoff;

/// How often a write is tried at most. The waits in between are a second
/// together, two at most.
pub(crate) const TRIES: u32 = 10;

/// The tries of one write.
#[derive(Default)]
pub(crate) struct Patience {
    tries: u32,
}

impl Patience {
    /// Waits after a try that met a transaction. Returns `false`, at once, when
    /// it was the last.
    pub(crate) async fn wait(&mut self) -> bool {
        self.tries += 1;
        if TRIES <= self.tries {
            return false;
        }
        tokio::time::sleep(backoff::wait(self.tries - 1).to_std().unwrap_or_default()).await;
        true
    }
}
