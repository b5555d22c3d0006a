//! Addresses of the service's own for files that platforms fetch.

use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{FileAddress, FileKey, FileType, PublicFile};

/// How long an address is valid. A container of Instagram or Threads lives as long, and
/// Meta may fetch its file again meanwhile.
const LIFETIME: TimeDelta = TimeDelta::hours(24);

/// What makes the addresses.
#[derive(Clone, Debug)]
pub struct FileAddresses {
    /// The public origin of the service, without a slash at the end.
    pub origin: String,
    /// The key of the function `media`, and of the edge if there is one.
    pub key: FileKey,
    /// Whether videos are served under the origin, too. A function on Lambda cannot.
    pub serves_videos: bool,
}

impl FileAddresses {
    /// The URL of a file from now on; `None` where the origin does not serve it.
    pub(crate) fn url(&self, file: PublicFile, now: DateTime<Utc>) -> Option<String> {
        if file.mime_type().file_type() == FileType::Video && !self.serves_videos {
            return None;
        }
        let address = FileAddress { file, expires_at: now + LIFETIME };
        Some(format!("{}{}", self.origin, address.path(&self.key)))
    }
}
