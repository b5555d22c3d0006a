//! A file that a post uses.

use serde::{Deserialize, Serialize};

use crate::id::MediaId;
use crate::media::MimeType;

/// An uploaded file that a post carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Our id of the file.
    pub media_id: MediaId,
    /// The type that was declared; the first bytes of the file agree.
    pub mime_type: MimeType,
    /// The size of the stored file.
    pub size_bytes: u64,
}
