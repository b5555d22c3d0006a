use serde::{Deserialize, Deserializer, Serialize};

/// In bytes; hashes of today have 59 letters.
const MAX_CID_BYTES: usize = 128;

const MAX_MIME_BYTES: usize = 127;

/// A file on a server. It is stored and put into records, so only these fields of the server's
/// response are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Blob {
    #[serde(rename = "$type")]
    is: BlobType,
    #[serde(rename = "ref")]
    link: Link,
    #[serde(rename = "mimeType", deserialize_with = "mime_type")]
    mime_type: String,
    /// In bytes.
    size: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BlobType {
    Blob,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Link {
    #[serde(rename = "$link", deserialize_with = "cid")]
    cid: String,
}

fn cid<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let cid = String::deserialize(from)?;
    let is_one = (1..=MAX_CID_BYTES).contains(&cid.len()) && cid.bytes().all(|it| it.is_ascii_alphanumeric());
    is_one.then_some(cid).ok_or_else(|| serde::de::Error::custom("not the hash of a file"))
}

fn mime_type<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let mime = String::deserialize(from)?;
    let is_one = (1..=MAX_MIME_BYTES).contains(&mime.len()) && mime.bytes().all(|it| it.is_ascii_graphic());
    is_one.then_some(mime).ok_or_else(|| serde::de::Error::custom("not the type of a file"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn blob_json(cid: &str, mime: &str) -> Value {
        json!({"$type": "blob", "ref": {"$link": cid}, "mimeType": mime, "size": 3})
    }

    #[test]
    fn blob_is_written_with_its_known_fields_only() {
        let blob = blob_json("bafkreibme22gw2h7y2h7tg2fhqotaqjucnbc24deqo72b6mkl2egezxhvy", "image/png");
        let mut extended = blob.clone();
        extended["note"] = "x".repeat(100_000).into();
        assert_eq!(json!(from_value::<Blob>(extended).unwrap()), blob);
    }

    #[test]
    fn invalid_blob_is_rejected() {
        for blob in [
            blob_json(&"a".repeat(129), "image/png"),
            blob_json("a/b", "image/png"),
            blob_json("", "image/png"),
            blob_json("a", &"x".repeat(200)),
            blob_json("a", "image/png\r\n"),
            json!({"cid": "a", "mimeType": "image/png"}),
            json!("a"),
        ] {
            assert!(from_value::<Blob>(blob.clone()).is_err(), "{blob}");
        }
    }
}
