//! The deployment's key, and the signature `v1a` made with it, which can be verified without a
//! secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use crate::token::random_bytes;

const PREFIX: &str = "whsk_";
const PUBLIC_PREFIX: &str = "whpk_";

/// An ed25519 key: `whsk_` and its seed in base64.
#[derive(Clone, Debug)]
pub struct SigningKey(SecretString);

impl SigningKey {
    pub fn random() -> Self {
        let seed = Zeroizing::new(random_bytes::<32>());
        Self(format!("{PREFIX}{}", STANDARD.encode(*seed)).into())
    }

    pub fn parse(stored: SecretString) -> Option<Self> {
        pair(stored.expose_secret())?;
        Some(Self(stored))
    }

    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub fn public(&self) -> String {
        let public = pair(self.expose()).map(|it| STANDARD.encode(it.public_key()));
        format!("{PUBLIC_PREFIX}{}", public.unwrap_or_default())
    }

    pub fn sign(&self, content: &str) -> String {
        let signature = pair(self.expose()).map(|it| STANDARD.encode(it.sign(content.as_bytes())));
        format!("v1a,{}", signature.unwrap_or_default())
    }
}

fn pair(text: &str) -> Option<Ed25519KeyPair> {
    let seed = Zeroizing::new(STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?);
    Ed25519KeyPair::from_seed_unchecked(&seed).ok()
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, UnparsedPublicKey};

    use super::*;

    #[test]
    fn signature_matches_the_specification_library() {
        // Source: `libraries/go/webhook_asymmetric_test.go`.
        let key = SigningKey::parse("whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=".to_owned().into()).unwrap();
        let content = r#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#;
        let expected = "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==";
        assert_eq!(key.sign(content), expected);
    }

    #[test]
    fn public_key_verifies_the_signature() {
        let key = SigningKey::random();
        let public = STANDARD.decode(key.public().strip_prefix("whpk_").unwrap()).unwrap();
        let signature = STANDARD.decode(key.sign("words").strip_prefix("v1a,").unwrap()).unwrap();
        let public = UnparsedPublicKey::new(&ED25519, public);
        assert!(public.verify(b"words", &signature).is_ok());
        assert!(public.verify(b"other words", &signature).is_err());
        assert!(!format!("{key:?}").contains("whsk_"));
        assert!(SigningKey::parse("whsk_AAAA".to_owned().into()).is_none());
    }
}
