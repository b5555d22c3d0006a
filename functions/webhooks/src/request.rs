//! Request bodies of the webhook routes, and the parsing of their fields.

use api::{FieldValue, Fields};
use domain::webhook::{EndpointUrl, EventKind};
use egress::{EgressError, Schemes};

use crate::App;

pub(crate) const FIELDS: &[&str] = &["url", "events"];

pub(crate) const CHANGES: &[&str] = &["url", "events", "disabled"];

pub(crate) fn url(app: &App, fields: &mut Fields) -> FieldValue<EndpointUrl> {
    let raw = match fields.text("url") {
        FieldValue::Value(raw) => raw,
        FieldValue::Absent => return FieldValue::Absent,
        FieldValue::Null => return FieldValue::Null,
        FieldValue::Invalid => return FieldValue::Invalid,
    };
    let url = match EndpointUrl::parse(&raw) {
        Ok(url) => url,
        Err(error) => {
            fields.add("url", error);
            return FieldValue::Invalid;
        }
    };
    match app.egress.client(url.url(), Schemes::Encrypted) {
        Ok(_) => FieldValue::Value(url),
        Err(refusal) => {
            let field = fields.within("url");
            fields.faults().add_sentence(field, local_hint(refusal));
            FieldValue::Invalid
        }
    }
}

/// If the URL looks like one of a local machine, with the command that forwards events to it.
fn local_hint(refusal: EgressError) -> String {
    match refusal {
        EgressError::Scheme | EgressError::Port | EgressError::NotPublic => {
            format!("{refusal}. To receive events on your own machine, run: social listen")
        }
        refusal => refusal.to_string(),
    }
}

/// Each kind at most once. `null` becomes an empty list, which means all events.
pub(crate) fn events(fields: &mut Fields) -> FieldValue<Vec<EventKind>> {
    let raw = match fields.bounded_list("events", EventKind::ALL.len()) {
        FieldValue::Value(raw) => raw,
        FieldValue::Absent => return FieldValue::Absent,
        FieldValue::Null => return FieldValue::Value(Vec::new()),
        FieldValue::Invalid => return FieldValue::Invalid,
    };
    let mut kinds = Vec::new();
    for (index, value) in raw.iter().enumerate() {
        let field = format!("events.{index}");
        match value.as_str().and_then(EventKind::parse) {
            Some(kind) if kinds.contains(&kind) => fields.add(&field, "occurs more than once"),
            Some(kind) => kinds.push(kind),
            None => {
                let known: Vec<_> = EventKind::ALL.iter().map(|it| it.as_str()).collect();
                fields.add(&field, format_args!("must be one of {}", known.join(", ")));
            }
        }
    }
    FieldValue::Value(kinds)
}

pub(crate) fn disabled(fields: &mut Fields) -> Option<bool> {
    match fields.boolean("disabled") {
        FieldValue::Null => {
            fields.add("disabled", "may not be null; omit it to keep its value");
            None
        }
        given => given.value(),
    }
}
