//! The log: JSON lines on standard error.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::metrics::Metrics;

/// `level` is `LOG_LEVEL`, such as `warn` or `info,publishing=debug`. The audit trail is always there.
pub fn init(level: Option<&str>, metrics: Metrics) {
    let defaults = || Targets::new().with_default(LevelFilter::INFO).with_target("dynoxide", LevelFilter::ERROR);
    let levels = level.and_then(|it| it.parse().ok()).unwrap_or_else(defaults);
    let levels = levels.with_target(cloud::audit::TARGET, LevelFilter::INFO);
    let lines = fmt::layer().json().with_writer(std::io::stderr).with_filter(levels);
    tracing_subscriber::registry().with(lines).with(metrics).init();
}
