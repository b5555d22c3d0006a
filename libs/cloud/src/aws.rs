//! Start-up of each function: the SDK configuration, TLS and logs.

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

use crate::config::{ConfigError, optional, required};
use crate::metrics::{EmbeddedMetrics, TARGET};
use crate::sdk_http;

/// Timeout of one attempt of a call. Without it, the SDK would wait forever for a lost response,
/// and a due post with it.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// With all attempts.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);

/// The SDK configuration from the variables that Lambda sets: `AWS_REGION`, `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`. For an emulator also `AWS_ENDPOINT_URL`, or
/// `AWS_ENDPOINT_URL_<SERVICE>` for one service.
///
/// The SDK's own loader would also look for profiles and query metadata services, which a
/// function does not have.
pub fn config() -> Result<SdkConfig, ConfigError> {
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

/// Such as `AWS_ENDPOINT_URL_DYNAMODB`.
#[derive(Debug)]
struct ServiceEndpoints;

impl LoadServiceConfig for ServiceEndpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        std::env::var(format!("{}_{service}", key.env())).ok().filter(|it| !it.is_empty())
    }
}

/// The timeouts of every SDK client except that of the media bucket, which transfers large files.
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).operation_timeout(OPERATION_TIMEOUT).build()
}

/// Makes a call whose only purpose is to open a connection, so that the first request does not
/// have to. During start-up, a function has a whole processor; later, only the share that its
/// memory size entitles it to.
///
/// A failure is only logged: the first request then opens the connection, or fails with the same
/// error.
pub async fn warm_up<E: Display>(call: impl Future<Output = Result<(), E>>) {
    match tokio::time::timeout(ATTEMPT_TIMEOUT, call).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::info!(%error, "warm-up call failed"),
        Err(_) => tracing::info!("warm-up call timed out"),
    }
}

/// Makes rustls with ring the default TLS provider of this process. The reqwest clients use it.
pub fn install_tls() {
    // Fails only if an earlier call has installed a provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Writes logs as JSON lines, which `CloudWatch` can search, and metrics in the embedded metric
/// format. `LOG_LEVEL` is a level, or levels by module such as `warn,publishing=info`. Release
/// builds contain no levels below `info`: the SDK would log every request with its headers, and
/// the code for that makes a function larger.
pub fn init_logs() {
    let lines = fmt::layer().json().with_current_span(false).with_filter(levels(optional("LOG_LEVEL").as_deref()));
    let metrics = EmbeddedMetrics::new(optional("TABLE_PREFIX").unwrap_or_else(|| "unnamed".to_owned()));
    tracing_subscriber::registry()
        .with(lines.with_filter(filter_fn(|it| it.target() != TARGET)))
        .with(metrics.with_filter(filter_fn(|it| it.target() == TARGET)))
        .init();
}

/// The filter always includes the audit trail.
pub(crate) fn levels(log_level: Option<&str>) -> Targets {
    let level = log_level.and_then(|it| it.parse::<Targets>().ok());
    let level = level.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    level.with_target(crate::audit::TARGET, LevelFilter::INFO)
}
