//! SDK clients: one HTTP client with one TLS stack for all of them.

use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// The SDK's settings from the environment, with rustls on ring.
pub async fn config() -> SdkConfig {
    install_tls();
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await
}

/// Makes rustls on ring the TLS stack of every client of this process that
/// does not name one, which are those of reqwest.
pub fn install_tls() {
    // A second call finds it installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Logs as JSON lines, which is what the log store searches.
pub fn init_logs() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("LOG_LEVEL")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt().json().with_env_filter(filter).with_current_span(false).init();
}
