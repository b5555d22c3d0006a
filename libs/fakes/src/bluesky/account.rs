//! The one account, and whom else the directory knows.

/// The account's handle.
pub(super) const HANDLE: &str = "alice.test";
/// The account's DID.
pub(super) const DID: &str = "did:plc:4nkw6tzfgtxqzcbbl2s5vtsf";
/// Where the account gets its mail; it signs in with it as well.
pub(super) const EMAIL: &str = "alice@alice.test";
/// The password that gives everything.
pub(super) const MAIN_PASSWORD: &str = "correct-horse-battery-staple";

/// Somebody who can be mentioned.
pub(super) const OTHER_HANDLE: &str = "bob.test";
pub(super) const OTHER_DID: &str = "did:plc:zdq3gnhvtbs4ow5vkxhzxfqd";

/// What changes about the account.
pub(super) struct Account {
    pub(super) status: Status,
    /// The main password alone does not suffice.
    pub(super) second_factor: bool,
    /// Whether an `AppView` also shows profiles.
    pub(super) app_view: bool,
    /// Whether the e-mail address is confirmed.
    pub(super) confirmed: bool,
    /// The server that keeps it now, if it is not the one that did.
    pub(super) moved_to: Option<String>,
}

impl Default for Account {
    fn default() -> Self {
        Self { status: Status::Active, second_factor: false, app_view: true, confirmed: true, moved_to: None }
    }
}

/// Whether the account can be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Active,
    Deactivated,
    TakenDown,
}

impl Status {
    /// What answers that describe the account say beside `active: false`.
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

/// Whether this names the account: its DID or its handle.
pub(super) fn is_it(actor: &str) -> bool {
    actor == DID || find_did(actor) == Some(DID)
}
