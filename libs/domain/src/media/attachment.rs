//! A file in use.

use serde::{Deserialize, Serialize};

use crate::id::MediaId;
use crate::media::MimeType;

/// An uploaded file that a post carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Ours.
    pub media_id: MediaId,
    /// As declared, and as its first bytes say.
    pub mime_type: MimeType,
    /// As found in the store.
    pub size_bytes: u64,
}
