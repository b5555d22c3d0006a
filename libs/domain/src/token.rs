//! Random tokens and hashes of tokens.
//!
//! Secrets always come from the operating system: no test and no feature can make them predictable.
//! Random numbers that a test has to repeat come from [`crate::random`].

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// # Panics
/// When the operating system has no randomness: nothing safe can be done without it.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "no token may be made without randomness")]
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// 128 random bits in 32 hexadecimal digits.
pub fn random_hex() -> String {
    format!("{:032x}", u128::from_le_bytes(random_bytes()))
}

/// 256 random bits, in characters that are safe in URLs.
pub fn random_token() -> SecretString {
    URL_SAFE_NO_PAD.encode(random_bytes::<32>()).into()
}

/// The name of a token in logs: enough to distinguish tokens, and useless to a reader who does not
/// have them.
pub fn short_id(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

/// The SHA-256 of a token in URL-safe base64, stored instead of it.
pub fn hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token.as_bytes()))
}

/// The user code of RFC 8628: 8 letters without vowels or look-alikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCode(String);

const CODE_LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

impl UserCode {
    pub fn random() -> Self {
        let letters = std::iter::from_fn(|| Some(random_bytes::<1>()[0]))
            // 240 is the largest multiple of 20 in a byte, so every letter is equally likely.
            .filter(|it| *it < 240)
            .take(8)
            .map(|it| char::from(CODE_LETTERS[usize::from(it % 20)]))
            .collect();
        Self(letters)
    }

    /// Parses user input in any case, with or without the dash and spaces around it.
    pub fn parse(typed: &str) -> Option<Self> {
        let letters: String = typed.trim().chars().filter(|it| *it != '-').map(|it| it.to_ascii_uppercase()).collect();
        let well_formed = letters.len() == 8 && letters.bytes().all(|it| CODE_LETTERS.contains(&it));
        well_formed.then_some(Self(letters))
    }

    pub fn hash(&self) -> String {
        hash(&self.0)
    }
}

impl std::fmt::Display for UserCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", &self.0[..4], &self.0[4..])
    }
}

/// A PKCE pair (RFC 7636) with the method S256.
pub struct Pkce {
    /// Kept until the code is exchanged.
    pub verifier: SecretString,
    pub challenge: String,
}

impl Pkce {
    pub fn random() -> Self {
        let verifier = random_token();
        let challenge = hash(verifier.expose_secret());
        Self { verifier, challenge }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn user_code_is_parsed_in_any_common_spelling() {
        let code = UserCode::parse("WDJB-MJHT").unwrap();
        assert_eq!(code.to_string(), "WDJB-MJHT");
        assert_eq!(UserCode::parse(" wdjbmjht "), Some(code));
        assert_eq!(UserCode::parse("AAAA-AAAA"), None);
        assert_eq!(UserCode::parse("WDJB-MJH"), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,80}") {
            let _ = UserCode::parse(&text);
        }
    }
}
