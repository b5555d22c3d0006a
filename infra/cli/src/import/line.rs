use std::collections::BTreeMap;

use client::IdempotencyKey;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::arguments::Format;
use crate::error::CliError;
use crate::files::hex;
use crate::output::{beginning, plain};

const FIELDS: [&str; 9] = ["content", "to", "at", "media", "alt", "thread", "options", "external_id", "labels"];

/// Further fields of an exported line.
const TOLD: [&str; 5] = ["id", "status", "created_at", "urls", "errors"];

/// The longest line, in bytes: a text of 65,000 characters is less.
const MAX_LINE: usize = 1024 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Counted from 1, as editors do.
    pub(crate) number: u64,
    pub(crate) exported: Option<Exported>,
    fields: Map<String, Value>,
    key: IdempotencyKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exported {
    pub(crate) id: u64,
    /// Whether it was public, or on its way, when it was exported.
    pub(crate) is_public: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) number: u64,
    /// Empty for the whole line.
    pub(crate) field: String,
    pub(crate) why: String,
}

impl Broken {
    pub(crate) fn new(number: u64, field: &str, why: &(impl ToString + ?Sized)) -> Self {
        Self { number, field: field.to_owned(), why: why.to_string() }
    }
}

impl Line {
    /// Identifies the line at the service and in the report.
    pub(crate) fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// `None` if the field is absent or empty.
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }
}

/// The name of the file is part of the keys. With `copies`, the id of an exported line is ignored.
pub(crate) fn lines(
    format: Format,
    bytes: &[u8],
    name: &str,
    copies: bool,
) -> Result<Vec<Result<Line, Broken>>, CliError> {
    // Spreadsheets write a byte order mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let read = match format {
        Format::Csv => parse_csv(bytes)?,
        Format::Jsonl => parse_jsonl(bytes),
    };
    let mut seen = BTreeMap::new();
    let keyed = read.into_iter().map(|read| {
        let (number, fields) = read?;
        let exported = if copies { None } else { exported(number, &fields)? };
        let fields = clean_fields(number, fields)?;
        if let Some(exported) = exported {
            let key = exported_key(exported.id).map_err(|it| Broken::new(number, "id", &it))?;
            return Ok(Line { number, exported: Some(exported), fields, key });
        }
        let fields_json = Value::Object(fields.clone()).to_string();
        let occurrence: &mut u64 = seen.entry(fields_json.clone()).or_default();
        *occurrence += 1;
        let key = key(name, &fields_json, *occurrence).map_err(|it| Broken::new(number, "", &it))?;
        Ok(Line { number, exported: None, fields, key })
    });
    Ok(keyed.collect())
}

/// `None` if the line has no id.
fn exported(number: u64, fields: &Map<String, Value>) -> Result<Option<Exported>, Broken> {
    let id = match fields.get("id") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_u64(),
    };
    let Some(id) = id else {
        let why = "is not the id of a post. A spreadsheet may have rounded it: export again and format the column as \
                   text; or use --copies";
        return Err(Broken::new(number, "id", why));
    };
    let status = fields.get("status").and_then(Value::as_str).unwrap_or_default();
    Ok(Some(Exported { id, is_public: ["publishing", "published"].contains(&status) }))
}

/// A hash of the file's name, the fields, and the number of equal lines before this one. The line
/// number is not part of it, so that adding or removing a line above changes no other key; neither
/// are the order of columns, white space of JSON, or the folder.
fn key(name: &str, fields_json: &str, occurrence: u64) -> Result<IdempotencyKey, client::InvalidIdempotencyKey> {
    hash_key(&["social import 1", name, fields_json, &occurrence.to_string()])
}

/// The key of an exported line depends only on its post, so that several exports of one post, in any
/// format and with changes in between, become one post of the importing account.
fn exported_key(id: u64) -> Result<IdempotencyKey, client::InvalidIdempotencyKey> {
    hash_key(&["social import of an export 1", &id.to_string()])
}

fn hash_key(parts: &[&str]) -> Result<IdempotencyKey, client::InvalidIdempotencyKey> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    IdempotencyKey::parse(format!("social-import-{}", hex(&hash.finalize())))
}

type Numbered = Result<(u64, Map<String, Value>), Broken>;

fn parse_jsonl(bytes: &[u8]) -> Vec<Numbered> {
    let numbered = (1..).zip(bytes.split(|it| *it == b'\n'));
    let filled = numbered.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = filled.map(|(number, line)| {
        if MAX_LINE < line.len() {
            return Err(Broken::new(number, "", "is longer than 1 MiB"));
        }
        match serde_json::from_slice(line) {
            Ok(Value::Object(fields)) => Ok((number, fields)),
            Ok(_) => Err(Broken::new(number, "", "is not a JSON object")),
            Err(error) => Err(Broken::new(number, "", &format!("is not valid JSON: see column {}", error.column()))),
        }
    });
    read.collect()
}

