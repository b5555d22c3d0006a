//! What a post shows in addition to its text.

use domain::media::{AltText, Attachment, FileType, MimeType};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::blob::Blob;

/// The most pictures of `app.bsky.embed.images`. The official client uses this embed up to this
/// number, because older apps know no other.
pub(super) const MAX_PICTURES: u8 = 4;

/// The embed for more pictures, since June 2026. A server that does not know it accepts it without validation. Source:
/// the lexicon `app.bsky.embed.gallery`.
pub(super) const GALLERY: &str = "app.bsky.embed.gallery";

#[derive(Serialize, Deserialize)]
pub(super) struct File {
    pub(super) blob: Blob,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<(u32, u32)>,
}

/// Combines a quote and other media; `None` if there is neither.
pub(super) fn combine(quoted: Option<Value>, media: Option<Value>) -> Option<Value> {
    let Some(quoted) = quoted else { return media };
    let quote = json!({"$type": "app.bsky.embed.record", "record": quoted});
    let Some(media) = media else { return Some(quote) };
    Some(json!({"$type": "app.bsky.embed.recordWithMedia", "record": quote, "media": media}))
}

pub(super) fn is_video(mime_type: MimeType) -> bool {
    mime_type == MimeType::Gif || mime_type.file_type() == FileType::Video
}

pub(super) fn files(media: &[Attachment], files: &[File]) -> Value {
    let aspect_ratio = |(width, height): (u32, u32)| json!({"width": width, "height": height});
    if let ([video], [File { blob, size }]) = (media, files)
        && is_video(video.mime_type)
    {
        let mut embed = json!({"$type": "app.bsky.embed.video", "video": blob});
        if let Some(alt_text) = &video.alt_text {
            embed["alt"] = alt_text.as_str().into();
        }
        if let Some(size) = *size {
            embed["aspectRatio"] = aspect_ratio(size);
        }
        if video.mime_type == MimeType::Gif {
            // Shown in a loop, without controls.
            embed["presentation"] = "gif".into();
        }
        return embed;
    }
    let image = |(attachment, file): (&Attachment, &File)| {
        let alt_text = attachment.alt_text.as_ref().map_or("", AltText::as_str);
        let mut image = json!({"alt": alt_text, "image": file.blob});
        if let Some(size) = file.size {
            image["aspectRatio"] = aspect_ratio(size);
        }
        image
    };
    let mut images: Vec<Value> = media.iter().zip(files).map(image).collect();
    if images.len() <= MAX_PICTURES.into() {
        return json!({"$type": "app.bsky.embed.images", "images": images});
    }
    for image in &mut images {
        image["$type"] = format!("{GALLERY}#image").into();
    }
    json!({"$type": GALLERY, "items": images})
}
