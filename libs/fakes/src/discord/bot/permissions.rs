//! What the bot may do (topic Permissions).

use super::{BOT, GUILD, ROLE};
use crate::discord::api_error::ApiError;
use http::StatusCode;

/// See a channel, and what is in it.
pub const VIEW: u64 = 1 << 10;

/// Send messages, and begin threads in forums.
pub const SEND: u64 = 1 << 11;

/// Send files.
pub const ATTACH: u64 = 1 << 15;

/// Read what was posted before.
pub const HISTORY: u64 = 1 << 16;

/// What the page was asked for, and so what the bot's role has.
pub(super) const PERMISSIONS: u64 = 117_760;

pub(super) const OF_EVERYBODY: u64 = VIEW | HISTORY;

/// What a role or a member has in one channel other than elsewhere.
pub(super) struct Overwrite {
    pub(super) subject: &'static str,
    pub(super) deny: u64,
    pub(super) allow: u64,
}

/// As they are written: a number in decimal.
pub(super) fn bits(permissions: u64) -> String {
    permissions.to_string()
}

/// What the bot may do in a channel: first what is laid down for everybody, then for its
/// role, then for itself.
fn permissions(overwrites: &[Overwrite]) -> u64 {
    let mut permissions = OF_EVERYBODY | PERMISSIONS;
    for subject in [GUILD, ROLE, BOT] {
        for overwrite in overwrites.iter().filter(|it| it.subject == subject) {
            permissions = (permissions & !overwrite.deny) | overwrite.allow;
        }
    }
    // "Denying `VIEW_CHANNEL` implicitly denies other permissions", and so does
    // `SEND_MESSAGES` for files.
    if permissions & VIEW == 0 {
        return 0;
    }
    if permissions & SEND == 0 { permissions & !ATTACH } else { permissions }
}

/// Whether the bot may do this there.
pub(super) fn may(overwrites: &[Overwrite], needed: u64) -> bool {
    permissions(overwrites) & needed == needed
}

/// Refuses what the bot may not do.
pub(super) fn check(overwrites: &[Overwrite], needed: u64) -> Result<(), ApiError> {
    if !may(overwrites, VIEW) {
        return Err(missing_access());
    }
    if may(overwrites, needed) {
        return Ok(());
    }
    Err(ApiError::new(StatusCode::FORBIDDEN, 50_013, "Missing Permissions"))
}

pub(super) fn missing_access() -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, 50_001, "Missing Access")
}
