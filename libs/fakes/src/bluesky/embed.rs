//! Embeds of a post.

use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use super::cid;
use super::facet;
use super::schema::{Checked, array, fault, require, string};
use super::scope::accepts;

/// A reference from a record to a blob, with the type and size that the record claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlobRef {
    pub(super) cid: String,
    pub(super) mime_type: String,
    pub(super) size_bytes: u64,
}

/// Maximum size of an image, in bytes.
const IMAGE: u64 = 2_000_000;
/// Maximum size of a link card's image, in bytes.
const THUMB: u64 = 1_000_000;
/// Maximum size of a video, in bytes.
pub(super) const VIDEO: u64 = 300_000_000;
/// Maximum size of a captions file, in bytes.
const CAPTIONS: u64 = 20_000;

/// Checks an embed; returns its blobs in order.
pub(super) fn check(embed: &Value, path: &str) -> Checked<Vec<BlobRef>> {
    match embed["$type"].as_str() {
        Some("app.bsky.embed.images") => images(embed, path),
        Some("app.bsky.embed.gallery") => gallery(embed, path),
        Some("app.bsky.embed.video") => video(embed, path),
        Some("app.bsky.embed.external") => external(&embed["external"], &format!("{path}.external")),
        Some("app.bsky.embed.record") => record(&embed["record"], path),
        Some("app.bsky.embed.recordWithMedia") => {
            record(&embed["record"]["record"], path)?;
            check(&embed["media"], &format!("{path}.media"))
        }
        _ => fault(path, "expected a known embed"),
    }
}

/// The images or the video of a checked embed, in order, with their alt texts.
pub(super) fn media(embed: &Value) -> Vec<(BlobRef, Option<String>)> {
    let shown = |it: &Value, field: &str| {
        let alt_text = it["alt"].as_str().filter(|it| !it.is_empty()).map(str::to_owned);
        Some((read(&it[field])?, alt_text))
    };
    let read_media = |list: &Value| -> Vec<_> {
        let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(|it| shown(it, "image")).collect()
    };
    match embed["$type"].as_str() {
        Some("app.bsky.embed.images") => read_media(&embed["images"]),
        Some("app.bsky.embed.gallery") => read_media(&embed["items"]),
        Some("app.bsky.embed.video") => shown(embed, "video").into_iter().collect(),
        Some("app.bsky.embed.recordWithMedia") => media(&embed["media"]),
        _ => Vec::new(),
    }
}

/// Whether the embed has a gallery, alone or with a quote.
pub(super) fn has_gallery(embed: &Value) -> bool {
    [&embed["$type"], &embed["media"]["$type"]].iter().any(|it| **it == "app.bsky.embed.gallery")
}

/// Reads a blob of any type and size.
pub(super) fn read(blob: &Value) -> Option<BlobRef> {
    let fields = blob.as_object().filter(|it| it.len() == 4)?;
    if fields.get("$type")? != "blob" || fields.get("ref")?.as_object()?.len() != 1 {
        return None;
    }
    let cid = blob["ref"]["$link"].as_str().filter(|it| cid::is_cid(it))?;
    let (mime_type, size_bytes) = (blob["mimeType"].as_str()?.to_owned(), blob["size"].as_u64()?);
    Some(BlobRef { cid: cid.to_owned(), mime_type, size_bytes })
}

fn images(embed: &Value, path: &str) -> Checked<Vec<BlobRef>> {
    let path = format!("{path}.images");
    let images = array(&embed["images"], 4, &path)?;
    let image = |(index, it)| image(it, &format!("{path}[{index}]"), false);
    images.iter().enumerate().map(image).collect()
}

fn gallery(embed: &Value, path: &str) -> Checked<Vec<BlobRef>> {
    let path = format!("{path}.items");
    let item = |(index, it): (usize, &Value)| {
        let path = format!("{path}[{index}]");
        require(it["$type"] == "app.bsky.embed.gallery#image", &path, "expected app.bsky.embed.gallery#image")?;
        image(it, &path, true)
    };
    array(&embed["items"], 20, &path)?.iter().enumerate().map(item).collect()
}

fn image(image: &Value, path: &str, ratio_required: bool) -> Checked<BlobRef> {
    string(&image["alt"], &format!("{path}.alt"))?;
    aspect_ratio(&image["aspectRatio"], path, ratio_required)?;
    blob(&image["image"], "image/*", IMAGE, &format!("{path}.image"))
}

fn video(embed: &Value, path: &str) -> Checked<Vec<BlobRef>> {
    let mut blobs = vec![blob(&embed["video"], "video/mp4", VIDEO, &format!("{path}.video"))?];
    if !embed["alt"].is_null() {
        let alt = string(&embed["alt"], &format!("{path}.alt"))?;
        let path = format!("{path}.alt");
        require(alt.len() <= 10_000, &path, "string too big (maximum 10000)")?;
        require(alt.graphemes(true).count() <= 1000, &path, "string too big (maximum 1000 graphemes)")?;
    }
    aspect_ratio(&embed["aspectRatio"], path, false)?;
    if !embed["captions"].is_null() {
        for (index, it) in array(&embed["captions"], 20, path)?.iter().enumerate() {
            let path = format!("{path}.captions[{index}]");
            string(&it["lang"], &format!("{path}.lang"))?;
            blobs.push(blob(&it["file"], "text/vtt", CAPTIONS, &format!("{path}.file"))?);
        }
    }
    Ok(blobs)
}

fn external(card: &Value, path: &str) -> Checked<Vec<BlobRef>> {
    let uri = string(&card["uri"], &format!("{path}.uri"))?;
    require(facet::is_uri(uri), path, "expected a uri")?;
    string(&card["title"], &format!("{path}.title"))?;
    string(&card["description"], &format!("{path}.description"))?;
    if card["thumb"].is_null() {
        return Ok(Vec::new());
    }
    blob(&card["thumb"], "image/*", THUMB, &format!("{path}.thumb")).map(|it| vec![it])
}

/// Checks a reference to a record, which has no blobs: its URI and its content id.
pub(super) fn record(strong_ref: &Value, path: &str) -> Checked<Vec<BlobRef>> {
    let uri = string(&strong_ref["uri"], &format!("{path}.record.uri"))?;
    require(uri.starts_with("at://"), path, "expected an at-uri")?;
    let cid = string(&strong_ref["cid"], &format!("{path}.record.cid"))?;
    require(cid::is_cid(cid), path, "expected a cid")?;
    Ok(Vec::new())
}

fn blob(blob: &Value, accept: &str, max_bytes: u64, path: &str) -> Checked<BlobRef> {
    let Some(read) = read(blob) else { return fault(path, "expected a blob") };
    let BlobRef { mime_type, size_bytes, .. } = &read;
    if !accepts(accept, mime_type) {
        return fault(path, &format!("unexpected mime type {mime_type} (expected {accept})"));
    }
    if max_bytes < *size_bytes {
        return fault(path, &format!("blob too big (maximum {max_bytes}, got {size_bytes})"));
    }
    Ok(read)
}

fn aspect_ratio(ratio: &Value, path: &str, required: bool) -> Checked<()> {
    let positive = |name: &str| ratio[name].as_u64().is_some_and(|it| 1 <= it);
    let fits = (ratio.is_null() && !required) || (positive("width") && positive("height"));
    require(fits, &format!("{path}.aspectRatio"), "expected a width and a height")
}
