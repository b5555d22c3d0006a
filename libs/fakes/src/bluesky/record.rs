//! Records: the schema of posts.
//!
//! Source: `lexicons/app/bsky/feed/post.json` of August 2026.

use chrono::DateTime;
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use super::embed::{self, BlobRef};
use super::facet;
use super::schema::{Checked, array, require, string};

/// The collection of posts.
pub(super) const POST: &str = "app.bsky.feed.post";

/// Validates a post; returns the blobs it refers to.
pub(super) fn check(post: &Value) -> Checked<Vec<BlobRef>> {
    let text = string(&post["text"], "$.record.text")?;
    require(text.len() <= 3000, "$.record.text", "string too big (maximum 3000)")?;
    let graphemes = text.graphemes(true).count();
    require(graphemes <= 300, "$.record.text", "string too big (maximum 300 graphemes)")?;
    let created_at = string(&post["createdAt"], "$.record.createdAt")?;
    require(is_datetime(created_at), "$.record.createdAt", "expected a datetime")?;
    if !post["langs"].is_null() {
        for lang in array(&post["langs"], 3, "$.record.langs")? {
            require(is_language(string(lang, "$.record.langs")?), "$.record.langs", "expected a language")?;
        }
    }
    if !post["labels"].is_null() {
        let kind = "com.atproto.label.defs#selfLabels";
        require(post["labels"]["$type"] == kind, "$.record.labels", &format!("expected {kind}"))?;
        for label in array(&post["labels"]["values"], 10, "$.record.labels.values")? {
            let label = string(&label["val"], "$.record.labels.values")?;
            require(label.len() <= 128, "$.record.labels.values", "string too big (maximum 128)")?;
        }
    }
    if !post["tags"].is_null() {
        for tag in array(&post["tags"], 8, "$.record.tags")? {
            facet::tag(string(tag, "$.record.tags")?, "$.record.tags")?;
        }
    }
    if !post["facets"].is_null() {
        facet::check(&post["facets"], text, "$.record.facets")?;
    }
    if !post["reply"].is_null() {
        for name in ["root", "parent"] {
            embed::record(&post["reply"][name], &format!("$.record.reply.{name}"))?;
        }
    }
    if post["embed"].is_null() { Ok(Vec::new()) } else { embed::check(&post["embed"], "$.record.embed") }
}

/// What a post replies to. The post is already checked.
pub(super) fn parent(post: &Value) -> Option<&str> {
    post["reply"]["parent"]["uri"].as_str()
}

/// RFC 3339 with an upper-case `T` and `Z`, and a known offset (not `-00:00`).
fn is_datetime(text: &str) -> bool {
    DateTime::parse_from_rfc3339(text).is_ok()
        && text.as_bytes().get(10) == Some(&b'T')
        && !text.ends_with('z')
        && !text.ends_with("-00:00")
}

/// Whether this begins like a BCP 47 tag: a short subtag, then others.
fn is_language(text: &str) -> bool {
    let mut parts = text.split('-');
    let first = parts.next().unwrap_or_default();
    // Position: 0 before the script, 1 before the region, 2 after the region.
    let mut place = 0;
    let rest = parts.all(|it| {
        let (alphabetic, digits) =
            (it.bytes().all(|it| it.is_ascii_alphabetic()), it.bytes().all(|it| it.is_ascii_digit()));
        match it.len() {
            4 if alphabetic && place == 0 => place = 1,
            2 if alphabetic && place < 2 => place = 2,
            3 if digits && place < 2 => place = 2,
            5..=8 if it.bytes().all(|it| it.is_ascii_alphanumeric()) => place = 2,
            4 if it.as_bytes()[0].is_ascii_digit() => place = 2,
            _ => return false,
        }
        true
    });
    (2..=3).contains(&first.len()) && first.bytes().all(|it| it.is_ascii_lowercase()) && rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(change: &Value) -> Checked<Vec<BlobRef>> {
        let mut post = json!({ "$type": POST, "text": "hello é", "createdAt": "2026-11-20T12:00:00.000Z" });
        for (name, value) in change.as_object().unwrap() {
            post[name] = value.clone();
        }
        check(&post)
    }

    fn link(start: u64, end: u64) -> Value {
        let feature = json!({ "$type": "app.bsky.richtext.facet#link", "uri": "https://a.test" });
        json!({ "index": { "byteStart": start, "byteEnd": end }, "features": [feature] })
    }

    #[test]
    fn largest_post_is_accepted() {
        let family = "👨‍👩‍👧";

        assert!(with(&json!({ "text": "x".repeat(300) })).is_ok());
        assert!(with(&json!({ "text": "x".repeat(301) })).is_err());
        assert!(with(&json!({ "text": family.repeat(160) })).is_ok());
        assert!(with(&json!({ "text": family.repeat(170) })).unwrap_err().contains("maximum 3000"));
    }

    #[test]
    fn facets_must_align_with_characters_and_not_overlap() {
        assert!(with(&json!({ "facets": [link(0, 5), link(6, 8)] })).is_ok());
        assert!(with(&json!({ "facets": [link(0, 7)] })).unwrap_err().contains("cuts a character"));
        assert!(with(&json!({ "facets": [link(0, 9)] })).unwrap_err().contains("out of the text"));
        assert!(with(&json!({ "facets": [link(3, 6), link(0, 4)] })).unwrap_err().contains("overlap"));
        assert!(with(&json!({ "facets": [{ "index": {"byteStart": 0, "byteEnd": 1}, "features": [{}] }] })).is_err());
    }

    #[test]
    fn invalid_records_are_refused() {
        for wrong in [
            json!({ "text": null }),
            json!({ "createdAt": "2026-11-20T12:00:00" }),
            json!({ "createdAt": "20 November" }),
            json!({ "langs": ["en", "de", "fr", "it"] }),
            json!({ "langs": ["English please"] }),
            json!({ "tags": ["x".repeat(65)] }),
            json!({ "embed": { "$type": "app.bsky.embed.images", "images": [{ "image": {} }] } }),
            json!({ "embed": { "$type": "app.bsky.embed.external", "external": { "uri": "https://a.test", "title": "" } } }),
            json!({ "embed": {} }),
            json!({ "reply": {} }),
            json!({ "reply": { "root": { "uri": "at://did:plc:a/app.bsky.feed.post/3k", "cid": "x" } } }),
        ] {
            assert!(with(&wrong).is_err(), "{wrong}");
        }
    }
}
