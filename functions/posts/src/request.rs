//! Request bodies of the post routes, and the parsing of their fields. Parsing continues after an
//! error, so that one response reports all of them.

use std::collections::BTreeSet;

use api::{FieldValue, Fields};
use chrono::{DateTime, Utc};
use domain::id::ConnectionId;
use domain::idempotency::IdempotencyKey;
use domain::media::{AltText, MediaPath};
use domain::options::{MAX_OPTIONS, OptionValue, RequestedOptions};
use domain::owner::Owner;
use domain::post::{
    Authority, Changes, IfMatch, MAX_ENTRIES, MAX_FILES, MAX_LABELS, MAX_MEDIA, MAX_TARGETS, MediaReference, NewPost,
    NewSegment, NewTarget, files,
};
use domain::rules::MAX_REPLIES;
use domain::schedule::parse_schedule;
use domain::text::{ExternalId, Label, PostText};
use domain::token;
use domain::validation_errors::ValidationErrors;
use http::HeaderMap;
use serde_json::Value;
use storage::IdempotentRequest;

pub(crate) const FIELDS: &[&str] =
    &["content", "scheduled_at", "platforms", "media", "thread", "external_id", "labels"];

const TARGET_FIELDS: &[&str] = &["connected_account_id", "content", "media", "thread", "options"];

/// Whatever the platform of the option accepts.
const MAX_OPTION_CHARS: usize = 10_000;

const MAX_OPTION_ENTRIES: usize = 100;

pub(crate) fn new_post(mut fields: Fields, authority: Authority, now: DateTime<Utc>) -> NewPost {
    let text = content(&mut fields).value().unwrap_or_default();
    let mut targets = platforms(&mut fields).unwrap_or_default();
    let media = media(&mut fields).value().unwrap_or_default();
    let mut thread = thread(&mut fields).value().unwrap_or_default();
    check_file_limits(&mut fields, &media, &mut thread, &mut targets);
    NewPost {
        text,
        targets,
        scheduled_at: scheduled_at(&mut fields, now).value(),
        media,
        thread,
        external_id: external_id(&mut fields).value(),
        labels: labels(&mut fields).value().unwrap_or_default(),
        of_profile: None,
        authority,
        faults: std::mem::take(fields.faults()),
    }
}

pub(crate) fn changes(
    mut fields: Fields,
    authority: Authority,
    if_match: Option<IfMatch>,
    now: DateTime<Utc>,
) -> Changes {
    let text = content(&mut fields).change().map(Option::unwrap_or_default);
    let mut targets = platforms(&mut fields);
    let media = media(&mut fields).change().map(Option::unwrap_or_default);
    let mut thread = thread(&mut fields).change().map(Option::unwrap_or_default);
    let scheduled_at = scheduled_at(&mut fields, now).change();
    check_file_limits(
        &mut fields,
        media.as_deref().unwrap_or_default(),
        thread.as_deref_mut().unwrap_or_default(),
        targets.as_deref_mut().unwrap_or_default(),
    );
    Changes {
        text,
        targets,
        scheduled_at,
        media,
        thread,
        external_id: external_id(&mut fields).change(),
        labels: labels(&mut fields).change().map(Option::unwrap_or_default),
        authority,
        if_match,
        faults: std::mem::take(fields.faults()),
    }
}

pub(crate) fn parse_idempotency_key(
    headers: &HeaderMap,
    owner: Owner,
    body: &[u8],
    errors: &mut ValidationErrors,
) -> Option<IdempotentRequest> {
    let mut values = headers.get_all("idempotency-key").iter();
    let header = values.next()?;
    if values.next().is_some() {
        errors.add("idempotency-key", "may be sent only once");
        return None;
    }
    match IdempotencyKey::parse(header.as_bytes()) {
        Ok(key) => Some(IdempotentRequest {
            owner,
            route: "POST /posts",
            key,
            body_hash: token::hash(&String::from_utf8_lossy(body)),
        }),
        Err(error) => {
            errors.add("idempotency-key", error);
            None
        }
    }
}

