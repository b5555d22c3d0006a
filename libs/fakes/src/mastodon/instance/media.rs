use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

/// How long the server keeps a file that is in no status.
const UNATTACHED_LIFETIME: TimeDelta = TimeDelta::days(1);

#[derive(Clone)]
pub(crate) struct Medium {
    pub(crate) id: u64,
    pub(crate) mime_type: String,
    pub(crate) bytes: Bytes,
    pub(crate) description: Option<String>,
    pub(crate) uploaded_at: DateTime<Utc>,
    pub(crate) polls_left: usize,
    pub(crate) failed: bool,
    pub(crate) attached: bool,
}

impl Medium {
    /// Whether a status may use the file: no other status does, and the file is not too old.
    pub(crate) fn is_free(&self, now: DateTime<Utc>) -> bool {
        !self.attached && now < self.uploaded_at + UNATTACHED_LIFETIME
    }

    /// Whether the file is processed, so that a status may use it.
    pub(crate) fn is_ready(&self) -> bool {
        self.polls_left == 0 && !self.failed
    }

    /// Whether the file is a video, which must be a status's only file. Animated images may have company.
    pub(crate) fn is_video(&self) -> bool {
        self.mime_type.starts_with("video/")
    }

    pub(crate) fn view(&self, base_url: &str) -> Value {
        let kind = match self.mime_type.as_str() {
            "image/gif" => "gifv",
            _ if self.is_video() => "video",
            _ => "image",
        };
        let url = self.is_ready().then(|| format!("{base_url}/media_attachments/{}/original", self.id));
        json!({
            "id": self.id.to_string(),
            "type": kind,
            "url": url,
            "preview_url": format!("{base_url}/media_attachments/{}/small", self.id),
            "remote_url": null,
            "meta": {},
            "description": self.description,
            "blurhash": null,
        })
    }
}
