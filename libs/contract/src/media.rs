//! Uploads of media files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The file to upload or to fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "mime_type": "image/png", "filename": "harbour.png" }))]
pub struct CreateMedium {
    /// The type of the file. The first bytes of the file must match it.
    #[schema(value_type = MimeTypeName)]
    pub mime_type: String,
    /// Your name for the file. It has no effect on where the file is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub filename: Option<String>,
    /// The URL from which the service fetches the file: http or https, on a public address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", max_length = 2048)]
    pub source_url: Option<String>,
    /// The size of the file in bytes. If you send it, `upload_url` accepts only a file of exactly
    /// this size, and until the file arrives, the upload counts with this size towards your storage
    /// limit, not with the largest size of its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub size: Option<u64>,
}

/// The type of a file.
#[derive(ToSchema)]
#[schema(as = MimeType)]
#[expect(dead_code, reason = "only its schema is used")]
enum MimeTypeName {
    #[schema(rename = "image/jpeg")]
    Jpeg,
    #[schema(rename = "image/png")]
    Png,
    #[schema(rename = "image/gif")]
    Gif,
    #[schema(rename = "image/webp")]
    Webp,
    #[schema(rename = "video/mp4")]
    Mp4,
    #[schema(rename = "video/quicktime")]
    Quicktime,
    #[schema(rename = "application/pdf")]
    Pdf,
}

/// Where to upload the file, or the file that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum MediumView {
    /// Where to upload the file.
    Presigned(PresignedUpload),
    /// The file that was fetched.
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

/// Where to upload the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "upload_url": "https://media.example.com/media/7/42.png?X-Amz-Signature=0a1b",
    "upload_headers": { "content-type": "image/png", "if-none-match": "*" },
    "path": "media/7/42.png",
    "expires_in": 3600
}))]
pub struct PresignedUpload {
    /// PUT the bytes of the file to this URL.
    pub upload_url: String,
    /// Send exactly these headers with the PUT.
    pub upload_headers: BTreeMap<String, String>,
    /// Name the file by this path in a post.
    pub path: String,
    /// Seconds until `upload_url` expires.
    pub expires_in: u64,
}

/// The file that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "path": "media/7/42.png",
    "url": "https://media.example.com/media/7/42.png?X-Amz-Signature=0a1b",
    "mime_type": "image/png",
    "size": 48_203
}))]
pub struct FetchedMedium {
    /// Name the file by this path in a post.
    pub path: String,
    /// A link to the file, valid for an hour.
    pub url: String,
    /// The declared type, which the first bytes of the file match.
    pub mime_type: String,
    /// The size of the file in bytes.
    pub size: u64,
}
