//! Metrics as Prometheus reads them, counted from the events with the target [`TARGET`] that the publishing
//! code writes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cloud::metrics::{TARGET, fields};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use serde_json::{Map, Value};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Upper limits of the buckets.
const LATENESS_S: [f64; 9] = [0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0, 3_600.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Platform {
    platform: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failure {
    platform: String,
    class: String,
}

type Counters = Family<Platform, Counter>;
type Size = Gauge<u64, AtomicU64>;

/// Since the start of the process.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    published: Counters,
    retries: Counters,
    unknown_outcomes: Counters,
    follow_ups_missed: Counters,
    failed: Family<Failure, Counter>,
    lateness: Family<Platform, Histogram>,
    oldest_overdue: Size,
    waiting: Size,
    in_progress: Size,
    database: Size,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("social");
        let mut counters = |name: &str, help: &str| {
            let counters = Counters::default();
            registry.register(name, help, counters.clone());
            counters
        };
        let published = counters("published", "Targets that are public");
        let retries = counters("retries", "Publish calls after the first");
        let unknown_outcomes = counters("unknown_outcomes", "Publish calls with an unknown outcome");
        let follow_ups_missed = counters("follow_ups_missed", "Follow-ups, such as a first comment, that failed");
        let failed = Family::default();
        registry.register("failed", "Targets that ended and are not known to be public", failed.clone());
        let lateness = Family::new_with_constructor((|| Histogram::new(LATENESS_S)) as fn() -> Histogram);
        let help = "From the scheduled time to the start of the first publish call";
        registry.register_with_unit("lateness", help, Unit::Seconds, lateness.clone());
        let mut size = |name: &str, help: &str, unit: Option<Unit>| {
            let size = Size::default();
            match unit {
                Some(unit) => registry.register_with_unit(name, help, unit, size.clone()),
                None => registry.register(name, help, size.clone()),
            }
            size
        };
        let oldest_overdue = size("oldest_overdue", "Age of the longest overdue delivery", Some(Unit::Seconds));
        let waiting = size("queue_waiting", "Deliveries in the queue", None);
        let in_progress = size("queue_in_progress", "Deliveries that a worker has", None);
        let database = size("database", "Size of the database", Some(Unit::Bytes));
        Self(Arc::new(Inner {
            registry,
            published,
            retries,
            unknown_outcomes,
            follow_ups_missed,
            failed,
            lateness,
            oldest_overdue,
            waiting,
            in_progress,
            database,
        }))
    }
}

impl Metrics {
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0.registry)?;
        Ok(text)
    }

    pub(crate) fn set_oldest_overdue(&self, seconds: u64) {
        self.0.oldest_overdue.set(seconds);
    }

    pub(crate) fn set_queue(&self, waiting: usize, in_progress: usize) {
        self.0.waiting.set(waiting as u64);
        self.0.in_progress.set(in_progress as u64);
    }

    pub(crate) fn set_database_bytes(&self, bytes: u64) {
        self.0.database.set(bytes);
    }

    fn count(&self, fields: &Map<String, Value>) {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |name: &str| fields.get(name).and_then(Value::as_u64);
        let platform = Platform { platform: text("platform") };
        let inner = &self.0;
        let families = [
            ("published", &inner.published),
            ("retries", &inner.retries),
            ("unknown_outcomes", &inner.unknown_outcomes),
            ("follow_ups_missed", &inner.follow_ups_missed),
        ];
        for (name, family) in families {
            if let Some(count) = number(name) {
                family.get_or_create(&platform).inc_by(count);
            }
        }
        if let Some(count) = number("failed") {
            let failure = Failure { platform: text("platform"), class: text("class") };
            inner.failed.get_or_create(&failure).inc_by(count);
        }
        if let Some(late_ms) = fields.get("lateness_ms").and_then(Value::as_f64) {
            inner.lateness.get_or_create(&platform).observe(late_ms / 1_000.0);
        }
    }
}

impl<S: Subscriber> Layer<S> for Metrics {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == TARGET {
            self.count(&fields(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn events_are_counted_by_platform() {
        let metrics = Metrics::default();
        let subscriber = tracing_subscriber::registry().with(metrics.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: TARGET, platform = "mastodon", published = 1, lateness_ms = 70, "publish call ended");
            tracing::info!(target: TARGET, platform = "mastodon", published = Some(1), retries = 1, "publish call ended");
            tracing::info!(target: TARGET, platform = "x", failed = 1, class = "refused", "target failed");
            tracing::info!(platform = "x", published = 1, "an event of another target");
        });
        metrics.set_oldest_overdue(3);

        let text = metrics.text().unwrap();

        for line in [
            "social_published_total{platform=\"mastodon\"} 2",
            "social_retries_total{platform=\"mastodon\"} 1",
            "social_failed_total{platform=\"x\",class=\"refused\"} 1",
            "social_lateness_seconds_bucket{le=\"0.1\",platform=\"mastodon\"} 1",
            "social_oldest_overdue_seconds 3",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }
}
