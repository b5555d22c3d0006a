//! What a post shows beside its text.

use domain::media::{AltText, Attachment, FileType};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::blob::Blob;

/// An uploaded file, as records show it.
#[derive(Serialize, Deserialize)]
pub(super) struct File {
    pub(super) blob: Blob,
    /// In pixels, as it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<(u32, u32)>,
}

/// What shows the files. There are pictures or a video, not both.
pub(super) fn files(media: &[Attachment], files: &[File]) -> Value {
    if let ([video], [File { blob, .. }]) = (media, files)
        && video.mime_type.file_type() == FileType::Video
    {
        let mut embed = json!({"$type": "app.bsky.embed.video", "video": blob});
        if let Some(words) = &video.alt_text {
            embed["alt"] = words.as_str().into();
        }
        return embed;
    }
    let image = |(carried, file): (&Attachment, &File)| {
        let words = carried.alt_text.as_ref().map_or("", AltText::as_str);
        let mut image = json!({"alt": words, "image": file.blob});
        if let Some((width, height)) = file.size {
            image["aspectRatio"] = json!({"width": width, "height": height});
        }
        image
    };
    json!({"$type": "app.bsky.embed.images", "images": media.iter().zip(files).map(image).collect::<Vec<_>>()})
}
