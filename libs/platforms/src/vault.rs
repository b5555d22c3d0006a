//! Secrets that this service has obtained or made by itself: apps that it has
//! registered at servers, and keys of its own.

use async_trait::async_trait;
use secrecy::SecretString;

use crate::dependency_error::DependencyError;

/// Keeps secrets that no operator brings: an app that was registered at a
/// server a user named, a key of our own. One vault serves all processes of a
/// deployment.
#[async_trait]
pub trait Vault: Send + Sync {
    /// What is kept under a name.
    async fn find(&self, name: &str) -> Result<Option<VaultSecret>, DependencyError>;

    /// Keeps a value under a name that is free, or in place of `over`, which was
    /// found there. It is a conditional write: where another process was faster,
    /// nothing is changed. Returns what is kept now in either case.
    async fn keep(
        &self,
        name: &str,
        value: SecretString,
        over: Option<&VaultSecret>,
        keeping: Retention,
    ) -> Result<VaultSecret, DependencyError>;
}

/// How long something is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// For ever: what cannot be made again.
    Always,
    /// Until nobody has found it for some months: what is made again when it is
    /// missed.
    WhileUsed,
}

/// What is kept under a name. Printing it shows nothing of the secret.
#[derive(Clone, Debug)]
pub struct VaultSecret {
    /// The secret, in its adapter's own form.
    pub value: SecretString,
    /// Grows with every change.
    pub revision: u64,
}

/// A vault in memory, which lasts as long as the process: for tests, and where no
/// adapter uses the vault.
#[derive(Debug, Default)]
pub struct MemoryVault(std::sync::Mutex<std::collections::BTreeMap<String, VaultSecret>>);

#[async_trait]
impl Vault for MemoryVault {
    async fn find(&self, name: &str) -> Result<Option<VaultSecret>, DependencyError> {
        Ok(self.0.lock().map_err(|_| DependencyError)?.get(name).cloned())
    }

    async fn keep(
        &self,
        name: &str,
        value: SecretString,
        over: Option<&VaultSecret>,
        _: Retention,
    ) -> Result<VaultSecret, DependencyError> {
        let mut kept = self.0.lock().map_err(|_| DependencyError)?;
        let standing = kept.get(name).map(|it| it.revision);
        if standing == over.map(|it| it.revision) {
            kept.insert(name.to_owned(), VaultSecret { value, revision: standing.unwrap_or(0) + 1 });
        }
        kept.get(name).cloned().ok_or(DependencyError)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[tokio::test]
    async fn of_two_that_keep_the_first_wins_and_both_know() {
        let vault = MemoryVault::default();
        let one = vault.keep("key", "one".into(), None, Retention::Always).await.unwrap();
        let two = vault.keep("key", "two".into(), None, Retention::Always).await.unwrap();
        assert_eq!((one.value.expose_secret(), two.value.expose_secret()), ("one", "one"));

        let three = vault.keep("key", "three".into(), Some(&one), Retention::Always).await.unwrap();
        assert_eq!(three.value.expose_secret(), "three");
        let four = vault.keep("key", "four".into(), Some(&one), Retention::Always).await.unwrap();
        assert_eq!(four.value.expose_secret(), "three");
    }
}
