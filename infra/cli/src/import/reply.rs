use std::fmt::Display;
use std::path::Path;

use client::NewThreadEntry;
use serde::Deserialize;
use serde_json::Value;

use super::line::{Broken, Line};
use crate::error::CliError;
use crate::files::Medium;
use crate::posting::thread::blocks;

#[derive(Debug)]
pub(crate) struct Reply {
    /// `None` only where there are files.
    pub(crate) content: Option<String>,
    pub(crate) files: Vec<Medium>,
    pub(crate) alt: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    content: Option<String>,
    media: Vec<String>,
    alt: Vec<String>,
}

impl Reply {
    /// A JSON list of replies, or texts with lines of `---` between them. Their files are in `folder`.
    pub(crate) fn read_all(line: &Line, folder: &Path) -> Result<Vec<Self>, Broken> {
        let broken = |why: &dyn Display| Broken::new(line.number, "thread", &why);
        let entries = match line.field("thread") {
            None => return Ok(Vec::new()),
            Some(Value::Array(entries)) => entries.clone(),
            Some(Value::String(text)) if text.trim_start().starts_with('[') => {
                let why = "begins with [ and is not a JSON list; write the replies as a JSON list";
                serde_json::from_str(text).map_err(|_| broken(&why))?
            }
            Some(Value::String(text)) => blocks(text).into_iter().map(Value::String).collect(),
            Some(_) => return Err(broken(&"must be a list of replies")),
        };
        let read = (1..)
            .zip(entries)
            .map(|(number, entry)| Self::read(entry, folder).map_err(|why| broken(&format!("reply {number}: {why}"))));
        read.collect()
    }

    fn read(entry: Value, folder: &Path) -> Result<Self, String> {
        let Entry { content, media, alt } = match entry {
            Value::String(text) => Entry { content: Some(text), ..Entry::default() },
            entry @ Value::Object(_) => serde_json::from_value(entry).map_err(|it| it.to_string())?,
            _ => return Err("must be a text, or an object with content, media and alt".to_owned()),
        };
        let content = content.filter(|it| !it.trim().is_empty());
        if content.is_none() && media.is_empty() {
            return Err("is empty; give it a text or files, or remove it".to_owned());
        }
        if media.len() < alt.len() {
            return Err("alt has more entries than media".to_owned());
        }
        let files = media.iter().map(|it| Medium::inspect(it, folder)).collect::<Result<Vec<_>, CliError>>();
        Ok(Self { content, files: files.map_err(|it| it.to_string())?, alt })
    }

    /// For a check that uploads nothing. A reply needs a text or files, so one with files alone
    /// gets a short text.
    pub(crate) fn without_files(&self) -> NewThreadEntry {
        NewThreadEntry { content: Some(self.content.clone().unwrap_or_else(|| "-".to_owned())), media: None }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use client::Post;
    use serde_json::json;

    use super::super::line::lines;
    use super::*;
    use crate::arguments::Format;
    use crate::export::Lines;

    fn read(format: Format, text: &[u8], folder: &Path) -> Result<Vec<Reply>, Broken> {
        let line = lines(format, text, "posts", true).unwrap().remove(0).unwrap();
        Reply::read_all(&line, folder)
    }

    fn read_thread(thread: &Value) -> Result<Vec<Reply>, Broken> {
        let line = json!({ "content": "one", "thread": thread }).to_string();
        read(Format::Jsonl, line.as_bytes(), Path::new("."))
    }

    fn contents(replies: &[Reply]) -> Vec<Option<&str>> {
        replies.iter().map(|it| it.content.as_deref()).collect()
    }

    #[test]
    fn thread_is_the_same_in_csv_and_jsonl() {
        let csv = "content,thread\none,\"two | 2\n---\nthree\"\n".as_bytes();
        let csv_with_json = br#"content,thread
one,"[""two | 2"",{""content"":""three""}]"
"#;
        let json = json!(["two | 2", { "content": "three" }]);
        for replies in [
            read(Format::Csv, csv, Path::new(".")).unwrap(),
            read(Format::Csv, csv_with_json, Path::new(".")).unwrap(),
            read_thread(&json).unwrap(),
            read_thread(&json!("two | 2\n---\nthree")).unwrap(),
        ] {
            assert_eq!(contents(&replies), [Some("two | 2"), Some("three")]);
        }
        for absent in [json!(null), json!(""), json!([])] {
            assert!(read_thread(&absent).unwrap().is_empty(), "{absent}");
        }
    }

    #[test]
    fn invalid_reply_is_named() {
        for (thread, message) in [
            (json!(7), "must be a list of replies"),
            (json!("[1/2] two"), "begins with [ and is not a JSON list"),
            (json!("two\n---\n"), "reply 2: is empty"),
            (json!(["two", { "content": " " }]), "reply 2: is empty"),
            (json!([7]), "reply 1: must be a text, or an object"),
            (json!([{ "content": "two", "title": "a" }]), "reply 1: unknown field `title`"),
            (json!([{ "content": "two", "alt": ["A boat"] }]), "reply 1: alt has more entries than media"),
            (json!([{ "media": ["missing.png"] }]), "reply 1: missing.png"),
        ] {
            let broken = read_thread(&thread).unwrap_err();
            assert!(broken.field == "thread" && broken.why.starts_with(message), "{thread}: {}", broken.why);
        }
    }

    #[test]
    fn file_of_a_reply_is_in_the_folder_of_the_import() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("boat.png"), "picture").unwrap();
        let line = br#"{"content":"one","thread":[{"media":["boat.png"],"alt":["A boat"]}]}"#;

        let replies = read(Format::Jsonl, line, folder.path()).unwrap();

        assert_eq!(
            (contents(&replies), replies[0].files.len(), &replies[0].alt[..]),
            (vec![None], 1, &["A boat".to_owned()][..])
        );
        assert_eq!(replies[0].without_files().content.as_deref(), Some("-"), "the check needs a text");
    }

    #[test]
    fn exported_thread_is_imported_with_texts_files_and_alt_texts() {
        let file = |name: &str, alt_text: Option<&str>| {
            let url = format!("https://files.example/{name}.png?signature=a%20b");
            json!({ "id": 3, "url": url, "file_type": "image", "mime_type": "image/png", "alt_text": alt_text })
        };
        let post: Post = serde_json::from_value(json!({
            "id": 7, "revision": 1, "content": "one", "status": "draft", "scheduled_at": null,
            "created_at": "2026-11-21T09:00:00.000Z", "updated_at": "2026-11-21T09:00:00.000Z",
            "creator": { "id": 1, "name": "Demo User" }, "platforms": [], "media": [],
            "thread": [
                { "content": "[2] two,\n---\n\"2\"", "media": [] },
                { "content": null, "media": [file("a", None), file("b", Some("A | boat"))] },
                { "content": " three", "media": [file("c", None)] },
            ],
            "external_id": null, "labels": [],
        }))
        .unwrap();
        for format in [Format::Csv, Format::Jsonl] {
            let mut exported = Vec::new();
            let mut lines = Lines::begin(format, &mut exported).unwrap();
            lines.write(&post).unwrap();
            lines.end().unwrap();

            let replies = read(format, &exported, Path::new(".")).unwrap();

            assert_eq!(contents(&replies), [Some("[2] two,\n---\n\"2\""), None, Some(" three")], "{format:?}");
            assert_eq!(replies.iter().map(|it| it.files.len()).collect::<Vec<_>>(), [0, 2, 1]);
            let alt: Vec<_> = replies.iter().map(|it| it.alt.join("/")).collect();
            assert_eq!(alt, ["", "/A | boat", ""]);
        }
    }
}
