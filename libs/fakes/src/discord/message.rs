//! The fields that messages of webhooks and of bots have in common.

use std::collections::BTreeMap;

use serde_json::Value;

use super::api_error::ApiError;
use super::files::File;
use crate::conformance::fake_platform::PublicMedium;
use crate::fake::schema::{Any, Boolean, Field, Integer, List, Nullable, Object, OneOf, Optional, Required, Text};

pub(super) const CONTENT: Field = ("content", Nullable, Text(0, 2_000));

pub(super) const FLAGS: Field = ("flags", Optional, Integer(0, u64::MAX));

/// "Allowed Mentions Object". Without the field, Discord notifies users. The fake refuses that: scheduled posts should not.
pub(super) const ALLOWED_MENTIONS: Field = (
    "allowed_mentions",
    Required,
    Object(&[
        ("parse", Optional, List(0, 3, &OneOf(&["roles", "users", "everyone"]))),
        ("users", Optional, List(0, 100, &Any)),
        ("roles", Optional, List(0, 100, &Any)),
        ("replied_user", Optional, Boolean),
    ]),
);

pub(super) const ATTACHMENTS: Field = ("attachments", Optional, List(0, 10, &Object(ATTACHMENT)));

const ATTACHMENT: &[Field] =
    &[("id", Required, Any), ("filename", Optional, Text(1, 1_024)), ("description", Optional, Text(0, 1_024))];

/// The flags that messages can set: `SUPPRESS_EMBEDS` and `SUPPRESS_NOTIFICATIONS`.
const ALLOWED_FLAGS: u64 = 1 << 2 | 1 << 12;

pub(super) struct MessageBody {
    pub(super) text: String,
    pub(super) media: Vec<PublicMedium>,
    pub(super) names: Vec<String>,
}

impl MessageBody {
    /// Checks what the descriptions of the fields do not say.
    pub(super) fn read(message: &Value, files: BTreeMap<u64, File>) -> Result<Self, ApiError> {
        if message["flags"].as_u64().unwrap_or_default() & !ALLOWED_FLAGS != 0 {
            return Err(ApiError::field("flags", "BITFIELD_INVALID", "These flags cannot be set."));
        }
        let allowed = &message["allowed_mentions"];
        let list = |name: &str| allowed[name].as_array().map(Vec::as_slice).unwrap_or_default();
        if list("parse").iter().filter_map(Value::as_str).any(|kind| !list(kind).is_empty()) {
            let message = "This is mutually exclusive with naming them.";
            return Err(ApiError::field("allowed_mentions.parse", "BASE_TYPE_CHOICES", message));
        }
        let mut alt_texts = alt_texts(&message["attachments"], &files)?;
        let text = message["content"].as_str().unwrap_or_default().trim().to_owned();
        if text.is_empty() && files.is_empty() {
            return Err(ApiError::bad(50_006, "Cannot send an empty message"));
        }
        let names = files.values().map(|it| it.name.clone()).collect();
        let media = files.into_iter().map(|(number, file)| PublicMedium {
            mime_type: file.mime_type,
            bytes: file.bytes.to_vec(),
            alt_text: alt_texts.remove(&number).filter(|it| !it.is_empty()),
        });
        Ok(Self { text, media: media.collect(), names })
    }
}

/// The descriptions by file number. The documentation does not define what happens to files that are not listed, so either all
/// are listed or none.
fn alt_texts(attachments: &Value, files: &BTreeMap<u64, File>) -> Result<BTreeMap<u64, String>, ApiError> {
    let mut alt_texts = BTreeMap::new();
    for (index, entry) in attachments.as_array().into_iter().flatten().enumerate() {
        let path = |name: &str| format!("attachments.{index}.{name}");
        let id = entry["id"].as_u64().or_else(|| entry["id"].as_str()?.parse().ok());
        let Some((id, file)) = id.and_then(|it| Some((it, files.get(&it)?))) else {
            return Err(ApiError::field(&path("id"), "ATTACHMENT_NOT_FOUND", "There is no file with this number."));
        };
        if entry["filename"].as_str().is_some_and(|it| it != file.name) {
            return Err(ApiError::field(&path("filename"), "NOT_THE_SAME", "The file has another name."));
        }
        if alt_texts.insert(id, entry["description"].as_str().unwrap_or_default().to_owned()).is_some() {
            return Err(ApiError::field(&path("id"), "ATTACHMENT_NOT_FOUND", "The file is listed twice."));
        }
    }
    if !alt_texts.is_empty() && alt_texts.len() != files.len() {
        return Err(ApiError::field("attachments", "INCOMPLETE", "A file is not among them."));
    }
    Ok(alt_texts)
}
