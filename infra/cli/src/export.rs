//! `social export`: posts as lines that `social import` reads.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use client::{ApiResponse, Client, ListPosts, Post, PostList, PostMedia, PostPlatform, ThreadEntry};
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use crate::arguments::{Export, Format};
use crate::error::CliError;
use crate::output::notice;
use crate::posting::entry_name;
use crate::posts::status;
use crate::session::Session;

/// The first nine columns are those of an import. By `id` and `status`, an import finds the posts
/// that it skips; the others are for people.
const COLUMNS: [&str; 14] = [
    "content",
    "to",
    "at",
    "media",
    "alt",
    "thread",
    "options",
    "external_id",
    "labels",
    "id",
    "status",
    "created_at",
    "urls",
    "errors",
];

pub(crate) fn format(option: Option<Format>, file: &Path) -> Option<Format> {
    option.or_else(|| match file.extension()?.to_str()? {
        "csv" => Some(Format::Csv),
        "jsonl" | "ndjson" => Some(Format::Jsonl),
        _ => None,
    })
}

/// Oldest first.
pub(crate) async fn run(session: &Session, arguments: &Export) -> Result<(), CliError> {
    let by_name = arguments.file.as_deref().and_then(|it| format(arguments.format, it));
    let format = match (by_name, &arguments.file) {
        (Some(format), _) => format,
        (None, None) => arguments.format.unwrap_or(Format::Jsonl),
        (None, Some(_)) => {
            return Err(CliError::Usage(
                "the file name ends in neither .csv nor .jsonl; add --format csv or --format jsonl".to_owned(),
            ));
        }
    };
    let status = status(arguments.status.as_deref())?;
    let mut target = Target::open(arguments.file.as_deref())?;
    let mut lines = Lines::begin(format, &mut target)?;
    let mut written = 0;
    // Reads all posts and filters here: a post whose status changes in the meantime would shift the
    // pages of a filtered list.
    for_each_post(&session.client, |post| {
        if status.as_ref().is_some_and(|status| *status != post.status) {
            return Ok(());
        }
        if has_unexported_parts(post) {
            let what = "its own text, files, replies or options for one account, which a line cannot express";
            notice(&format!("post {} was skipped: it has {what}", post.id));
            return Ok(());
        }
        written += 1;
        lines.write(post)
    })
    .await?;
    lines.end()?;
    target.keep()?;
    notice(&format!("{written} {} exported", if written == 1 { "post" } else { "posts" }));
    Ok(())
}

/// Oldest first. Fails like [`for_each_page`].
pub(crate) async fn for_each_post(
    client: &Client,
    mut visit: impl FnMut(&Post) -> Result<(), CliError>,
) -> Result<(), CliError> {
    for_each_page(client, None, |page| page.data.iter().try_for_each(&mut visit)).await
}

/// Oldest first. Fails if a post is deleted in between: the pages then shift, and another post may
/// be missing.
pub(crate) async fn for_each_page(
    client: &Client,
    profile_id: Option<u64>,
    mut visit: impl FnMut(&ApiResponse<PostList>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (mut page, mut total) = (1, 0);
    loop {
        let (sort, direction) = (Some("created_at".to_owned()), Some("asc".to_owned()));
        let query =
            ListPosts { profile_id, per_page: Some(100), page: Some(page), sort, direction, ..ListPosts::default() };
        let posts = client.list_posts(&query).await?;
        if posts.meta.total < total {
            let why = "a post was deleted while the posts were read, so one may be missing; run the command again";
            return Err(CliError::Failed(why.to_owned()));
        }
        total = posts.meta.total;
        visit(&posts)?;
        if posts.meta.last_page <= page {
            return Ok(());
        }
        page += 1;
    }
}

enum Target {
    /// Standard output, a pipe or a device.
    Stream(Box<dyn Write>),
    /// A file that replaces an existing one when it is complete.
    File { part: BufWriter<NamedTempFile>, path: PathBuf },
}

impl Target {
    fn open(path: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = path else { return Ok(Self::Stream(Box::new(io::stdout()))) };
        if fs::metadata(path).is_ok_and(|it| !it.is_file()) {
            return Ok(Self::Stream(Box::new(File::create(path)?)));
        }
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self::File { part: BufWriter::new(NamedTempFile::new_in(folder)?), path: path.to_owned() })
    }

    fn keep(self) -> Result<(), CliError> {
        let Self::File { part, path } = self else { return Ok(()) };
        let part = part.into_inner().map_err(io::IntoInnerError::into_error)?;
        part.persist(path).map_err(|it| it.error)?;
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stream(out) => out.write(bytes),
            Self::File { part, .. } => part.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(out) => out.flush(),
            Self::File { part, .. } => part.flush(),
        }
    }
}

