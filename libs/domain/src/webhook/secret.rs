//! The secret of an endpoint, and the signature `v1` made with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac::{HMAC_SHA256, Key, sign};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use crate::token::random_bytes;

const PREFIX: &str = "whsec_";

/// The specification requires 24 to 64.
const BYTES: usize = 32;

/// The secret that is shared with an endpoint: `whsec_` and base64.
#[derive(Clone, Debug)]
pub struct WebhookSecret(SecretString);

impl WebhookSecret {
    pub fn random() -> Self {
        let bytes = Zeroizing::new(random_bytes::<BYTES>());
        Self(format!("{PREFIX}{}", STANDARD.encode(*bytes)).into())
    }

    pub fn parse(stored: SecretString) -> Option<Self> {
        let bytes = key_bytes(stored.expose_secret())?;
        (24..=64).contains(&bytes.len()).then_some(Self(stored))
    }

    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub fn sign(&self, content: &str) -> String {
        let bytes = key_bytes(self.expose()).unwrap_or_default();
        let tag = sign(&Key::new(HMAC_SHA256, &bytes), content.as_bytes());
        format!("v1,{}", STANDARD.encode(tag))
    }
}

fn key_bytes(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    STANDARD.decode(text.strip_prefix(PREFIX)?).ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_matches_the_specification_libraries() {
        // Source: `libraries/go/webhook_symmetric_test.go`, the same in all of them.
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned().into()).unwrap();
        let content = r#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#;
        assert_eq!(secret.sign(content), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn stored_secret_parses_back_and_is_not_shown() {
        let secret = WebhookSecret::random();
        let again = WebhookSecret::parse(secret.expose().to_owned().into()).unwrap();
        assert_eq!(again.sign("x"), secret.sign("x"));
        assert!(!format!("{secret:?}").contains("whsec_"));
        for wrong in ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_é"] {
            assert!(WebhookSecret::parse(wrong.to_owned().into()).is_none(), "{wrong}");
        }
    }
}
