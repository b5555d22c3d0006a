use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::MimeType;
use serde_json::{Value, json};

use super::{Fake, Memory, unwanted};
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;

/// "Files can not exceed 4 MB."
const MAX_BYTES: usize = 4_000_000;

/// How long an unpublished photo is kept.
const KEPT: TimeDelta = TimeDelta::hours(24);

/// Maximum length of an alt text, in UTF-16 code units.
const MAX_ALT_TEXT: usize = 1_000;

#[derive(Clone, Debug)]
pub(super) struct Photo {
    pub(super) bytes: Bytes,
    pub(super) mime_type: MimeType,
    pub(super) words: Option<String>,
    pub(super) is_shown: bool,
    page: String,
    at: DateTime<Utc>,
}

impl Fake {
    /// `POST /{page}/photos`: uploads an unpublished photo.
    pub(super) fn photo(&self, page: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let bytes = fields.file("source")?;
        let alt_text = fields.text("alt_text_custom");
        let published = fields.want("published")?;
        fields.end()?;
        // A published photo is a separate post.
        if published != "false" {
            return Err(GraphError::param("published has to be false here"));
        }
        let is_taken = |it: &MimeType| matches!(it, MimeType::Jpeg | MimeType::Png | MimeType::Gif);
        let mime_type = MimeType::sniff(&bytes).filter(is_taken);
        let mime_type = mime_type.filter(|_| bytes.len() <= MAX_BYTES);
        let mime_type = mime_type.ok_or_else(|| {
            unwanted(324, 1_366_046, "Your photos couldn't be uploaded. Photos should be less than 4 MB and saved as JPG, PNG, GIF or TIFF files.")
        })?;
        if alt_text.as_ref().is_some_and(|it| it.is_empty() || MAX_ALT_TEXT < it.encode_utf16().count()) {
            return Err(GraphError::param("Param alt_text_custom must be at most 1000 characters"));
        }
        let at = self.clock.now();
        let mut memory = self.memory();
        let id = memory.next();
        let photo = Photo { bytes, mime_type, words: alt_text, is_shown: false, page: page.to_owned(), at };
        memory.photos.insert(id.clone(), photo);
        Ok(json!({ "id": id }))
    }
}

impl Memory {
    /// Publishes all of these photos, or none.
    pub(super) fn show(&mut self, page: &str, ids: &[String], now: DateTime<Utc>) -> Result<(), GraphError> {
        for (at, id) in ids.iter().enumerate() {
            let photo = self.photos.get(id).filter(|it| it.page == page && (it.is_shown || now < it.at + KEPT));
            let photo = photo.ok_or_else(|| GraphError::param(&format!("attached_media: no photo {id}")))?;
            if photo.is_shown || ids[..at].contains(id) {
                let message = "You've already posted these photos. Please choose others.";
                return Err(unwanted(100, 1_366_051, message));
            }
        }
        for id in ids {
            if let Some(photo) = self.photos.get_mut(id) {
                photo.is_shown = true;
            }
        }
        Ok(())
    }
}
