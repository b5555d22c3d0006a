use serde::{Deserialize, Serialize};

use crate::id::MediaId;
use crate::media::{AltText, Facts, MimeType};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub media_id: MediaId,
    /// As declared; the first bytes of the file agree.
    pub mime_type: MimeType,
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt_text: Option<AltText>,
    /// Properties read from the file; `None` if the file was not probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
}
