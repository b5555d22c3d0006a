//! The Admin API key of an integration, and the tokens that it signs.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

const CLOCK_SKEW: TimeDelta = TimeDelta::seconds(10);

/// How long a token is valid: longer than any call waits. Ghost accepts at most five minutes.
const LIFETIME: TimeDelta = TimeDelta::minutes(4);

/// `{id}:{secret}`, in hexadecimal. It does not print.
pub(super) struct Key {
    id: String,
    secret: Vec<u8>,
}

impl Key {
    /// A Content API key, which can only read, has another form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.split_once(':')?;
        let is_id = id.len() == 24 && id.bytes().all(|it| it.is_ascii_hexdigit());
        let secret = bytes(secret).filter(|it| it.len() == 32 && is_id)?;
        Some(Self { id: id.to_owned(), secret })
    }

    /// A JSON Web Token for one call (HS256).
    pub(super) fn token(&self, now: DateTime<Utc>) -> String {
        let issued_at = (now - CLOCK_SKEW).timestamp();
        let header = json!({ "alg": "HS256", "kid": self.id, "typ": "JWT" });
        let claims = json!({ "aud": "/admin/", "exp": issued_at + LIFETIME.num_seconds(), "iat": issued_at });
        let [header, claims] = [header, claims].map(|it| URL_SAFE_NO_PAD.encode(it.to_string()));
        let signed = format!("{header}.{claims}");
        // HMAC accepts keys of any length.
        let mac = Hmac::<Sha256>::new_from_slice(&self.secret).map(|it| it.chain_update(&signed).finalize());
        let signature = mac.map(|it| URL_SAFE_NO_PAD.encode(it.into_bytes())).unwrap_or_default();
        format!("{signed}.{signature}")
    }
}

fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = hexadecimal.chars().map(|it| it.to_digit(16)).collect();
    let digits = digits.filter(|it| it.len().is_multiple_of(2))?;
    digits.chunks(2).map(|it| u8::try_from(it[0] * 16 + it[1]).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "65f1c0ffee65f1c0ffee65f1";

    #[test]
    fn only_admin_keys_are_accepted() {
        let secret = "0a".repeat(32);
        assert!(Key::parse(&format!("{ID}:{secret}")).is_some());
        let content_key = "22444f78447824223cefc48062";
        for wrong in [content_key.to_owned(), format!("{ID}:{}", "0a".repeat(31)), format!("{}x:{secret}", &ID[1..])] {
            assert!(Key::parse(&wrong).is_none(), "{wrong}");
        }
    }

    /// The expected signature is that of OpenSSL: `openssl dgst -sha256 -mac HMAC -macopt hexkey:…`.
    #[test]
    fn token_is_signed_with_the_decoded_secret() {
        let key = Key::parse(&format!("{ID}:{}", "0a".repeat(32))).unwrap();
        let token = key.token(DateTime::from_timestamp(1_800_000_010, 0).unwrap());
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let decoded = |it: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(it).unwrap()).unwrap();
        let parts: Vec<_> = signed.split('.').map(decoded).collect();
        assert_eq!(
            parts,
            [
                format!(r#"{{"alg":"HS256","kid":"{ID}","typ":"JWT"}}"#),
                r#"{"aud":"/admin/","exp":1800000240,"iat":1800000000}"#.to_owned(),
            ]
        );
        assert_eq!(signature, "vPgzOktQNWBFRiTpO6OJ2TXAJc16Gm9OYNKqOc0-72Q");
    }
}
