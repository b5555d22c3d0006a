//! A file that a post uses.

use serde::{Deserialize, Serialize};

use crate::id::MediaId;
use crate::media::{AltText, Facts, MimeType};

/// An uploaded file that a post carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Our id of the file.
    pub media_id: MediaId,
    /// The type that was declared; the first bytes of the file agree.
    pub mime_type: MimeType,
    /// The size of the stored file.
    pub size_bytes: u64,
    /// What it shows, as this post says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt_text: Option<AltText>,
    /// What it says of itself; `None` where nobody has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
}
