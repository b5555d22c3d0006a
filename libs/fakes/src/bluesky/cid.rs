//! Content ids: a codec and a SHA-256 hash, as `CIDv1` in base32.

use serde_json::Value;
use sha2::{Digest, Sha256};

const RAW: u8 = 0x55;
const DAG_CBOR: u8 = 0x71;

/// The id of a file: `bafkrei…`.
pub(super) fn from_bytes(bytes: &[u8]) -> String {
    cid(RAW, bytes)
}

/// The id of a record: `bafyrei…`, as real servers compute it. `None` when the
/// record has a value that records cannot hold, such as a fraction.
pub(super) fn from_record(record: &Value) -> Option<String> {
    let mut bytes = Vec::new();
    encode(record, &mut bytes)?;
    Some(cid(DAG_CBOR, &bytes))
}

/// Whether this has the format of a content id.
pub(super) fn is_cid(text: &str) -> bool {
    text.len() == 59 && text.starts_with("baf") && unbase32(text).is_some()
}

fn cid(codec: u8, bytes: &[u8]) -> String {
    let mut cid = vec![1, codec, 0x12, 0x20];
    cid.extend(Sha256::digest(bytes));
    base32(&cid)
}

/// DAG-CBOR: shortest numbers, keys by length and then by bytes, links as tag
/// 42. Source: ipld.io/specs/codecs/dag-cbor.
fn encode(value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null => out.push(0xf6),
        Value::Bool(it) => out.push(if *it { 0xf5 } else { 0xf4 }),
        Value::Number(it) => match it.as_i64()? {
            it @ 0.. => head(0, it.unsigned_abs(), out),
            it => head(1, it.unsigned_abs() - 1, out),
        },
        Value::String(it) => {
            head(3, length(it.len()), out);
            out.extend(it.as_bytes());
        }
        Value::Array(items) => {
            head(4, length(items.len()), out);
            for item in items {
                encode(item, out)?;
            }
        }
        Value::Object(fields) => {
            if let Some(link) = fields.get("$link") {
                let bytes = unbase32(link.as_str()?)?;
                head(6, 42, out);
                head(2, length(bytes.len()) + 1, out);
                out.push(0);
                out.extend(bytes);
                return Some(());
            }
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| (name.len(), name.as_bytes()));
            head(5, length(fields.len()), out);
            for (name, value) in fields {
                encode(&Value::String(name.clone()), out)?;
                encode(value, out)?;
            }
        }
    }
    Some(())
}

/// Writes the head of an item: major type and argument.
fn head(major: u8, number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let (kind, from) = match number {
        0..24 => (bytes[7], 8),
        24..0x100 => (24, 7),
        0x100..0x1_0000 => (25, 6),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 0),
    };
    out.push(major << 5 | kind);
    out.extend(&bytes[from..]);
}

fn length(len: usize) -> u64 {
    u64::try_from(len).expect("a length fits into 64 bits")
}

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Multibase `b`: RFC 4648 in lower case without padding.
fn base32(bytes: &[u8]) -> String {
    let mut text = String::from("b");
    for chunk in bytes.chunks(5) {
        let bits = (0..5).fold(0_u64, |bits, index| bits << 8 | u64::from(chunk.get(index).copied().unwrap_or(0)));
        for digit in 0..(chunk.len() * 8).div_ceil(5) {
            let index = usize::try_from(bits >> (35 - 5 * digit) & 31).expect("five bits");
            text.push(char::from(ALPHABET[index]));
        }
    }
    text
}

fn unbase32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.strip_prefix('b')?.bytes() {
        let digit = ALPHABET.iter().position(|it| *it == letter)?;
        bits = (bits << 5 | u32::try_from(digit).ok()?) & 0xfff;
        count += 5;
        if 8 <= count {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn file_cid_matches_a_known_value() {
        let empty = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";

        assert_eq!(from_bytes(b""), empty);
        assert!(is_cid(empty));
        assert_eq!(base32(&unbase32(empty).unwrap()), empty);
    }

    #[test]
    fn record_cid_ignores_field_order() {
        let record: Value = serde_json::from_str(r#"{"a": 1, "bb": [true, null], "c": "é"}"#).unwrap();
        let turned: Value = serde_json::from_str(r#"{"c": "é", "bb": [true, null], "a": 1}"#).unwrap();

        assert_eq!(from_record(&record), from_record(&turned));
        assert!(from_record(&record).unwrap().starts_with("bafyrei"));
        assert_eq!(from_record(&json!({ "a": 0.5 })), None);
    }
}
