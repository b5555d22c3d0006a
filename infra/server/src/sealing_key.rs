//! The key of a data folder: it seals credentials and backups, and signs links to files.

use std::io::ErrorKind;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cloud::seal::DataKey;
use domain::token::random_bytes;
use ring::hmac::{HMAC_SHA256, Key, sign};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use zeroize::Zeroizing;

use crate::error::ServerError;
use crate::sync::write_durably;

/// The file in the data folder, which only its owner can read.
const FILE: &str = "sealing.key";

/// 256 bits, written in Base64.
#[derive(Debug)]
pub struct SealingKey(SecretBox<[u8; 32]>);

impl SealingKey {
    pub(crate) fn random() -> Self {
        Self(SecretBox::new(Box::new(random_bytes())))
    }

    /// `None` unless the text is the Base64 of 32 bytes, as `openssl rand -base64 32` prints it.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(STANDARD.decode(text.trim()).ok()?);
        let mut key = Box::new([0; 32]);
        if bytes.len() != key.len() {
            return None;
        }
        key.copy_from_slice(&bytes);
        Some(Self(SecretBox::new(key)))
    }

    /// `None` without a file.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, ServerError> {
        let path = folder.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map(Some).ok_or(ServerError::Key(path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ServerError::File { path, source }),
        }
    }

    pub(crate) fn given_or_stored(given: Option<Self>, folder: &Path) -> Result<Self, ServerError> {
        match given {
            Some(key) => Ok(key),
            None => Self::read(folder)?.ok_or_else(|| ServerError::NoKey(folder.to_owned())),
        }
    }

    pub(crate) fn create(folder: &Path) -> Result<Self, ServerError> {
        let (key, path) = (Self::random(), folder.join(FILE));
        let text = Zeroizing::new(STANDARD.encode(key.0.expose_secret()));
        let written = write_durably(folder, FILE, format!("{}\n", *text).as_bytes());
        written.map_err(|source| ServerError::File { path, source })?;
        Ok(key)
    }

    pub(crate) fn data_key(&self) -> DataKey {
        DataKey::new(*self.0.expose_secret())
    }

    /// A key for another purpose, which reveals nothing about this one: HMAC-SHA-256 of the purpose.
    pub(crate) fn derived(&self, purpose: &str) -> [u8; 32] {
        let key = Key::new(HMAC_SHA256, self.0.expose_secret());
        let mut derived = [0; 32];
        derived.copy_from_slice(sign(&key, purpose.as_bytes()).as_ref());
        derived
    }

    pub(crate) fn derived_text(&self, purpose: &str) -> SecretString {
        URL_SAFE_NO_PAD.encode(self.derived(purpose)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_key_is_read_back() {
        let folder = tempfile::tempdir().unwrap();

        let created = SealingKey::create(folder.path()).unwrap();
        let read = SealingKey::read(folder.path()).unwrap().unwrap();

        assert_eq!(created.derived("a"), read.derived("a"));
        assert_ne!(created.derived("a"), created.derived("b"));
    }

    #[test]
    fn only_32_bytes_are_a_key() {
        assert!(SealingKey::parse(&format!("{}\n", STANDARD.encode([7; 32]))).is_some());
        for text in ["", "key", &STANDARD.encode([7; 31]), &STANDARD.encode([7; 33])] {
            assert!(SealingKey::parse(text).is_none(), "{text}");
        }
    }
}
