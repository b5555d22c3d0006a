//! The vault: secrets that the deployment obtained or made itself, such as apps that it registered
//! at servers, and its own keys.

use async_trait::async_trait;
use secrecy::SecretString;

use crate::dependency_error::DependencyError;

/// Stores secrets that no operator provides. All processes of a deployment share one vault.
#[async_trait]
pub trait Vault: Send + Sync {
    async fn find(&self, name: &str) -> Result<Option<VaultSecret>, DependencyError>;

    /// Stores a value under a free name, or in place of `over`, which was found there. A
    /// conditional write: if another process was faster, nothing changes. Returns what is stored
    /// now in either case.
    async fn keep(
        &self,
        name: &str,
        value: SecretString,
        replaced: Option<&VaultSecret>,
        retention: Retention,
    ) -> Result<VaultSecret, DependencyError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Without end: it cannot be made again.
    Always,
    /// Until it was unused for some months: it is made again when it is missing.
    WhileUsed,
}

/// `Debug` does not print the secret.
#[derive(Clone, Debug)]
pub struct VaultSecret {
    /// In the adapter's own format.
    pub value: SecretString,
    pub revision: u64,
}

/// A vault in memory, for tests, and for processes whose adapters do not use the vault.
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
        replaced: Option<&VaultSecret>,
        _: Retention,
    ) -> Result<VaultSecret, DependencyError> {
        let mut secrets = self.0.lock().map_err(|_| DependencyError)?;
        let current_revision = secrets.get(name).map(|it| it.revision);
        if current_revision == replaced.map(|it| it.revision) {
            secrets.insert(name.to_owned(), VaultSecret { value, revision: current_revision.unwrap_or(0) + 1 });
        }
        secrets.get(name).cloned().ok_or(DependencyError)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[tokio::test]
    async fn first_concurrent_write_wins_and_both_callers_see_it() {
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