pub(crate) fn content(fields: &mut Fields) -> FieldValue<PostText> {
    fields.parse("content", PostText::parse)
}

fn external_id(fields: &mut Fields) -> FieldValue<ExternalId> {
    fields.parse("external_id", ExternalId::parse)
}

fn labels(fields: &mut Fields) -> FieldValue<Vec<Label>> {
    fields.bounded_list("labels", MAX_LABELS).map(|entries| {
        let mut labels = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let field = format!("labels.{index}");
            match entry.as_str().map(Label::parse) {
                None => fields.add(&field, "must be a string"),
                Some(Err(error)) => fields.add(&field, error),
                Some(Ok(label)) if labels.contains(&label) => {
                    fields.add(&field, "is in this list already; give each label once");
                }
                Some(Ok(label)) => labels.push(label),
            }
        }
        labels
    })
}

/// An invalid time counts as now, so that the response reports everything else that prevents
/// scheduling. Its error prevents the write.
pub(crate) fn scheduled_at(fields: &mut Fields, now: DateTime<Utc>) -> FieldValue<DateTime<Utc>> {
    match fields.text("scheduled_at") {
        FieldValue::Value(raw) => FieldValue::Value(parse_schedule(&raw, now).unwrap_or_else(|error| {
            fields.add("scheduled_at", error);
            now
        })),
        FieldValue::Invalid => FieldValue::Value(now),
        FieldValue::Null => FieldValue::Null,
        FieldValue::Absent => FieldValue::Absent,
    }
}

/// `None` if absent, empty if `null`.
pub(crate) fn platforms(fields: &mut Fields) -> Option<Vec<NewTarget>> {
    let entries = fields.bounded_list("platforms", MAX_TARGETS).change()?.unwrap_or_default();
    let targets = entries.into_iter().enumerate().filter_map(|(index, entry)| {
        let mut entry = fields.nested(entry, &format!("platforms.{index}"), TARGET_FIELDS)?;
        let target = target(&mut entry, index);
        fields.absorb(entry);
        target
    });
    Some(targets.collect())
}

fn target(entry: &mut Fields, index: usize) -> Option<NewTarget> {
    let connection_id = match entry.integer("connected_account_id") {
        FieldValue::Value(number) => {
            let id = ConnectionId::new(number);
            if id.is_none() {
                entry.add("connected_account_id", "is not one of your connected accounts; GET /connections lists them");
            }
            id
        }
        FieldValue::Absent | FieldValue::Null => {
            entry.add("connected_account_id", "is required");
            None
        }
        FieldValue::Invalid => None,
    };
    let (text, options) = (content(entry).value(), parse_options(entry));
    // Null means the same as absent; the empty list means that there are no files, or no replies.
    let (media, thread) = (media(entry).value(), thread(entry).value());
    Some(NewTarget { index, connection_id: connection_id?, text, media, thread, options, consented_at: None })
}

/// The platform, which decides on names and values, is not known here.
fn parse_options(entry: &mut Fields) -> RequestedOptions {
    let entries = entry.object("options", MAX_OPTIONS).value().unwrap_or_default();
    let mut set = Vec::new();
    let mut removed = BTreeSet::new();
    for (name, value) in entries {
        match parse_option(value) {
            Ok(Some(value)) => set.push((name, value)),
            Ok(None) => drop(removed.insert(name)),
            Err(error) => entry.add(&format!("options.{name}"), error),
        }
    }
    RequestedOptions { said: set.into_iter().collect(), unsaid: removed }
}

