//! The names of an account: its DID, which never changes, and its handle.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// In bytes.
const MAX_DID: usize = 2048;

/// In bytes; a handle is a domain name.
const MAX_HANDLE: usize = 253;

/// In bytes, for one label of a handle.
const MAX_LABEL: usize = 63;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a handle or DID of an account")]
pub(super) struct InvalidName;

/// The identifier of an account: `did:`, a method in lower case, and an identifier in the method's
/// own form, of letters, digits and `._:%-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Did(String);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Handle(String);

impl Did {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn parts(&self) -> (&str, &str) {
        self.0.strip_prefix("did:").and_then(|it| it.split_once(':')).unwrap_or_default()
    }
}

impl Handle {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_did(text: &str) -> bool {
    let Some((method, id)) = text.strip_prefix("did:").and_then(|it| it.split_once(':')) else { return false };
    let is_allowed = |it: u8| it.is_ascii_alphanumeric() || b"._:%-".contains(&it);
    text.len() <= MAX_DID
        && !method.is_empty()
        && method.bytes().all(|it| it.is_ascii_lowercase())
        && id.bytes().all(is_allowed)
        && id.bytes().last().is_some_and(|it| it != b':' && it != b'%')
}

fn is_handle(text: &str) -> bool {
    let is_label = |it: &str| {
        let is_alphanumeric = |it: Option<u8>| it.is_some_and(|it| it.is_ascii_alphanumeric());
        it.len() <= MAX_LABEL
            && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
            && is_alphanumeric(it.bytes().next())
            && is_alphanumeric(it.bytes().last())
    };
    let Some((_, top)) = text.rsplit_once('.') else { return false };
    // The last label begins with a letter: otherwise the text could be an IP address.
    text.len() <= MAX_HANDLE && text.split('.').all(is_label) && top.starts_with(|it: char| it.is_ascii_alphabetic())
}

macro_rules! named {
    ($name:ident, $is:ident) => {
        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                if $is(text) { Ok(Self(text.to_owned())) } else { Err(InvalidName) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

named!(Did, is_did);
named!(Handle, is_handle);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_dids_and_handles_are_parsed() {
        for did in
            ["did:plc:ewvi7nxzyoun6zhxrhs64oiz", "did:web:harbour.example", "did:web:localhost%3A3000", "did:x:-"]
        {
            assert!(did.parse::<Did>().is_ok(), "{did}");
        }
        let long = format!("did:plc:{}", "a".repeat(MAX_DID));
        for none in [
            "",
            "did",
            "did:plc",
            "did:plc:",
            "DID:plc:a",
            "did:PLC:a",
            "did:plc:a:",
            "did:plc:a/b",
            "did:plc:é",
            &long,
        ] {
            assert!(none.parse::<Did>().is_err(), "{none}");
        }
        let label = "a".repeat(MAX_LABEL);
        for handle in ["alice.test", "a.b-c.d9.example", "8.cn", "Alice.Test", &format!("{label}.test")] {
            assert!(handle.parse::<Handle>().is_ok(), "{handle}");
        }
        let long = format!("{}test", "abc.".repeat(63));
        for none in [
            "",
            "alice",
            ".test",
            "alice.",
            "-a.test",
            "a-.test",
            "a..test",
            "127.0.0.1",
            "a_b.test",
            "é.test",
            &format!("a{label}.test"),
            &long,
        ] {
            assert!(none.parse::<Handle>().is_err(), "{none}");
        }
    }
}
