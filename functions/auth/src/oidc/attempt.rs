//! One attempt of a browser to sign in.

use domain::token;
use secrecy::{ExposeSecret, SecretString};

/// The browser keeps a secret in a cookie, from which state, nonce and PKCE verifier are derived. So
/// nothing is stored before a user has signed in, and a callback is useless in another browser.
#[derive(Debug)]
pub(crate) struct Attempt(SecretString);

impl Attempt {
    pub(crate) fn new() -> Self {
        Self(token::random_token())
    }

    pub(crate) fn from_secret(secret: &str) -> Self {
        Self(secret.into())
    }

    pub(crate) fn secret(&self) -> &SecretString {
        &self.0
    }

    pub(crate) fn state(&self) -> String {
        self.derive("state")
    }

    pub(crate) fn nonce(&self) -> String {
        self.derive("nonce")
    }

    /// 43 characters that are safe in URLs, as RFC 7636 demands.
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
    fn sent_values_do_not_reveal_the_secret() {
        let attempt = Attempt::new();
        let sent = [attempt.state(), attempt.nonce(), attempt.challenge()];
        assert!(!sent.contains(&attempt.verifier().expose_secret().to_owned()));
        assert!(!sent.contains(&attempt.secret().expose_secret().to_owned()));
        assert_ne!(sent[0], sent[1]);
    }

    #[test]
    fn sent_values_are_different_in_each_attempt() {
        let [one, other] = [Attempt::new(), Attempt::new()];
        assert_ne!(one.nonce(), other.nonce());
        assert_ne!(one.nonce(), one.state());
        assert_ne!(one.challenge(), other.challenge());
        assert_eq!(one.verifier().expose_secret().len(), 43);
    }

    #[test]
    fn cookie_restores_the_attempt() {
        let attempt = Attempt::new();
        let back = Attempt::from_secret(attempt.secret().expose_secret());
        assert_eq!(
            (back.state(), back.nonce(), back.challenge()),
            (attempt.state(), attempt.nonce(), attempt.challenge())
        );
    }
}