/// `None` for null.
fn parse_option(value: Value) -> Result<Option<OptionValue>, &'static str> {
    const KINDS: &str = "must be a string, a whole number, true, false, or a list of strings";
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(flag) => OptionValue::Flag(flag),
        Value::String(text) if MAX_OPTION_CHARS < text.chars().count() => {
            return Err("may have at most 10,000 characters");
        }
        Value::String(text) => OptionValue::Text(text),
        Value::Number(number) => OptionValue::Number(number.as_i64().ok_or(KINDS)?),
        Value::Array(entries) if MAX_OPTION_ENTRIES < entries.len() => return Err("may have at most 100 entries"),
        Value::Array(entries) => {
            let texts = entries.into_iter().map(|it| match it {
                Value::String(text) if text.chars().count() <= MAX_OPTION_CHARS => Ok(text),
                _ => Err(KINDS),
            });
            OptionValue::List(texts.collect::<Result<_, _>>()?)
        }
        Value::Object(_) => return Err(KINDS),
    }))
}

pub(crate) fn media(fields: &mut Fields) -> FieldValue<Vec<MediaReference>> {
    fields.bounded_list("media", MAX_MEDIA).map(|entries| media_files(fields, entries))
}

fn media_files(fields: &mut Fields, entries: Vec<Value>) -> Vec<MediaReference> {
    let mut files: Vec<MediaReference> = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let field = format!("media.{index}");
        let (raw, alt_text) = match entry {
            Value::String(raw) => (raw, None),
            entry @ Value::Object(_) => {
                let Some(mut medium) = fields.nested(entry, &field, &["path", "alt_text"]) else { continue };
                let path = medium.required_text("path");
                let alt_text = medium.parse("alt_text", AltText::parse).value();
                fields.absorb(medium);
                let Some(path) = path else { continue };
                (path, alt_text)
            }
            _ => {
                fields.add(&field, "must be a path, or an object with path and alt_text");
                continue;
            }
        };
        match MediaPath::parse(&raw) {
            Ok(path) if files.iter().any(|it| it.path == path) => {
                fields.add(&field, "names a file that is in this list already; name each file once");
            }
            Ok(path) => files.push(MediaReference { field: fields.within(&field), path, alt_text }),
            Err(_) => fields.add(&field, "is not one of your uploads; use the path that POST /media returned"),
        }
    }
    files
}

fn thread(fields: &mut Fields) -> FieldValue<Vec<NewSegment>> {
    fields.bounded_list("thread", MAX_REPLIES).map(|entries| {
        let mut replies = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let field = format!("thread.{index}");
            let Some(mut entry) = fields.nested(entry, &field, &["content", "media"]) else { continue };
            let text = content(&mut entry);
            let media = media(&mut entry).value().unwrap_or_default();
            let is_invalid = matches!(text, FieldValue::Invalid);
            let text = text.value().unwrap_or_default();
            if text.is_empty() && media.is_empty() && !is_invalid {
                entry.add("content", "is required in a reply without media");
            }
            fields.absorb(entry);
            replies.push(NewSegment { field: fields.within(&field), text, media });
        }
        replies
    })
}

/// Counts the files of all lists of a request. Beyond the limit, the files of replies and targets
/// are not checked.
pub(crate) fn check_file_limits(
    fields: &mut Fields,
    media: &[MediaReference],
    thread: &mut [NewSegment],
    targets: &mut [NewTarget],
) {
    let named: Vec<_> = files(media, thread, targets).map(|it| it.path.media()).collect();
    let (entries, files) = (named.len(), named.into_iter().collect::<BTreeSet<_>>().len());
    if MAX_ENTRIES < entries {
        fields.add(
            "media",
            format_args!(
                "and the media of thread and platforms may have {MAX_ENTRIES} entries together, these have {entries}"
            ),
        );
    }
    if MAX_FILES < files {
        fields.add(
            "media",
            format_args!(
                "and the media of thread and platforms may name {MAX_FILES} different files together, these name {files}"
            ),
        );
    }
    if MAX_FILES < files || MAX_ENTRIES < entries {
        let of_targets = targets.iter_mut().flat_map(|target| {
            target.media = None;
            target.thread.iter_mut().flatten()
        });
        for reply in thread.iter_mut().chain(of_targets) {
            reply.media.clear();
        }
    }
}
