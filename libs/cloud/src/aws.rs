//! SDK clients: one HTTP client with one TLS stack for all of them, and logs.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::metrics::{EmbeddedMetrics, TARGET};
use crate::settings::optional;

/// How long one attempt of a call may take. Without it the SDK waits for ever
/// for an answer that was lost, and the post of that second with it.
const ATTEMPT: Duration = Duration::from_secs(3);

/// How long a call may take with all its attempts.
const OPERATION: Duration = Duration::from_secs(10);

/// The SDK's settings from the environment, with rustls on ring.
pub async fn config() -> SdkConfig {
    install_tls();
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    aws_config::defaults(BehaviorVersion::latest()).http_client(http).timeout_config(timeouts()).load().await
}

/// For every client but that of the media bucket, which moves large files.
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).operation_timeout(OPERATION).build()
}

/// Makes rustls on ring the TLS stack of every client of this process that
/// does not name one, which are those of reqwest.
pub fn install_tls() {
    // A second call finds it installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Logs as JSON lines, which is what the log store searches, and measures in
/// the form that it makes metrics of.
pub fn init_logs() {
    let filter = EnvFilter::try_from_env("LOG_LEVEL").unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = fmt::layer().json().with_current_span(false).with_filter(filter);
    let metrics = EmbeddedMetrics::new(optional("TABLE_PREFIX").unwrap_or_else(|| "unnamed".to_owned()));
    tracing_subscriber::registry()
        .with(lines.with_filter(filter_fn(|it| it.target() != TARGET)))
        .with(metrics.with_filter(filter_fn(|it| it.target() == TARGET)))
        .init();
}
