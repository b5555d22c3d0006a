//! The account, and the other user that the directory lists.

pub(super) const HANDLE: &str = "alice.test";
pub(super) const DID: &str = "did:plc:4nkw6tzfgtxqzcbbl2s5vtsf";
/// The account's e-mail address, which is also accepted as a sign-in name.
pub(super) const EMAIL: &str = "alice@alice.test";
/// The account's own password, which has no scope limits.
pub(super) const MAIN_PASSWORD: &str = "correct-horse-battery-staple";

/// Another user, for mentions.
pub(super) const OTHER_HANDLE: &str = "bob.test";
pub(super) const OTHER_DID: &str = "did:plc:zdq3gnhvtbs4ow5vkxhzxfqd";

/// The mutable state of the account.
pub(super) struct Account {
    pub(super) status: Status,
    /// Whether the main password alone is not sufficient.
    pub(super) second_factor: bool,
    /// Whether an `AppView` serves profiles.
    pub(super) app_view: bool,
    /// Whether the user confirmed the e-mail address.
    pub(super) confirmed: bool,
    /// The server that the account moved to, if any.
    pub(super) moved_to: Option<String>,
}

impl Default for Account {
    fn default() -> Self {
        Self { status: Status::Active, second_factor: false, app_view: true, confirmed: true, moved_to: None }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Active,
    Deactivated,
    TakenDown,
}

impl Status {
    /// The `status` that responses have next to `active: false`.
    pub(super) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Active => None,
            Self::Deactivated => Some("deactivated"),
            Self::TakenDown => Some("takendown"),
        }
    }
}

pub(super) fn find_did(handle: &str) -> Option<&'static str> {
    match handle.to_ascii_lowercase().as_str() {
        HANDLE => Some(DID),
        OTHER_HANDLE => Some(OTHER_DID),
        _ => None,
    }
}

pub(super) fn find_handle(did: &str) -> Option<&'static str> {
    match did {
        DID => Some(HANDLE),
        OTHER_DID => Some(OTHER_HANDLE),
        _ => None,
    }
}

/// Whether `actor` is the account's DID or handle.
pub(super) fn is_it(actor: &str) -> bool {
    actor == DID || find_did(actor) == Some(DID)
}