fn parse_csv(bytes: &[u8]) -> Result<Vec<Numbered>, CliError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let wrong = |error: csv::Error| CliError::Usage(format!("the first line must name the columns: {error}"));
    let names: Vec<String> = reader.headers().map_err(wrong)?.iter().map(|it| it.trim().to_lowercase()).collect();
    if !names.iter().any(|it| it == "content") {
        return Err(without_content(bytes));
    }
    if let Some(duplicate) = names.iter().enumerate().find(|(at, it)| !it.is_empty() && names[..*at].contains(it)) {
        return Err(CliError::Usage(format!("the first line names {} twice", plain(duplicate.1))));
    }
    let read = reader.byte_records().map(|record| {
        let record = record.map_err(|error| {
            let number = error.position().map_or(0, csv::Position::line);
            Broken::new(number, "", &error)
        })?;
        let number = record.position().map_or(0, csv::Position::line);
        if record.len() != names.len() {
            let why =
                format!("has {} fields, but the first line names {}; check the quotes", record.len(), names.len());
            return Err(Broken::new(number, "", &why));
        }
        let mut fields = Map::new();
        for (name, cell) in names.iter().zip(&record) {
            let text = std::str::from_utf8(cell).map_err(|_| Broken::new(number, name, "is not UTF-8"))?;
            if MAX_LINE < text.len() {
                return Err(Broken::new(number, name, "is longer than 1 MiB"));
            }
            fields.insert(name.clone(), Value::String(text.to_owned()));
        }
        Ok((number, fields))
    });
    let mut read: Vec<_> = read.collect();
    if let Some(number) = unclosed_quote(bytes) {
        let why = "has a quote that is not closed, so the rest of the file belongs to its text";
        // The last record is this line with everything after it.
        read.pop();
        read.push(Err(Broken::new(number, "", why)));
    }
    Ok(read)
}