/// Whether an account has a text, files or replies of its own, or options that another account of its
/// platform has not.
fn has_unexported_parts(post: &Post) -> bool {
    let differs =
        |one: &PostPlatform| post.platforms.iter().any(|it| it.provider == one.provider && it.options != one.options);
    post.platforms
        .iter()
        .any(|it| it.content != post.content || it.media.is_some() || it.thread.is_some() || differs(it))
}

pub(crate) enum Lines<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Jsonl(W),
}

impl<W: Write> Lines<W> {
    pub(crate) fn begin(format: Format, out: W) -> Result<Self, CliError> {
        Ok(match format {
            Format::Jsonl => Self::Jsonl(out),
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(COLUMNS).map_err(csv_error)?;
                Self::Csv(Box::new(writer))
            }
        })
    }

    pub(crate) fn write(&mut self, post: &Post) -> Result<(), CliError> {
        let fields = fields(post);
        match self {
            Self::Jsonl(out) => Ok(writeln!(out, "{}", Value::Object(fields))?),
            Self::Csv(writer) => {
                let cells = COLUMNS.map(|it| fields.get(it).map(cell).unwrap_or_default());
                writer.write_record(cells).map_err(csv_error)
            }
        }
    }

    pub(crate) fn end(self) -> Result<(), CliError> {
        match self {
            Self::Jsonl(mut out) => Ok(out.flush()?),
            Self::Csv(mut writer) => Ok(writer.flush()?),
        }
    }
}

fn csv_error(error: csv::Error) -> CliError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => CliError::Failed(format!("{other:?}")),
    }
}

