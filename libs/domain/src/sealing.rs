//! What a secret is sealed for.

use std::fmt;

/// The kinds of secrets. Each is sealed under data keys of its own kind, and the
/// role of a function names the kinds that it may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretKind {
    /// What servers gave to this deployment: apps, and keys of its own.
    Vault,
    /// What users granted at platforms.
    Grant,
    /// What signs events.
    Webhook,
}

impl SecretKind {
    /// As roles name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vault => "vault",
            Self::Grant => "grant",
            Self::Webhook => "webhook",
        }
    }
}

/// What one secret is sealed for: it opens under no other kind and no other name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealContext {
    pub kind: SecretKind,
    /// Whose it is, such as `user:7/grant:mastodon`.
    pub name: String,
}

impl SealContext {
    /// A secret of this kind under this name.
    pub fn new(kind: SecretKind, name: impl fmt::Display) -> Self {
        Self { kind, name: name.to_string() }
    }
}
