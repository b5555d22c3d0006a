//! Metrics: log events with the target [`TARGET`], which `CloudWatch` turns into metrics without
//! an API call.
//!
//! Source of the format: the `CloudWatch` user guide, "Embedded metric format specification". The
//! fields in [`METRICS`] are metrics. All other fields are properties, which the log store can
//! search; they must be ids, states or times.

use domain::clock::Clock;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

pub const TARGET: &str = "metrics";

const NAMESPACE: &str = "SocialPublishing";

/// Metrics and their units. A metric is sent only when something happened, so that an idle
/// deployment pays for none.
const METRICS: [(&str, &str); 7] = [
    // From a post's scheduled time to the start of its first publish call.
    ("lateness_ms", "Milliseconds"),
    // Targets that are public, according to the publish call or a look-up.
    ("published", "Count"),
    ("retries", "Count"),
    ("unknown_outcomes", "Count"),
    // Follow-ups of a publication, such as a first comment, that failed or whose outcome is
    // unknown.
    ("follow_ups_missed", "Count"),
    // Targets that ended and are not known to be public.
    ("failed", "Count"),
    // Age of the longest overdue delivery.
    ("oldest_overdue_s", "Seconds"),
];

/// Prints metrics in the embedded metric format, one line per event.
pub(crate) struct EmbeddedMetrics {
    stack: String,
    clock: Clock,
}

impl EmbeddedMetrics {
    /// `stack` is the name of the deployment, the only dimension.
    pub(crate) fn new(stack: String) -> Self {
        Self { stack, clock: Clock::System }
    }
}

impl<S: Subscriber> Layer<S> for EmbeddedMetrics {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != TARGET {
            return;
        }
        let line = line(fields(event), &self.stack, self.clock.now().timestamp_millis());
        #[expect(clippy::print_stdout, reason = "the log store reads what a function prints")]
        if let Some(line) = line {
            println!("{line}");
        }
    }
}

/// `None` if the event has no metric.
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

/// Metrics and properties.
pub fn fields(event: &Event<'_>) -> Map<String, Value> {
    let mut fields = Fields::default();
    event.record(&mut fields);
    fields.0
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

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn metrics_are_declared_and_properties_are_not() {
        let line = line(object(&json!({"lateness_ms": 12, "retries": 1, "post_id": "7"})), "prod", 1_000).unwrap();

        let described = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(described["Metrics"][0], json!({"Name": "lateness_ms", "Unit": "Milliseconds"}));
        assert_eq!(described["Metrics"].as_array().unwrap().len(), 2);
        assert_eq!(described["Dimensions"], json!([["stack"]]));
        assert_eq!((&line["_aws"]["Timestamp"], &line["stack"]), (&json!(1_000), &json!("prod")));
        assert_eq!((&line["lateness_ms"], &line["post_id"]), (&json!(12), &json!("7")));
    }

    #[test]
    fn event_without_a_metric_prints_nothing() {
        assert_eq!(line(object(&json!({"post_id": "7"})), "prod", 0), None);
    }
}
