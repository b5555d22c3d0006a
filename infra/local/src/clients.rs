//! SDK clients of the embedded stores: plain HTTP on loopback.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_http_client::Builder;

/// What the embedded stores know their one user by. It protects nothing: they
/// listen on loopback.
pub(crate) const ACCESS_KEY: &str = "local";
pub(crate) const SECRET_KEY: &str = "local-secret";

/// Settings for clients of the store at this URL.
pub(crate) fn config(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "local");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(Builder::new().build_http())
        .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
        .build()
}