/// The error of a file whose first line does not name the column `content`. Quotes what the line has
/// instead.
fn without_content(bytes: &[u8]) -> CliError {
    let first = bytes.split(|it| *it == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let separator = [(';', "semicolons"), ('\t', "tabs")].into_iter().find(|it| first.contains(it.0));
    let quoted = beginning(first.trim(), 60);
    CliError::Usage(match separator {
        Some((_, name)) if !first.contains(',') => {
            format!("the first line is {quoted:?}: its columns are separated by {name}; separate them by commas")
        }
        _ => format!("the first line must name the columns, including content, separated by commas; it is {quoted:?}"),
    })
}

/// The number of the line with a quote that no other quote closes. A quote inside a field without
/// quotes is text.
fn unclosed_quote(bytes: &[u8]) -> Option<u64> {
    let (mut number, mut start, mut before) = (1, 1, b',');
    let (mut is_quoted, mut is_open) = (false, false);
    for byte in bytes {
        match byte {
            b'"' if is_open => is_open = false,
            // The second of two quotes, which stand for one.
            b'"' if is_quoted && before == b'"' => is_open = true,
            b'"' if matches!(before, b',' | b'\n' | b'\r') => (start, is_quoted, is_open) = (number, true, true),
            b',' | b'\n' | b'\r' if !is_open => is_quoted = false,
            _ => {}
        }
        number += u64::from(*byte == b'\n');
        before = *byte;
    }
    is_open.then_some(start)
}

/// The non-empty fields. An unknown field is an error, because it may be a misspelled time.
fn clean_fields(number: u64, fields: Map<String, Value>) -> Result<Map<String, Value>, Broken> {
    let mut kept = Map::new();
    for (name, value) in fields {
        let is_empty = value.is_null() || value.as_str().is_some_and(|it| it.trim().is_empty());
        match name.as_str() {
            it if FIELDS.contains(&it) && !is_empty => drop(kept.insert(name, value)),
            it if FIELDS.contains(&it) || TOLD.contains(&it) => {}
            _ if is_empty && name.is_empty() => {}
            _ => return Err(Broken::new(number, &name, &format!("is not a field; use {}", FIELDS.join(", ")))),
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    #[test]
    fn duplicate_column_is_an_error() {
        assert!(lines(Format::Csv, b"content,at,at\na,,\n", "posts.csv", false).is_err());
    }

    fn csv(text: &str) -> Vec<Result<Line, Broken>> {
        lines(Format::Csv, text.as_bytes(), "posts.csv", false).unwrap()
    }

    fn keys(text: &str) -> Vec<String> {
        csv(text).into_iter().map(|it| it.unwrap().key.to_string()).collect()
    }

    #[test]
    fn key_of_a_line_does_not_depend_on_its_position() {
        let before = keys("content,at\none,\ntwo,2026-12-24T18:00:00Z\n");
        let after = keys("at,content\n,three\n2026-12-24T18:00:00Z,two\n,one\n");
        assert_eq!((&after[1], &after[2]), (&before[1], &before[0]));
        let json = lines(Format::Jsonl, b"{\"content\": \"one\"}\n\n", "posts.csv", false).unwrap();
        assert_eq!(json[0].as_ref().unwrap().key.to_string(), before[0]);
    }

    #[test]
    fn equal_lines_and_other_files_have_their_own_keys() {
        let keys = keys("content\nsame\nsame\n");
        assert_ne!(keys[0], keys[1]);
        let other = lines(Format::Csv, b"content\nsame\n", "other.csv", false).unwrap();
        assert_ne!(other[0].as_ref().unwrap().key.to_string(), keys[0]);
    }

    #[test]
    fn invalid_line_is_reported_and_the_rest_is_read() {
        let read = csv("content,at\none,\n\"two\nlines\",\nthree,,4\nfour,\n");
        let numbers: Vec<_> = read.iter().map(|it| it.as_ref().map_or_else(|it| it.number, |it| it.number)).collect();
        assert_eq!(numbers, [2, 3, 5, 6]);
        assert_eq!(read[2].as_ref().unwrap_err().why, "has 3 fields, but the first line names 2; check the quotes");

        let text = b"{\"content\":\"a\"}\n{\"contents\":\"a\"}\n[]\n{\n{\"content\":\"b\"}";
        let read = lines(Format::Jsonl, text, "a", false).unwrap();
        let errors: Vec<_> =
            read.iter().filter_map(|it| it.as_ref().err()).map(|it| (it.number, it.field.as_str())).collect();
        assert_eq!(errors, [(2, "contents"), (3, ""), (4, "")]);
    }

    #[test]
    fn unclosed_quote_is_reported_with_its_line() {
        let read = csv("content,to\n\"5\"\" disk\",a\n5\" disk,a\n\"two,a\nthree,a\n");
        assert_eq!(read.iter().filter(|it| it.is_ok()).count(), 2);
        let broken = read[2].as_ref().unwrap_err();
        assert_eq!((broken.number, read.len()), (4, 3));
        assert!(broken.why.starts_with("has a quote that is not closed"), "{}", broken.why);

        // The number of fields is right, and the text would be the rest of the file.
        assert!(csv("to,content\na,\"one\nb,two\n")[0].is_err());
        // A quote in a text without quotes is a character, also in the last line.
        assert!(csv("content\n5\" disk\n").iter().chain(&csv("content\n\"\"\"one\"\"\"")).all(Result::is_ok));
    }

    #[test]
    fn other_separator_is_named() {
        let error = |text: &str| lines(Format::Csv, text.as_bytes(), "a", false).unwrap_err().to_string();
        let semicolons = error("\u{feff}Content;To\r\none;all\n");
        assert!(semicolons.starts_with(r#"the first line is "Content;To": its columns are separated by semicolons"#));
        let tabs = error("content\tto\n");
        assert!(tabs.contains("separated by tabs"), "{tabs}");
        assert!(error("text,to\n").ends_with(r#"it is "text,to""#));
    }

    #[test]
    fn exported_line_is_recognized_by_its_post_unless_copied() {
        let csv = "content,id,status,urls\none,7,published,https://example.com\n";
        let json = br#"{"content":"changed","id":7,"status":"draft","at":null}"#;
        let read = |copies| {
            let csv = lines(Format::Csv, csv.as_bytes(), "posts.csv", copies).unwrap().remove(0).unwrap();
            (csv, lines(Format::Jsonl, json, "other.jsonl", copies).unwrap().remove(0).unwrap())
        };

        let (csv, json) = read(false);
        assert_eq!(csv.exported, Some(Exported { id: 7, is_public: true }));
        assert_eq!(json.exported, Some(Exported { id: 7, is_public: false }));
        assert_eq!(csv.key, json.key);
        let (csv, json) = read(true);
        assert_eq!((csv.exported, json.exported), (None, None));
        assert_ne!(csv.key, json.key);
        assert_eq!([csv.key.to_string()], keys("content\none\n")[..]);
        assert!(lines(Format::Csv, b"text\none\n", "a", false).is_err());
    }

    #[test]
    fn rounded_id_is_an_error() {
        let read = csv("content,id\none,3.73429E+14\ntwo,\nthree, 7 \n");
        assert_eq!(read[0].as_ref().unwrap_err().field, "id");
        assert_eq!(read[1].as_ref().unwrap().exported, None);
        assert_eq!(read[2].as_ref().unwrap().exported.unwrap().id, 7);
    }
}
