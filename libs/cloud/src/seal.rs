//! Envelope encryption of secrets: AES-256-GCM with a data key that is itself encrypted
//! ("wrapped"), by KMS in the cloud and by a key file in the local stack.
//!
//! A sealed value is: the byte `1`, the length of the wrapped data key (2 bytes, big endian), the
//! wrapped data key, a nonce of 12 bytes, the ciphertext. The context (user, connection,
//! platform) is authenticated, so a value that was moved to another item does not decrypt. The
//! kind of the secret is bound to the wrapped data key, so a function that may not decrypt a
//! kind cannot get its keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::sealing::{SealContext, SecretKind};
use domain::token::random_bytes;
use tokio::sync::Mutex;
use zeroize::{Zeroize, Zeroizing};

use crate::error_chain::chain;

const VERSION: u8 = 1;

const NONCE_LEN: usize = 12;

/// How long a data key is used for encryption, so that a busy function rarely calls KMS.
const DATA_KEY_LIFETIME: TimeDelta = TimeDelta::minutes(5);

const CACHE_LIFETIME: TimeDelta = TimeDelta::minutes(5);

const CACHE_SIZE: usize = 64;

/// The messages reveal nothing about the content.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("key service: {0}")]
    Keys(String),
    /// The value was not sealed by this deployment, or with another context.
    #[error("sealed value invalid, or of another context")]
    Broken,
}

#[async_trait]
pub trait Sealer: Send + Sync {
    async fn seal(&self, plain: &[u8], context: &SealContext) -> Result<Vec<u8>, SealError>;

    async fn open(&self, sealed: &[u8], context: &SealContext) -> Result<Vec<u8>, SealError>;
}

#[async_trait]
pub trait DataKeys: Send + Sync {
    async fn generate(&self, kind: SecretKind) -> Result<(DataKey, Vec<u8>), SealError>;

    /// Fails if the key was generated for another kind.
    async fn unwrap(&self, wrapped: &[u8], kind: SecretKind) -> Result<DataKey, SealError>;
}

/// 256 bits that are never printed, and are zeroed in memory when dropped.
#[derive(Clone)]
pub struct DataKey([u8; 32]);

impl Drop for DataKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl DataKey {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new(&self.0.into())
    }

    /// `context` has to be the same to decrypt.
    pub fn encrypt(&self, plain: &[u8], context: &[u8]) -> Result<Vec<u8>, SealError> {
        let nonce: [u8; NONCE_LEN] = random_bytes();
        let payload = Payload { msg: plain, aad: context };
        let text = self.cipher().encrypt(&Nonce::from(nonce), payload).map_err(|_| SealError::Broken)?;
        Ok([&nonce[..], &text].concat())
    }

    pub fn decrypt(&self, sealed: &[u8], context: &[u8]) -> Result<Vec<u8>, SealError> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN).ok_or(SealError::Broken)?;
        let nonce: [u8; NONCE_LEN] = nonce.try_into().map_err(|_| SealError::Broken)?;
        let payload = Payload { msg: text, aad: context };
        self.cipher().decrypt(&Nonce::from(nonce), payload).map_err(|_| SealError::Broken)
    }
}

/// With the time when the key was generated or unwrapped.
type CachedKey = (DataKey, Vec<u8>, DateTime<Utc>);

pub struct Envelope<K> {
    keys: K,
    clock: Clock,
    sealing: Mutex<BTreeMap<SecretKind, CachedKey>>,
    /// Oldest first.
    opened: Mutex<Vec<(SecretKind, CachedKey)>>,
}

impl<K: DataKeys> Envelope<K> {
    pub fn new(keys: K, clock: Clock) -> Arc<Self> {
        Arc::new(Self { keys, clock, sealing: Mutex::default(), opened: Mutex::default() })
    }

    async fn sealing_key(&self, kind: SecretKind) -> Result<(DataKey, Vec<u8>), SealError> {
        let mut sealing = self.sealing.lock().await;
        let now = self.clock.now();
        self.drop_expired(now).await;
        // The old key is dropped before another is requested, which can fail.
        sealing.retain(|_, it| now - it.2 < DATA_KEY_LIFETIME);
        if let Some((key, wrapped, _)) = sealing.get(&kind) {
            return Ok((key.clone(), wrapped.clone()));
        }
        let (key, wrapped) = self.keys.generate(kind).await?;
        sealing.insert(kind, (key.clone(), wrapped.clone(), now));
        Ok((key, wrapped))
    }

