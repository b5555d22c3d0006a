//! What clients write about an endpoint.

use api::{Fields, Given};
use domain::webhook::{EndpointUrl, EventKind};
use outbound::Schemes;

use crate::App;

/// The fields of a new endpoint.
pub(crate) const FIELDS: &[&str] = &["url", "events"];

/// Those of a change.
pub(crate) const CHANGES: &[&str] = &["url", "events", "disabled"];

/// Reads `url`: an address that may be called.
pub(crate) fn url(app: &App, fields: &mut Fields) -> Given<EndpointUrl> {
    let raw = match fields.text("url") {
        Given::Value(raw) => raw,
        Given::Absent => return Given::Absent,
        Given::Null => return Given::Null,
        Given::Faulty => return Given::Faulty,
    };
    let url = match EndpointUrl::parse(&raw) {
        Ok(url) => url,
        Err(error) => {
            fields.add("url", error);
            return Given::Faulty;
        }
    };
    match app.outbound.client(url.url(), Schemes::Encrypted) {
        Ok(_) => Given::Value(url),
        Err(refusal) => {
            fields.add("url", refusal);
            Given::Faulty
        }
    }
}

/// Reads `events`: each kind once. Null and nothing are everything.
pub(crate) fn events(fields: &mut Fields) -> Given<Vec<EventKind>> {
    let raw = match fields.list_of("events", EventKind::ALL.len()) {
        Given::Value(raw) => raw,
        Given::Absent => return Given::Absent,
        Given::Null => return Given::Value(Vec::new()),
        Given::Faulty => return Given::Faulty,
    };
    let mut kinds = Vec::new();
    for (index, value) in raw.iter().enumerate() {
        let field = format!("events.{index}");
        match value.as_str().and_then(EventKind::parse) {
            Some(kind) if kinds.contains(&kind) => fields.add(&field, "is given more than once"),
            Some(kind) => kinds.push(kind),
            None => {
                let known: Vec<_> = EventKind::ALL.iter().map(|it| it.as_str()).collect();
                fields.add(&field, format_args!("must be one of {}", known.join(", ")));
            }
        }
    }
    Given::Value(kinds)
}

/// Reads `disabled`.
pub(crate) fn disabled(fields: &mut Fields) -> Option<bool> {
    match fields.boolean("disabled") {
        Given::Null => {
            fields.add("disabled", "may not be null; leave it out to keep it as it is");
            None
        }
        given => given.value(),
    }
}