fn fields(post: &Post) -> Map<String, Value> {
    let (mut options, mut urls, mut errors) = (Map::new(), Vec::new(), Vec::new());
    for entry in &post.platforms {
        options.extend(entry.options.iter().map(|(name, it)| (format!("{}:{name}", entry.provider), it.clone())));
        urls.extend(entry.platform_post_url.clone());
        errors.extend(entry.error_message.as_ref().map(|it| format!("{}: {it}", entry_name(entry))));
    }
    // Customers may have accounts with the same name.
    let account = |it: &PostPlatform| match post.profile_id {
        Some(_) => format!("{}/{}", it.provider, it.connected_account_id),
        None => entry_name(it),
    };
    let all = [
        ("content", json!(post.content)),
        ("to", json!(post.platforms.iter().map(account).collect::<Vec<_>>())),
        ("at", json!(post.scheduled_at)),
        ("media", urls_of(&post.media)),
        ("alt", alt_texts(&post.media)),
        ("thread", post.thread.iter().map(reply).collect()),
        ("options", Value::Object(options)),
        ("external_id", json!(post.external_id)),
        ("labels", json!(post.labels)),
        ("id", json!(post.id)),
        ("status", json!(post.status)),
        ("created_at", json!(post.created_at)),
        ("urls", json!(urls)),
        ("errors", json!(errors)),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn urls_of(files: &[PostMedia]) -> Value {
    files.iter().map(|it| it.url.clone()).collect()
}

/// Empty if no file has an alt text.
fn alt_texts(files: &[PostMedia]) -> Value {
    let has_one = files.iter().any(|it| it.alt_text.is_some());
    files.iter().filter(|_| has_one).map(|it| it.alt_text.clone().unwrap_or_default()).collect()
}

fn reply(entry: &ThreadEntry) -> Value {
    let fields =
        [("content", json!(entry.content)), ("media", urls_of(&entry.media)), ("alt", alt_texts(&entry.media))];
    let filled = fields.into_iter().filter(|(_, value)| !value.is_null() && *value != json!([]));
    Value::Object(filled.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A value in a cell: lists with | between their entries, or as JSON where an import would split an
/// entry.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(entries) if entries.is_empty() => String::new(),
        Value::Object(entries) if entries.is_empty() => String::new(),
        Value::Array(entries) => {
            let texts: Vec<_> = entries.iter().filter_map(Value::as_str).collect();
            let is_plain = |it: &&str| !it.contains('|') && !it.starts_with(['[', '{']) && it.trim() == *it;
            if texts.len() == entries.len() && texts.iter().all(is_plain) { texts.join("|") } else { value.to_string() }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    #[test]
    fn exported_external_id_and_labels_are_in_both_formats() {
        let post: Post = serde_json::from_value(json!({
            "id": 7, "revision": 1, "content": "Hello", "status": "draft", "scheduled_at": null,
            "created_at": "2026-11-21T09:00:00.000Z", "updated_at": "2026-11-21T09:00:00.000Z",
            "creator": { "id": 1, "name": "Demo User" }, "platforms": [], "media": [], "thread": [],
            "external_id": "order-4711", "labels": ["spring", "offer"],
        }))
        .unwrap();
        let export = |format| {
            let mut out = Vec::new();
            let mut lines = Lines::begin(format, &mut out).unwrap();
            lines.write(&post).unwrap();
            lines.end().unwrap();
            String::from_utf8(out).unwrap()
        };

        let csv = export(Format::Csv);
        assert!(csv.lines().nth(1).unwrap().starts_with("Hello,,,,,,,order-4711,spring|offer,7,draft,"), "{csv}");
        let line: Value = serde_json::from_str(&export(Format::Jsonl)).unwrap();
        assert_eq!([&line["external_id"], &line["labels"]], [&json!("order-4711"), &json!(["spring", "offer"])]);
    }

    #[test]
    fn post_with_replies_for_one_account_is_not_exported() {
        let entry = |thread: Value| {
            let mut entry = json!({
                "id": 1, "connected_account_id": 5, "provider": "sandbox", "username": "harbour", "content": "Hello",
                "options": {}, "status": "pending", "published_at": null, "platform_post_id": null,
                "platform_post_url": null, "error_message": null, "segments": [],
            });
            if !thread.is_null() {
                entry["thread"] = thread;
            }
            entry
        };
        let post = |thread| -> Post {
            serde_json::from_value(json!({
                "id": 7, "revision": 1, "content": "Hello", "status": "draft", "scheduled_at": null,
                "created_at": "2026-11-21T09:00:00.000Z", "updated_at": "2026-11-21T09:00:00.000Z",
                "creator": { "id": 1, "name": "Demo User" }, "platforms": [entry(thread)], "media": [],
                "thread": [{ "content": "two", "media": [] }], "external_id": null, "labels": [],
            }))
            .unwrap()
        };
        assert!(!has_unexported_parts(&post(Value::Null)));
        assert!(has_unexported_parts(&post(json!([]))));
    }

    #[test]
    fn cell_is_plain_unless_json_is_needed() {
        for (value, expected) in [
            (json!(null), ""),
            (json!([]), ""),
            (json!({}), ""),
            (json!("a|b"), "a|b"),
            (json!(["a", "b"]), "a|b"),
            (json!(["a|b"]), r#"["a|b"]"#),
            (json!(["[x]"]), r#"["[x]"]"#),
            (json!({"a": "b"}), r#"{"a":"b"}"#),
            (json!(7), "7"),
        ] {
            assert_eq!(cell(&value), expected);
        }
    }
}
