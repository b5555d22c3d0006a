//! Compares a real server's responses with the fake's: recordings of new responses, and
//! differences.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use fakes::conformance::shape::{Difference, DifferenceKind, Shape, differences};
use platforms::recorder::Exchange;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;

use super::scrub::Scrub;
use crate::{error::Result, report::say};

pub(super) struct Comparison<'a> {
    pub(super) scrub: &'a Scrub,
    pub(super) scrub_of_fake: &'a Scrub,
    /// The source of the adapter. A field whose name is not in it is not read.
    pub(super) read: &'a str,
}

/// All responses to one kind of request with one status.
#[derive(Default)]
struct Responses {
    media_types: BTreeSet<String>,
    /// `None` where no body was JSON.
    shape: Option<Shape>,
}

impl Comparison<'_> {
    /// Writes the largest response of each kind, unless a recording of the same request and status
    /// has its shape. Returns the names of the files.
    pub(super) fn record(&self, real: &[Exchange], source: &str, folder: &Path) -> Result<Vec<String>> {
        let mut known = Vec::new();
        for entry in fs::read_dir(folder)? {
            known.push(serde_json::from_slice::<Value>(&fs::read(entry?.path())?)?);
        }
        let mut largest = BTreeMap::<String, Value>::new();
        for recording in real.iter().filter_map(|it| self.scrub.recording(it, source)) {
            let length = |it: &Value| it["body"].to_string().len();
            let kind = format!("{} {}", recording["request"], recording["status"]);
            if largest.get(&kind).is_none_or(|it| length(it) < length(&recording)) {
                largest.insert(kind, recording);
            }
        }
        let is_known = |new: &Value| {
            let is_same = |known: &&Value| known["request"] == new["request"] && known["status"] == new["status"];
            known.iter().filter(is_same).any(|known| {
                let (known, new) = (Shape::from_value(&known["body"]), Shape::from_value(&new["body"]));
                differences(&known, &new).is_empty() && differences(&new, &known).is_empty()
            })
        };
        let mut written = Vec::new();
        for recording in largest.into_values().filter(|it| !is_known(it)) {
            let name = unused_file_name(&recording, folder);
            fs::write(folder.join(&name), format_recording(&recording))?;
            written.push(name);
        }
        Ok(written)
    }

    /// Prints where the fake differs. Returns the differences in fields that the adapter reads.
    pub(super) fn print(&self, real: &[Exchange], fake: &[Exchange]) -> Vec<String> {
        let (real, fake) = (group_by_request(real, self.scrub), group_by_request(fake, self.scrub_of_fake));
        let mut read_differences = Vec::new();
        say("\nWhere the fake differs (* in a field that the adapter names):");
        for (request, expected) in &real {
            let Some(actual) = fake.get(request) else {
                say(&format!("{request}\n    only on the real server"));
                continue;
            };
            let mut lines = Vec::new();
            if expected.media_types != actual.media_types {
                lines.push(format!("  content-type: {:?}, expected {:?}", actual.media_types, expected.media_types));
            }
            let (Some(expected), Some(actual)) = (&expected.shape, &actual.shape) else { continue };
            for difference in differences(expected, actual) {
                let is_read = self.is_read(&difference);
                if is_read && difference.kind != DifferenceKind::Unexpected {
                    read_differences.push(format!("{request} {difference}"));
                }
                lines.push(format!("{} {difference}", if is_read { "*" } else { " " }));
            }
            if !lines.is_empty() {
                say(&format!("{request}\n    {}", lines.join("\n    ")));
            }
        }
        for request in fake.keys().filter(|it| !real.contains_key(*it)) {
            say(&format!("{request}\n    only on the fake"));
        }
        read_differences
    }

    /// Whether the adapter's source has every name in the path of the field.
    fn is_read(&self, difference: &Difference) -> bool {
        let is_word = |it: &str| {
            self.read.split(|it: char| !it.is_ascii_alphanumeric() && it != '_' && it != '$').any(|word| word == it)
        };
        let names = difference.path.split('/').filter(|it| !matches!(*it, "" | "*" | "{id}"));
        names
            .map(|it| it.replace("~1", "/"))
            .all(|it| is_word(&it) || is_word(&snake_case(&it)) || self.read.contains(&format!("\"{it}\"")))
    }
}

fn group_by_request(exchanges: &[Exchange], scrub: &Scrub) -> BTreeMap<String, Responses> {
    let mut all = BTreeMap::<String, Responses>::new();
    for exchange in exchanges {
        let request = format!("{} {}", scrub.request(exchange), exchange.status.as_u16());
        let responses = all.entry(request).or_default();
        let media_type = exchange.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        responses.media_types.insert(media_type.split(';').next().unwrap_or_default().to_owned());
        if let Some(body) = scrub.body(exchange) {
            let shape = Shape::from_value(&body);
            responses.shape = Some(match responses.shape.take() {
                Some(before) => before.merge(shape),
                None => shape,
            });
        }
    }
    all
}

/// `real-` with the last two names of the path, and the status of an error.
fn unused_file_name(recording: &Value, folder: &Path) -> String {
    let request = recording["request"].as_str().unwrap_or_default().replace("{id}", "");
    let names: Vec<_> = request.split([' ', '/']).filter(|it| !it.is_empty()).collect();
    let (method, names) = names.split_first().unwrap_or((&"", &[]));
    let last = names[names.len().saturating_sub(2)..].join("-");
    let status = recording["status"].as_u64().filter(|it| 300 <= *it).map(|it| format!("-{it}")).unwrap_or_default();
    let stem = format!("real-{method}-{last}{status}").to_lowercase().replace(['.', '_', '~', '-', ':'], " ");
    let stem = stem.split_whitespace().collect::<Vec<_>>().join("-");
    let numbered = (1..).map(|it| if it == 1 { format!("{stem}.json") } else { format!("{stem}-{it}.json") });
    numbered.into_iter().find(|it| !folder.join(it).exists()).unwrap_or_default()
}

/// In the format of the other recordings: a line for each part.
fn format_recording(recording: &Value) -> String {
    let parts = ["source", "request", "status", "headers", "body"];
    let lines: Vec<_> = parts.iter().map(|it| format!("  {:?}: {}", it, recording[*it])).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

fn snake_case(name: &str) -> String {
    name.chars().fold(String::new(), |mut done, it| {
        if it.is_ascii_uppercase() {
            done.push('_');
        }
        done.push(it.to_ascii_lowercase());
        done
    })
}
