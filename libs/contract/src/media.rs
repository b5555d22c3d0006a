//! Uploads of media files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateMedium {
    /// Such as `image/png`. Must agree with the first bytes of the file.
    pub mime_type: String,
    /// The file's name on the client's side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The URL that the service fetches the file from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    /// Size in bytes; the upload URL then accepts a file of exactly this size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// The upload URL, or the file that the service fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MediumView {
    Presigned(PresignedUpload),
    Fetched(FetchedMedium),
}

impl MediumView {
    /// The reference by which a post names the file.
    pub fn path(&self) -> &str {
        match self {
            Self::Presigned(it) => &it.path,
            Self::Fetched(it) => &it.path,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresignedUpload {
    /// Accepts one PUT of the file's bytes.
    pub upload_url: String,
    /// The headers that the PUT must send, exactly as they are.
    pub upload_headers: BTreeMap<String, String>,
    /// The reference by which a post names the file.
    pub path: String,
    /// Seconds until `upload_url` expires.
    pub expires_in: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchedMedium {
    /// The reference by which a post names the file.
    pub path: String,
    /// A link to the file, valid for an hour.
    pub url: String,
    /// As declared; the first bytes of the file agree.
    pub mime_type: String,
    pub size: u64,
}
