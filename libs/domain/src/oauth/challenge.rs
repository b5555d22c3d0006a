//! PKCE (RFC 7636), which binds a code to the client that requested it.

use serde::{Deserialize, Serialize};

use crate::token;

/// The SHA-256 of the verifier, in URL-safe base64: method `S256`, the only supported one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Challenge(String);

/// Characters of a SHA-256 in base64 without padding.
const CHARS: usize = 43;

impl Challenge {
    pub fn parse(raw: &str) -> Option<Self> {
        let is_hash = raw.len() == CHARS && raw.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
        is_hash.then(|| Self(raw.to_owned()))
    }

    /// Whether the challenge was made of this verifier (43 to 128 characters).
    pub fn is_met_by(&self, verifier: &str) -> bool {
        let is_verifier = (43..=128).contains(&verifier.len())
            && verifier.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._~".contains(&it));
        is_verifier && token::hash(verifier) == self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn challenge_matches_only_its_verifier() {
        let challenge = Challenge::parse(CHALLENGE).unwrap();
        assert!(challenge.is_met_by(VERIFIER));
        for other in [CHALLENGE, "", &VERIFIER[1..], &format!("{VERIFIER}="), &"x".repeat(129)] {
            assert!(!challenge.is_met_by(other), "{other}");
        }
        let short = Challenge::parse(&token::hash("x")).unwrap();
        assert!(!short.is_met_by("x"), "a verifier that can be guessed");
    }

    #[test]
    fn challenge_that_is_no_hash_is_refused() {
        for raw in ["", VERIFIER.get(1..).unwrap(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM", &"x".repeat(44)] {
            assert_eq!(Challenge::parse(raw), None, "{raw}");
        }
    }
}
