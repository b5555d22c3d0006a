//! SDK clients of the embedded stores: plain HTTP on loopback.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_http_client::Builder;

/// The access keys that the media store accepts: one for everything, and one for
/// the function whose calls can be logged. The database accepts any. They
/// protect nothing, because both listen on loopback.
pub(crate) const ACCESS_KEYS: [&str; 2] = ["local", "local-media"];
pub(crate) const SECRET_KEY: &str = "local-secret";

/// The access key of a function, by which the calls that it signs are told from
/// all others.
pub(crate) fn access_key_of(function: &str) -> String {
    format!("local-{function}")
}

/// The function with this access key.
pub(crate) fn function_of(access_key: &str) -> Option<&'static str> {
    ACCESS_KEYS.into_iter().find(|it| *it == access_key)?.strip_prefix("local-")
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