    async fn opening_key(&self, wrapped: &[u8], kind: SecretKind) -> Result<DataKey, SealError> {
        let now = self.clock.now();
        self.drop_expired(now).await;
        // If the lock is taken, `sealing_key` has already dropped the old key.
        if let Ok(mut sealing) = self.sealing.try_lock() {
            sealing.retain(|_, it| now - it.2 < DATA_KEY_LIFETIME);
        }
        let opened = self.opened.lock().await;
        let cached = opened.iter().find(|it| it.0 == kind && it.1.1 == wrapped).map(|it| it.1.0.clone());
        drop(opened);
        if let Some(key) = cached {
            return Ok(key);
        }
        let key = self.keys.unwrap(wrapped, kind).await?;
        let mut opened = self.opened.lock().await;
        if CACHE_SIZE <= opened.len() {
            opened.remove(0);
        }
        opened.push((kind, (key.clone(), wrapped.to_owned(), now)));
        Ok(key)
    }

    async fn drop_expired(&self, now: DateTime<Utc>) {
        self.opened.lock().await.retain(|it| now - it.1.2 < CACHE_LIFETIME);
    }
}

#[async_trait]
impl<K: DataKeys> Sealer for Envelope<K> {
    async fn seal(&self, plain: &[u8], context: &SealContext) -> Result<Vec<u8>, SealError> {
        let (key, wrapped) = self.sealing_key(context.kind).await?;
        let len = u16::try_from(wrapped.len()).map_err(|_| SealError::Broken)?;
        let text = key.encrypt(plain, context.name.as_bytes())?;
        Ok([&[VERSION][..], &len.to_be_bytes(), &wrapped, &text].concat())
    }

    async fn open(&self, sealed: &[u8], context: &SealContext) -> Result<Vec<u8>, SealError> {
        let [VERSION, high, low, rest @ ..] = sealed else { return Err(SealError::Broken) };
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let (wrapped, text) = rest.split_at_checked(len).ok_or(SealError::Broken)?;
        self.opening_key(wrapped, context.kind).await?.decrypt(text, context.name.as_bytes())
    }
}

pub struct KmsKeys {
    client: aws_sdk_kms::Client,
    key_id: String,
}

impl KmsKeys {
    pub fn new(client: aws_sdk_kms::Client, key_id: String) -> Self {
        Self { client, key_id }
    }
}

/// The encryption context of every call, with the kind of the secret. The IAM roles require both.
const KMS_CONTEXT: (&str, &str) = ("service", "social-publishing");

const KMS_KIND: &str = "kind";

#[async_trait]
impl DataKeys for KmsKeys {
    async fn generate(&self, kind: SecretKind) -> Result<(DataKey, Vec<u8>), SealError> {
        let generated = self
            .client
            .generate_data_key()
            .key_id(&self.key_id)
            .key_spec(aws_sdk_kms::types::DataKeySpec::Aes256)
            .encryption_context(KMS_CONTEXT.0, KMS_CONTEXT.1)
            .encryption_context(KMS_KIND, kind.as_str())
            .send()
            .await
            .map_err(|it| SealError::Keys(chain(&it)))?;
        let wrapped = generated.ciphertext_blob.ok_or(SealError::Broken)?.into_inner();
        Ok((data_key(generated.plaintext)?, wrapped))
    }

    async fn unwrap(&self, wrapped: &[u8], kind: SecretKind) -> Result<DataKey, SealError> {
        let decrypted = self
            .client
            .decrypt()
            .key_id(&self.key_id)
            .ciphertext_blob(aws_sdk_kms::primitives::Blob::new(wrapped))
            .encryption_context(KMS_CONTEXT.0, KMS_CONTEXT.1)
            .encryption_context(KMS_KIND, kind.as_str())
            .send()
            .await
            .map_err(|it| SealError::Keys(chain(&it)))?;
        data_key(decrypted.plaintext)
    }
}

fn data_key(plaintext: Option<aws_sdk_kms::primitives::Blob>) -> Result<DataKey, SealError> {
    data_key_from_bytes(plaintext.ok_or(SealError::Broken)?.into_inner())
}

/// Zeroes the bytes.
fn data_key_from_bytes(bytes: Vec<u8>) -> Result<DataKey, SealError> {
    let bytes = Zeroizing::new(bytes);
    bytes.as_slice().try_into().map(DataKey).map_err(|_| SealError::Broken)
}

