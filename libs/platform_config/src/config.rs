use std::sync::Arc;

use aws_config::SdkConfig;
use cloud::config::{ConfigError, json, required};
use egress::AddressPolicy;
use platforms::{AppSource, Capability, Registry, Setup, Vault};

use crate::app_secret::AppSecret;

/// The platforms that the environment variable `PLATFORMS` (JSON) enables. The app credentials
/// of a platform, if it needs any, are in the secret `<PLATFORM_SECRETS>/<platform name>`.
pub fn platforms<P: Capability + ?Sized>(aws: &SdkConfig, vault: Arc<dyn Vault>) -> Result<Registry<P>, ConfigError> {
    let (aws, secrets) = (aws.clone(), required("PLATFORM_SECRETS")?);
    let app = move |name: &str| -> Arc<dyn AppSource> { Arc::new(AppSecret::new(&aws, format!("{secrets}/{name}"))) };
    let setup = Setup::new(json("PLATFORMS")?, app, vault, AddressPolicy::PublicOnly);
    Registry::new(&setup).map_err(|error| ConfigError::Invalid { name: "PLATFORMS", reason: error.to_string() })
}
