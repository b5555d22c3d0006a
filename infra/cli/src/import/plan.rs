use std::path::Path;

use client::PostTime;
use serde_json::Value;

use super::line::{Broken, Line};
use super::reply::Reply;
use crate::files::Medium;
use crate::posting::options::PostOption;
use crate::when::{self, Zone};

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) content: String,
    pub(crate) to: Vec<String>,
    pub(crate) at: Option<PostTime>,
    pub(crate) files: Vec<Medium>,
    pub(crate) alt: Vec<String>,
    pub(crate) thread: Vec<Reply>,
    pub(crate) options: Vec<PostOption>,
    pub(crate) external_id: Option<String>,
    pub(crate) labels: Vec<String>,
}

impl Plan {
    /// The files of the line are in `folder`.
    pub(crate) fn from_line(line: &Line, zone: &Zone, folder: &Path) -> Result<Self, Broken> {
        let broken = |field: &str, why: &dyn std::fmt::Display| Broken::new(line.number, field, &why);
        let content = text(line, "content")?.unwrap_or_default();
        let at = text(line, "at")?.map(|it| when::parse_fixed(&it, zone)).transpose();
        let at = at.map_err(|it| broken("at", &it))?.map(PostTime::from);
        let media = list(line, "media")?;
        let files = media.iter().map(|it| Medium::inspect(it, folder)).collect::<Result<_, _>>();
        let files: Vec<_> = files.map_err(|it| broken("media", &it))?;
        if content.trim().is_empty() && files.is_empty() {
            return Err(broken("content", &"is required in a line without media"));
        }
        let alt = list(line, "alt")?;
        if files.len() < alt.len() {
            return Err(broken("alt", &"has more entries than media"));
        }
        let thread = Reply::read_all(line, folder)?;
        let options = PostOption::read_all(&options(line)?).map_err(|it| broken("options", &it))?;
        let to = list(line, "to")?;
        if to.is_empty() && at.is_some() {
            return Err(broken("to", &"is required if the line has a time"));
        }
        let (external_id, labels) = (text(line, "external_id")?, list(line, "labels")?);
        Ok(Self { content, to, at, files, alt, thread, options, external_id, labels })
    }
}

fn text(line: &Line, name: &str) -> Result<Option<String>, Broken> {
    match line.field(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Broken::new(line.number, name, "must be text")),
    }
}

/// A JSON list, or entries separated by |.
fn list(line: &Line, name: &str) -> Result<Vec<String>, Broken> {
    let wrong = || Broken::new(line.number, name, "must be a list of texts");
    let entries = match line.field(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries.clone(),
        Some(Value::Number(id)) => return Ok(vec![id.to_string()]),
        Some(Value::String(text)) if text.trim_start().starts_with('[') => {
            serde_json::from_str(text).map_err(|_| wrong())?
        }
        Some(Value::String(text)) => return Ok(text.split('|').map(|it| it.trim().to_owned()).collect()),
        Some(_) => return Err(wrong()),
    };
    let entry = |it: &Value| match it {
        Value::String(text) => Ok(text.clone()),
        Value::Number(id) => Ok(id.to_string()),
        _ => Err(wrong()),
    };
    entries.iter().map(entry).collect()
}

/// Returns them in the form of `social post`.
fn options(line: &Line) -> Result<Vec<String>, Broken> {
    let object = match line.field("options") {
        Some(Value::Object(object)) => object.clone(),
        Some(Value::String(text)) if text.trim_start().starts_with('{') => {
            let wrong = |_| Broken::new(line.number, "options", "is not a JSON object");
            serde_json::from_str(text).map_err(wrong)?
        }
        _ => return list(line, "options"),
    };
    // The value is written as JSON, in which it is read again as what it is.
    Ok(object.iter().map(|(name, value)| format!("{name}={value}")).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::super::line::lines;
    use super::*;
    use crate::arguments::Format;
    use crate::posting::options;

    fn plan(format: Format, text: &str) -> Result<Plan, Broken> {
        let line = lines(format, text.as_bytes(), "posts", false).unwrap().remove(0).unwrap();
        Plan::from_line(&line, &Zone::parse("Europe/Berlin").unwrap(), Path::new("."))
    }

    #[test]
    fn csv_and_jsonl_lines_are_equivalent() {
        let csv = "content,to,at,options\nHello,mastodon|7,2026-12-24 18:00,language=en|mastodon:sensitive=true\n";
        let json = r#"{"content":"Hello","to":["mastodon",7],"at":"2026-12-24T17:00:00Z",
            "options":{"language":"en","mastodon:sensitive":true}}"#
            .replace('\n', " ");
        let (csv, json) = (plan(Format::Csv, csv).unwrap(), plan(Format::Jsonl, &json).unwrap());
        assert_eq!((csv.content, csv.to, csv.at), (json.content, json.to, json.at));
        assert_eq!(options::for_platform(&csv.options, "mastodon"), options::for_platform(&json.options, "mastodon"));
        assert_eq!(options::for_platform(&csv.options, "x").unwrap().len(), 1);
    }

    #[test]
    fn external_id_and_labels_are_the_same_in_csv_and_jsonl() {
        let csv = "content,external_id,labels\nHello,4711,spring|offer\n";
        let json = r#"{"content":"Hello","external_id":"4711","labels":["spring","offer"]}"#;
        for plan in [plan(Format::Csv, csv).unwrap(), plan(Format::Jsonl, json).unwrap()] {
            assert_eq!(
                (plan.external_id.as_deref(), &plan.labels[..]),
                (Some("4711"), &["spring", "offer"].map(String::from)[..])
            );
        }
        let absent = plan(Format::Jsonl, r#"{"content":"Hello","external_id":null,"labels":[]}"#).unwrap();
        assert_eq!((absent.external_id, absent.labels), (None, Vec::new()));
    }

    #[test]
    fn invalid_field_is_named() {
        for (line, field) in [
            (r#"{"to":"x"}"#, "content"),
            (r#"{"content":7}"#, "content"),
            (r#"{"content":"a","at":"tomorrow 9:00","to":"x"}"#, "at"),
            (r#"{"content":"a","at":"2026-12-24 18:00"}"#, "to"),
            (r#"{"content":"a","media":"missing.png"}"#, "media"),
            (r#"{"content":"a","alt":"words"}"#, "alt"),
            (r#"{"content":"a","options":"language"}"#, "options"),
            (r#"{"content":"a","to":[true]}"#, "to"),
            (r#"{"content":"a","external_id":4711}"#, "external_id"),
            (r#"{"content":"a","labels":[true]}"#, "labels"),
        ] {
            let broken = plan(Format::Jsonl, line).unwrap_err();
            assert_eq!((broken.field.as_str(), broken.number), (field, 1), "{line}");
        }
    }
}
