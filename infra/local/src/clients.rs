//! SDK clients of the embedded stores: plain HTTP on loopback.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_http_client::Builder;

use crate::call_log::CallLog;

/// What the embedded stores know their users by: everything, and the function
/// whose calls can be logged. It protects nothing: they listen on loopback.
pub(crate) const ACCESS_KEYS: [&str; 2] = ["local", "local-media"];
pub(crate) const SECRET_KEY: &str = "local-secret";

/// The function with this access key.
pub(crate) fn function_of(access_key: &str) -> Option<&'static str> {
    ACCESS_KEYS.into_iter().find(|it| *it == access_key)?.strip_prefix("local-")
}

/// Settings for clients of the store at this URL. What `function` asks goes to
/// the log, if there is one.
pub(crate) fn config_of(function: &'static str, log: Option<&CallLog>, endpoint: &str) -> SdkConfig {
    let config = config(endpoint);
    match (log, config.http_client()) {
        (Some(log), Some(http)) => {
            let http = log.client(function, http);
            let credentials = Credentials::new(format!("local-{function}"), SECRET_KEY, None, None, "local");
            let credentials = SharedCredentialsProvider::new(credentials);
            config.into_builder().http_client(http).credentials_provider(credentials).build()
        }
        _ => config,
    }
}

/// Settings for clients of the store at this URL.
pub(crate) fn config(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new(ACCESS_KEYS[0], SECRET_KEY, None, None, "local");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(Builder::new().build_http())
        .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
        .build()
}
