//! Parsing and validating the fields of a message.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::api_error::ApiError;
use super::files::File;

/// The fields that are not parsed yet.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    /// A text with a length in this range, in code points.
    pub(super) fn text(&mut self, name: &str, min: usize, max: usize) -> Result<Option<String>, ApiError> {
        self.0.remove(name).filter(|it| !it.is_null()).map(|it| text(name, &it, min, max)).transpose()
    }

    /// Checks `flags`; the fake accepts two of them.
    pub(super) fn flags(&mut self) -> Result<(), ApiError> {
        const ALLOWED: u64 = 1 << 2 | 1 << 12;
        match self.0.remove("flags") {
            None => Ok(()),
            Some(flags) if flags.as_u64().is_some_and(|it| it & !ALLOWED == 0) => Ok(()),
            Some(_) => Err(ApiError::field("flags", "BITFIELD_INVALID", "These flags cannot be set.")),
        }
    }

    /// Checks `allowed_mentions` (message resource, "Allowed Mentions Object"). Without the
    /// field, Discord notifies users. The fake refuses that: scheduled posts should not.
    pub(super) fn check_allowed_mentions(&mut self) -> Result<(), ApiError> {
        let wrong = |path: &str, words: &str| Err(ApiError::field(path, "BASE_TYPE_CHOICES", words));
        let Some(Value::Object(mut allowed)) = self.0.remove("allowed_mentions") else {
            return wrong("allowed_mentions", "Say who may be notified.");
        };
        let list = |it: Option<Value>| match it {
            Some(Value::Array(list)) => Some(list),
            _ => None,
        };
        let kinds = list(allowed.remove("parse")).unwrap_or_default();
        if !kinds.iter().all(|it| matches!(it.as_str(), Some("roles" | "users" | "everyone"))) {
            return wrong("allowed_mentions.parse", "Value must be one of ('roles', 'users', 'everyone').");
        }
        for name in ["users", "roles"] {
            let named = list(allowed.remove(name)).unwrap_or_default();
            if !named.is_empty() && kinds.iter().any(|it| it == name) {
                return wrong("allowed_mentions.parse", "This is mutually exclusive with naming them.");
            }
        }
        allowed.remove("replied_user");
        if allowed.is_empty() { Ok(()) } else { wrong("allowed_mentions", "There is no such field.") }
    }

    /// The description of each file, by file number. Each entry needs an uploaded file.
    pub(super) fn attachments(
        &mut self,
        files: &std::collections::BTreeMap<u64, File>,
    ) -> Result<Vec<(u64, Option<String>)>, ApiError> {
        let entries = match self.0.remove("attachments") {
            None => Vec::new(),
            Some(Value::Array(entries)) if entries.len() <= 10 => entries,
            Some(_) => {
                return Err(ApiError::field("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length."));
            }
        };
        let (mut seen, mut described) = (BTreeSet::new(), Vec::new());
        for (index, entry) in entries.into_iter().enumerate() {
            let path = |name: &str| format!("attachments.{index}.{name}");
            let Value::Object(mut entry) = entry else {
                return Err(ApiError::field(&path("id"), "BASE_TYPE_REQUIRED", "This field is required"));
            };
            let id = match entry.remove("id") {
                Some(Value::Number(id)) => id.as_u64(),
                Some(Value::String(id)) => id.parse().ok(),
                _ => None,
            };
            let attached_file = id.and_then(|it| Some((it, files.get(&it)?)));
            let Some((id, file)) = attached_file.filter(|(id, _)| seen.insert(*id)) else {
                return Err(ApiError::field(&path("id"), "ATTACHMENT_NOT_FOUND", "There is no file with this number."));
            };
            let filename = entry.remove("filename").map(|it| text(&path("filename"), &it, 1, 1_024)).transpose()?;
            if filename.is_some_and(|it| it != file.name) {
                return Err(ApiError::field(&path("filename"), "NOT_THE_SAME", "The file has another name."));
            }
            let words = entry.remove("description").map(|it| text(&path("description"), &it, 0, 1_024)).transpose()?;
            if let Some(name) = entry.keys().next() {
                return Err(ApiError::field(&path(name), "UNKNOWN", "There is no such field."));
            }
            described.push((id, words));
        }
        // Either all files are listed or none: the documentation does not define what
        // happens to the others.
        if !described.is_empty() && described.len() != files.len() {
            return Err(ApiError::field("attachments", "INCOMPLETE", "A file is not among them."));
        }
        Ok(described)
    }

    /// Refuses the remaining fields.
    pub(super) fn refuse_unknown(self) -> Result<(), ApiError> {
        match self.0.keys().next() {
            Some(name) => Err(ApiError::field(name, "UNKNOWN", "There is no such field.")),
            None => Ok(()),
        }
    }
}

/// Lengths are counted in code points.
fn text(path: &str, value: &Value, least: usize, most: usize) -> Result<String, ApiError> {
    let Value::String(text) = value else {
        return Err(ApiError::field(path, "STRING_TYPE_CONVERT", "Could not interpret this value as a string."));
    };
    let length = text.chars().count();
    if most < length {
        let message = format!("Must be {most} or fewer in length.");
        return Err(ApiError::field(path, "BASE_TYPE_MAX_LENGTH", &message));
    }
    if length < least {
        let message = format!("Must be {least} or more in length.");
        return Err(ApiError::field(path, "BASE_TYPE_MIN_LENGTH", &message));
    }
    Ok(text.clone())
}
