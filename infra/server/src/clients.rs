use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_http_client::Builder;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use domain::token::random_token;
use secrecy::{ExposeSecret, SecretString};

use crate::sealing_key::SealingKey;

/// The access keys that the stores accept: one for all functions, and one for the function whose calls
/// can be logged.
pub const ACCESS_KEYS: [&str; 2] = ["local", "local-media"];

/// The secret of the access keys. It signs links to files, and requests to the database when that listens
/// on a port.
#[derive(Clone, Debug)]
pub struct Secret(SecretString);

impl Secret {
    /// Links to files that it signs are valid until the process ends.
    pub fn random() -> Self {
        Self(random_token())
    }

    /// Links to files that it signs outlive the process.
    pub fn derived(key: &SealingKey) -> Self {
        Self(key.derived_text("stores"))
    }

    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub fn credentials(&self, access_key: impl Into<String>) -> Credentials {
        Credentials::new(access_key, self.expose(), None, None, "local")
    }
}

/// Distinguishes the calls that the function signs.
pub fn access_key_for(function: &str) -> String {
    format!("local-{function}")
}

pub fn function_for(access_key: &str) -> Option<&'static str> {
    ACCESS_KEYS.into_iter().find(|it| *it == access_key)?.strip_prefix("local-")
}

/// For plain HTTP on loopback.
pub fn config(endpoint: &str, secret: &Secret) -> SdkConfig {
    config_with_client(Builder::new().build_http(), endpoint, secret)
}

pub(crate) fn config_with_client(http: SharedHttpClient, endpoint: &str, secret: &Secret) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(secret.credentials(ACCESS_KEYS[0])))
        .http_client(http)
        .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
        .build()
}
