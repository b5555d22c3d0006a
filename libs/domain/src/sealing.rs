//! The context to which an encrypted secret is bound.

use std::fmt;

/// The kinds of secrets. Each kind has its own data keys, and the role of a function lists the
/// kinds that it may decrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretKind {
    /// Secrets that servers issued to this deployment: registered apps, and its own keys.
    Vault,
    Grant,
    Webhook,
}

impl SecretKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vault => "vault",
            Self::Grant => "grant",
            Self::Webhook => "webhook",
        }
    }
}

/// The encryption context of one secret: it cannot be decrypted with another kind or name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealContext {
    pub kind: SecretKind,
    /// Identifies the secret, such as `user:7/grant:mastodon`.
    pub name: String,
}

impl SealContext {
    pub fn new(kind: SecretKind, name: impl fmt::Display) -> Self {
        Self { kind, name: name.to_string() }
    }
}
