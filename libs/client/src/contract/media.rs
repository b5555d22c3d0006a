//! Files for posts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is to be uploaded or fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateMedium {
    /// The type of the file, like `image/png`. Its first bytes must agree.
    pub mime_type: String,
    /// The name of the file on the client's side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Where the service fetches the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    /// The size of the file in bytes: the target then takes a file of exactly that size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// Where to upload to, or what was fetched.
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
    /// Takes one PUT of the file's bytes.
    pub upload_url: String,
    /// The headers that the PUT must send, exactly these.
    pub upload_headers: BTreeMap<String, String>,
    /// The reference by which a post names the file.
    pub path: String,
    /// Seconds for which `upload_url` is good.
    pub expires_in: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchedMedium {
    /// The reference by which a post names the file.
    pub path: String,
    /// A link to the file that works for an hour.
    pub url: String,
    /// As declared, and as the first bytes say.
    pub mime_type: String,
    /// In bytes.
    pub size: u64,
}
