//! One attempt of a browser to sign in.

use domain::token;
use secrecy::{ExposeSecret, SecretString};

/// One attempt of a browser to sign in.
///
/// The browser keeps a secret in a cookie, from which state, nonce and PKCE
/// verifier are derived. So nothing is stored for somebody who has not signed
/// in, and an answer of the issuer is of no use in another browser.
#[derive(Debug)]
pub(crate) struct Attempt(SecretString);

impl Attempt {
    pub(crate) fn new() -> Self {
        Self(token::random_token())
    }

    /// The attempt whose secret the cookie holds.
    pub(crate) fn from_secret(secret: &str) -> Self {
        Self(secret.into())
    }

    /// The secret that the cookie holds.
    pub(crate) fn secret(&self) -> &SecretString {
        &self.0
    }

    pub(crate) fn state(&self) -> String {
        self.derive("state")
    }

    pub(crate) fn nonce(&self) -> String {
        self.derive("nonce")
    }

    /// The PKCE verifier: 43 characters that are safe in URLs, as RFC 7636
    /// demands.
    pub(crate) fn verifier(&self) -> SecretString {
        self.derive("verifier").into()
    }

    pub(crate) fn challenge(&self) -> String {
        token::hash(self.verifier().expose_secret())
    }

    fn derive(&self, purpose: &str) -> String {
        token::hash(&format!("{purpose}#{}", self.0.expose_secret()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_does_not_tell_what_is_kept() {
        let attempt = Attempt::new();
        let sent = [attempt.state(), attempt.nonce(), attempt.challenge()];
        assert!(!sent.contains(&attempt.verifier().expose_secret().to_owned()));
        assert!(!sent.contains(&attempt.secret().expose_secret().to_owned()));
        assert_ne!(sent[0], sent[1]);
    }

    #[test]
    fn the_cookie_brings_the_same_attempt_back() {
        let attempt = Attempt::new();
        let back = Attempt::from_secret(attempt.secret().expose_secret());
        assert_eq!(
            (back.state(), back.nonce(), back.challenge()),
            (attempt.state(), attempt.nonce(), attempt.challenge())
        );
    }
}
