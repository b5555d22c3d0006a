//! Public URLs of this service for files that platforms fetch.

use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{FileAddress, FileKey, FileType, PublicFile};

/// How long a URL is valid. A container of Instagram or Threads lives as long, and Meta may fetch
/// its file again during that time.
const LIFETIME: TimeDelta = TimeDelta::hours(24);

#[derive(Clone, Debug)]
pub struct FileAddresses {
    /// Without a trailing slash.
    pub origin: String,
    /// The key of the media function, and of `CloudFront` if it serves files.
    pub key: FileKey,
    /// Whether videos are served under the origin too. A Lambda function cannot serve them.
    pub serves_videos: bool,
}

impl FileAddresses {
    /// Valid from `now`; `None` if the origin does not serve the file.
    pub(crate) fn url(&self, file: PublicFile, now: DateTime<Utc>) -> Option<String> {
        if file.mime_type().file_type() == FileType::Video && !self.serves_videos {
            return None;
        }
        let address = FileAddress { file, expires_at: now + LIFETIME };
        Some(format!("{}{}", self.origin, address.path(&self.key)))
    }
}
