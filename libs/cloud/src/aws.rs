//! SDK clients as Lambda sets them up: nothing is looked for, one HTTP client
//! is shared by all. And logs.

use std::fmt::Display;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::default_async_sleep;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use tracing_subscriber::filter::{LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::metrics::{EmbeddedMetrics, TARGET};
use crate::sdk_http;
use crate::settings::{SettingsError, optional, required};

/// How long one attempt of a call may take. Without it the SDK waits for ever
/// for an answer that was lost, and the post of that second with it.
const ATTEMPT: Duration = Duration::from_secs(3);

/// How long a call may take with all its attempts.
const OPERATION: Duration = Duration::from_secs(10);

/// The SDK's settings from what Lambda sets: `AWS_REGION`,
/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`; and, for
/// an emulator, `AWS_ENDPOINT_URL`, or with an underscore and a service's name
/// behind it for that service alone.
///
/// The SDK's own way would look into profiles and ask metadata services, which
/// a function does not have.
pub fn config() -> Result<SdkConfig, SettingsError> {
    install_tls();
    let credentials = Credentials::new(
        required("AWS_ACCESS_KEY_ID")?,
        required("AWS_SECRET_ACCESS_KEY")?,
        optional("AWS_SESSION_TOKEN"),
        None,
        "environment",
    );
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(required("AWS_REGION")?))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(sdk_http::http_client())
        .retry_config(RetryConfig::standard())
        .timeout_config(timeouts())
        .service_config(ServiceEndpoints);
    config.set_sleep_impl(default_async_sleep());
    config.set_endpoint_url(optional("AWS_ENDPOINT_URL"));
    Ok(config.build())
}

/// The variables of single services, such as `AWS_ENDPOINT_URL_DYNAMODB`.
#[derive(Debug)]
struct ServiceEndpoints;

impl LoadServiceConfig for ServiceEndpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        std::env::var(format!("{}_{service}", key.env())).ok().filter(|it| !it.is_empty())
    }
}

/// For every client but that of the media bucket, which moves large files.
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).operation_timeout(OPERATION).build()
}

/// Waits for a call that is made for nothing but its connection: then the first
/// request need not open one. During its start a function has a whole processor,
/// afterwards only what its memory entitles it to.
///
/// A failure stops nothing; the request meets it again.
pub async fn warm_up<E: Display>(call: impl Future<Output = Result<(), E>>) {
    match tokio::time::timeout(ATTEMPT, call).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::info!(%error, "the connection was not warmed"),
        Err(_) => tracing::info!("the connection was not warm in time"),
    }
}

/// Makes rustls on ring the TLS stack of every client of this process that
/// does not name one, which are those of reqwest.
pub fn install_tls() {
    // A second call finds it installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Logs as JSON lines, which is what the log store searches, and measures in
/// the form that it makes metrics of. `LOG_LEVEL` is a level, or levels by
/// module such as `warn,publishing=info`. Less than `info` is not in what is
/// deployed: it would be every request with its headers, and the code for that.
pub fn init_logs() {
    let level = optional("LOG_LEVEL").and_then(|it| it.parse().ok());
    let filter = level.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let lines = fmt::layer().json().with_current_span(false).with_filter(filter);
    let metrics = EmbeddedMetrics::new(optional("TABLE_PREFIX").unwrap_or_else(|| "unnamed".to_owned()));
    tracing_subscriber::registry()
        .with(lines.with_filter(filter_fn(|it| it.target() != TARGET)))
        .with(metrics.with_filter(filter_fn(|it| it.target() == TARGET)))
        .init();
}
