//! Permissions of the bot (topic Permissions).

use http::StatusCode;

use super::{BOT, GUILD, ROLE};
use crate::discord::api_error::ApiError;

pub const VIEW: u64 = 1 << 10;

/// Send messages, and start threads in forums.
pub const SEND: u64 = 1 << 11;

pub const ATTACH: u64 = 1 << 15;

pub const HISTORY: u64 = 1 << 16;

/// Send messages in threads, where [`SEND`] has no effect.
pub const IN_THREADS: u64 = 1 << 38;

/// The permissions that the page requests, which the bot's role gets.
pub(super) const PERMISSIONS: u64 = 0x1_cc00 | IN_THREADS;

pub(super) const OF_EVERYBODY: u64 = VIEW | HISTORY;

pub(super) struct Overwrite {
    pub(super) subject: &'static str,
    pub(super) deny: u64,
    pub(super) allow: u64,
}

/// The JSON form of permissions: a decimal string.
pub(super) fn bits(permissions: u64) -> String {
    permissions.to_string()
}

/// The bot's permissions in a channel. Overwrites apply in this order: everyone, the
/// bot's role, the bot.
fn permissions(overwrites: &[Overwrite]) -> u64 {
    let mut permissions = OF_EVERYBODY | PERMISSIONS;
    for subject in [GUILD, ROLE, BOT] {
        for overwrite in overwrites.iter().filter(|it| it.subject == subject) {
            permissions = (permissions & !overwrite.deny) | overwrite.allow;
        }
    }
    // "Denying `VIEW_CHANNEL` implicitly denies other permissions"; denying
    // `SEND_MESSAGES` denies files.
    if permissions & VIEW == 0 {
        return 0;
    }
    if permissions & SEND == 0 { permissions & !ATTACH } else { permissions }
}

pub(super) fn may(overwrites: &[Overwrite], needed: u64) -> bool {
    permissions(overwrites) & needed == needed
}

/// Returns an error if the bot lacks these permissions.
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