/// Data keys that are wrapped with a key of the local stack, stored in a file.
pub struct LocalKeys(DataKey);

impl LocalKeys {
    pub fn new(key: DataKey) -> Self {
        Self(key)
    }
}

#[async_trait]
impl DataKeys for LocalKeys {
    async fn generate(&self, kind: SecretKind) -> Result<(DataKey, Vec<u8>), SealError> {
        let key = DataKey(random_bytes());
        let wrapped = self.0.encrypt(&key.0, kind.as_str().as_bytes())?;
        Ok((key, wrapped))
    }

    async fn unwrap(&self, wrapped: &[u8], kind: SecretKind) -> Result<DataKey, SealError> {
        data_key_from_bytes(self.0.decrypt(wrapped, kind.as_str().as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    fn grant(name: &str) -> SealContext {
        SealContext::new(SecretKind::Grant, name)
    }

    fn sealer() -> Arc<Envelope<LocalKeys>> {
        Envelope::new(LocalKeys::new(DataKey::new([7; 32])), Clock::manual(noon()))
    }

    #[tokio::test]
    async fn sealed_value_opens_only_in_its_context() {
        let envelope = sealer();
        let sealed = envelope.seal(b"token", &grant("1:2:sandbox")).await.unwrap();
        assert_eq!(envelope.open(&sealed, &grant("1:2:sandbox")).await.unwrap(), b"token");
        assert!(matches!(envelope.open(&sealed, &grant("1:3:sandbox")).await, Err(SealError::Broken)));
        assert!(!sealed.windows(5).any(|it| it == b"token"));
    }

    #[tokio::test]
    async fn data_key_is_bound_to_one_kind() {
        let envelope = sealer();
        let kinds = [SecretKind::Vault, SecretKind::Grant, SecretKind::Webhook];
        for sealed_for in kinds {
            let sealed = envelope.seal(b"token", &SealContext::new(sealed_for, "a")).await.unwrap();
            // With a cached key and without.
            for envelope in [&envelope, &sealer()] {
                for kind in kinds {
                    let opened = envelope.open(&sealed, &SealContext::new(kind, "a")).await;
                    assert_eq!(opened.is_ok(), kind == sealed_for, "{sealed_for:?} as {kind:?}");
                }
            }
        }
        assert_eq!(envelope.sealing.lock().await.len(), kinds.len());
    }

    #[tokio::test]
    async fn another_process_with_the_same_key_opens_a_value() {
        let sealed = sealer().seal(b"token", &grant("context")).await.unwrap();
        assert_eq!(sealer().open(&sealed, &grant("context")).await.unwrap(), b"token");
    }

    #[tokio::test]
    async fn data_keys_are_cached_for_five_minutes() {
        let clock = Clock::manual(noon());
        let envelope = Envelope::new(LocalKeys::new(DataKey::new([7; 32])), clock.clone());
        let sealed = envelope.seal(b"token", &grant("context")).await.unwrap();
        envelope.open(&sealed, &grant("context")).await.unwrap();
        assert_eq!(envelope.opened.lock().await.len(), 1);

        clock.advance(TimeDelta::minutes(4));
        envelope.open(&sealed, &grant("context")).await.unwrap();
        assert!(!envelope.sealing.lock().await.is_empty());
        clock.advance(TimeDelta::minutes(1));
        assert!(envelope.open(b"", &grant("context")).await.is_err());
        let other = sealer().seal(b"token", &grant("context")).await.unwrap();
        envelope.open(&other, &grant("context")).await.unwrap();

        assert!(envelope.sealing.lock().await.is_empty());
        let wrapped: Vec<_> = envelope.opened.lock().await.iter().map(|it| it.1.1.clone()).collect();
        assert_eq!(wrapped.len(), 1, "the first key has expired");
        assert!(!sealed.windows(wrapped[0].len()).any(|it| it == wrapped[0]));
    }

    #[tokio::test]
    async fn changed_or_truncated_value_does_not_open() {
        let envelope = sealer();
        let sealed = envelope.seal(b"token", &grant("context")).await.unwrap();
        for end in 0..sealed.len() {
            assert!(envelope.open(&sealed[..end], &grant("context")).await.is_err(), "{end}");
        }
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(envelope.open(&changed, &grant("context")).await.is_err(), "{index}");
        }
    }
}
