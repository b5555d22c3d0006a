//! Our P-256 key, which signs tokens (ES256).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::dependency_error::DependencyError;

/// A private key. `Debug` shows nothing of it. Its serialized form is the secret itself, and may
/// only be stored sealed.
pub(super) struct SigningKey {
    pkcs8: Vec<u8>,
    pair: EcdsaKeyPair,
}

/// The public half, as a JSON Web Key (RFC 7517).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct PublicKey {
    kty: &'static str,
    crv: &'static str,
    x: String,
    y: String,
}

#[derive(Debug, thiserror::Error)]
#[error("not a P-256 key")]
struct InvalidKey;

impl SigningKey {
    pub(super) fn generate() -> Result<Self, DependencyError> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let document = document.map_err(|_| DependencyError)?;
        Self::from_pkcs8(document.as_ref().to_vec()).map_err(|_| DependencyError)
    }

    fn from_pkcs8(pkcs8: Vec<u8>) -> Result<Self, InvalidKey> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, &SystemRandom::new());
        Ok(Self { pair: pair.map_err(|_| InvalidKey)?, pkcs8 })
    }

    pub(super) fn public(&self) -> PublicKey {
        // An uncompressed point is one marker byte, then x and y.
        let (x, y) = self.pair.public_key().as_ref().get(1..).unwrap_or_default().split_at(32);
        PublicKey { kty: "EC", crv: "P-256", x: URL_SAFE_NO_PAD.encode(x), y: URL_SAFE_NO_PAD.encode(y) }
    }

    /// Creates a signed token (RFC 7519).
    pub(super) fn sign(&self, header: &Value, claims: &Value) -> Result<String, DependencyError> {
        let part = |it: &Value| URL_SAFE_NO_PAD.encode(it.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).map_err(|_| DependencyError)?;
        Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

impl Serialize for SigningKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(&self.pkcs8))
    }
}

impl<'de> Deserialize<'de> for SigningKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The error does not repeat the text, which may be most of a secret.
        let pkcs8 = URL_SAFE_NO_PAD.decode(text).map_err(|_| D::Error::custom(InvalidKey))?;
        Self::from_pkcs8(pkcs8).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::json;

    use super::*;

    #[test]
    fn signature_verifies_with_the_public_key() {
        let key = SigningKey::generate().unwrap();

        let token = key.sign(&json!({"alg": "ES256"}), &json!({"jti": "1"})).unwrap();

        let (signed, signature) = token.rsplit_once('.').unwrap();
        let public = key.public();
        let mut point = vec![4];
        point.extend(URL_SAFE_NO_PAD.decode(&public.x).unwrap());
        point.extend(URL_SAFE_NO_PAD.decode(&public.y).unwrap());
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed.as_bytes(), &signature).unwrap();
    }

    #[test]
    fn key_is_restored_and_hidden_from_debug() {
        let key = SigningKey::generate().unwrap();

        let stored = serde_json::to_string(&key).unwrap();
        let read: SigningKey = serde_json::from_str(&stored).unwrap();

        assert_eq!(read.public(), key.public());
        assert_eq!(format!("{key:?}"), "SigningKey");
        assert!(serde_json::from_str::<SigningKey>("\"AAAA\"").is_err());
    }
}
