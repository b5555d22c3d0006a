//! Measures: log events of the target [`TARGET`], which become metrics of
//! `CloudWatch` without a call of its own.
//!
//! Source of the form: the `CloudWatch` user guide, "Embedded metric format
//! specification". Fields that [`METRICS`] names are the measures; all others
//! go along as properties that the log store can search, and must be ids,
//! states or times.

use domain::clock::Clock;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The target of events that are measures.
pub const TARGET: &str = "metrics";

/// Where `CloudWatch` keeps them.
const NAMESPACE: &str = "SocialPublishing";

/// What is measured, and in which unit. A measure is sent only when there is
/// something to say, so that an idle deployment pays for none.
const METRICS: [(&str, &str); 7] = [
    // From a post's second to the beginning of its first public call.
    ("lateness_ms", "Milliseconds"),
    // Targets that are public now, as the call or a later question told.
    ("published", "Count"),
    // Public calls after the first.
    ("retries", "Count"),
    // Public calls of which nobody knew whether they took effect.
    ("unknown_outcomes", "Count"),
    // What was to follow a publication, such as a first comment, and did not, or
    // nobody knows whether it did.
    ("follow_ups_missed", "Count"),
    // Targets that ended without being known to be public.
    ("failed", "Count"),
    // By how much the longest overdue delivery is late.
    ("oldest_overdue_s", "Seconds"),
];

/// Prints measures in the embedded metric format, one line each.
pub(crate) struct EmbeddedMetrics {
    stack: String,
    clock: Clock,
}

impl EmbeddedMetrics {
    /// Of the deployment with this name.
    pub(crate) fn new(stack: String) -> Self {
        Self { stack, clock: Clock::System }
    }
}

impl<S: Subscriber> Layer<S> for EmbeddedMetrics {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != TARGET {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = line(fields.0, &self.stack, self.clock.now().timestamp_millis());
        #[expect(clippy::print_stdout, reason = "the log store reads what a function prints")]
        if let Some(line) = line {
            println!("{line}");
        }
    }
}

/// The line for an event; `None` when it measures nothing.
fn line(fields: Map<String, Value>, stack: &str, timestamp_ms: i64) -> Option<Value> {
    let measured = METRICS.iter().filter(|(name, _)| fields.contains_key(*name));
    let metrics: Vec<_> = measured.map(|(name, unit)| json!({"Name": name, "Unit": unit})).collect();
    if metrics.is_empty() {
        return None;
    }
    let mut line = fields;
    line.insert("stack".to_owned(), json!(stack));
    let described = json!({"Namespace": NAMESPACE, "Dimensions": [["stack"]], "Metrics": metrics});
    line.insert("_aws".to_owned(), json!({"Timestamp": timestamp_ms, "CloudWatchMetrics": [described]}));
    Some(Value::Object(line))
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), json!(format!("{value:?}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_measure_is_described_and_what_goes_along_is_not() {
        let line = line(fields(&json!({"lateness_ms": 12, "retries": 1, "post_id": "7"})), "prod", 1_000).unwrap();

        let described = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(described["Metrics"][0], json!({"Name": "lateness_ms", "Unit": "Milliseconds"}));
        assert_eq!(described["Metrics"].as_array().unwrap().len(), 2);
        assert_eq!(described["Dimensions"], json!([["stack"]]));
        assert_eq!((&line["_aws"]["Timestamp"], &line["stack"]), (&json!(1_000), &json!("prod")));
        assert_eq!((&line["lateness_ms"], &line["post_id"]), (&json!(12), &json!("7")));
    }

    #[test]
    fn an_event_without_a_measure_is_none() {
        assert_eq!(line(fields(&json!({"post_id": "7"})), "prod", 0), None);
    }
}
