//! What each function sets up at its start: the settings of its SDK clients, TLS,
//! and logs.

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

/// How long one attempt of a call may take. Without a limit the SDK would wait
/// for ever when an answer is lost, and a post that is due would wait with it.
const ATTEMPT: Duration = Duration::from_secs(3);

/// How long a call may take with all its attempts.
const OPERATION: Duration = Duration::from_secs(10);

/// The SDK's settings from what Lambda sets: `AWS_REGION`,
/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`; and, for
/// an emulator, `AWS_ENDPOINT_URL`, or with an underscore and a service's name
/// behind it for that service alone.
///
/// The SDK's own loader would look for profiles and ask metadata services as
/// well, which a function does not have.
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

/// Reads the endpoints of single services, such as `AWS_ENDPOINT_URL_DYNAMODB`.
#[derive(Debug)]
struct ServiceEndpoints;

impl LoadServiceConfig for ServiceEndpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        std::env::var(format!("{}_{service}", key.env())).ok().filter(|it| !it.is_empty())
    }
}

/// The limits of every client but that of the media bucket, which moves large
/// files.
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).operation_timeout(OPERATION).build()
}

/// Waits for a call whose only purpose is to open a connection, so that the first
/// request need not. A function has a whole processor during its start, and
/// afterwards only the share that its memory entitles it to.
///
/// A failure is only logged: the first request then opens the connection, or
/// fails with the same error.
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
    // This fails only if a provider is installed already, by an earlier call.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Logs as JSON lines, which is what the log store searches, and measures in
/// the form that it makes metrics of. `LOG_LEVEL` is a level, or levels by
/// module such as `warn,publishing=info`. Levels below `info` are left out of
/// release builds: the SDK would write every request with its headers there, and
/// the code for that makes a function larger.
pub fn init_logs() {
    let lines = fmt::layer().json().with_current_span(false).with_filter(levels(optional("LOG_LEVEL").as_deref()));
    let metrics = EmbeddedMetrics::new(optional("TABLE_PREFIX").unwrap_or_else(|| "unnamed".to_owned()));
    tracing_subscriber::registry()
        .with(lines.with_filter(filter_fn(|it| it.target() != TARGET)))
        .with(metrics.with_filter(filter_fn(|it| it.target() == TARGET)))
        .init();
}

/// What is logged at this `LOG_LEVEL`. The audit trail is, at every level.
pub(crate) fn levels(log_level: Option<&str>) -> Targets {
    let level = log_level.and_then(|it| it.parse::<Targets>().ok());
    let level = level.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    level.with_target(crate::audit::TARGET, LevelFilter::INFO)
}
