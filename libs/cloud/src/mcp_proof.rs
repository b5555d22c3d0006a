//! Proof that a request of the API comes from the tools of assistants: a secret
//! header that only the functions of this deployment know. The secret opens
//! nothing without an access token.

use domain::token::random_token;
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::settings::{SettingsError, required};

/// The shortest secret, in bytes.
const SHORTEST: usize = 32;

/// The secret between the function `mcp` and those that serve the API.
#[derive(Clone, Debug)]
pub struct McpProof(SecretString);

impl McpProof {
    /// The header with the secret. A proxy in front has another one, which it adds
    /// to all requests.
    pub const HEADER: HeaderName = HeaderName::from_static("x-mcp-proof");

    /// The secret in the environment variable `name`.
    pub fn from_env(name: &'static str) -> Result<Self, SettingsError> {
        let secret = required(name)?;
        let is_visible = secret.bytes().all(|it| it.is_ascii_graphic());
        if secret.len() < SHORTEST || !is_visible {
            let reason = format!("must have at least {SHORTEST} letters, digits or signs");
            return Err(SettingsError::Invalid { name, reason });
        }
        Ok(Self(secret.into()))
    }

    /// A new secret, for functions of one process.
    pub fn random() -> Self {
        Self(random_token())
    }

    /// The header's value in a request of the tools.
    pub fn header_value(&self) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
        let mut value = HeaderValue::from_str(self.0.expose_secret())?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Whether a request with these headers comes from the tools.
    pub fn is_proven_by(&self, headers: &HeaderMap) -> bool {
        let mut sent = headers.get_all(Self::HEADER).iter();
        let (Some(proof), None) = (sent.next(), sent.next()) else { return false };
        proof.as_bytes().ct_eq(self.0.expose_secret().as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_itself_sent_once_is_a_proof() {
        let proof = McpProof::random();
        let proves = |sent: &[HeaderValue]| {
            let mut headers = HeaderMap::new();
            for value in sent {
                headers.append(McpProof::HEADER, value.clone());
            }
            proof.is_proven_by(&headers)
        };
        let own = proof.header_value().unwrap();
        let other = McpProof::random().header_value().unwrap();

        assert!(proves(std::slice::from_ref(&own)));
        for forged in
            [&[][..], &[other.clone()], &[HeaderValue::from_static("")], &[own.clone(), own.clone()], &[other, own]]
        {
            assert!(!proves(forged), "{forged:?}");
        }
    }

    #[test]
    fn the_secret_does_not_print() {
        let proof = McpProof::random();
        let printed = format!("{proof:?} {:?}", proof.header_value());
        assert!(!printed.contains(proof.0.expose_secret()), "{printed}");
    }
}
