//! The log: JSON lines on standard error.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::metrics::Metrics;

/// The audit trail is always there.
pub fn init(levels: Targets, metrics: Metrics) {
    // The database logs what its callers report, too.
    let is_named = levels.iter().any(|(target, _)| target == "dynoxide");
    let levels = if is_named { levels } else { levels.with_target("dynoxide", LevelFilter::ERROR) };
    let levels = levels.with_target(cloud::audit::TARGET, LevelFilter::INFO);
    let lines = fmt::layer().json().with_writer(std::io::stderr).with_filter(levels);
    tracing_subscriber::registry().with(lines).with(metrics).init();
}
