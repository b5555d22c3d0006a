//! Reads environment variables, for the `config.rs` of functions and libraries. Errors name the
//! variable, so that an operator knows what to change.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

static VARIABLES: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Variables are then read from this map and not from the environment: for a program with a
/// configuration file. Only the first call has an effect.
pub fn use_variables(variables: BTreeMap<String, String>) {
    let _ = VARIABLES.set(variables);
}

#[derive(thiserror::Error)]
pub enum ConfigError {
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    #[error("the environment variable {name} is not valid: {reason}")]
    Invalid { name: &'static str, reason: String },
}

/// Prints the message, because a `main` that returns an error prints its `Debug`.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

pub fn required(name: &'static str) -> Result<String, ConfigError> {
    optional(name).ok_or(ConfigError::Missing(name))
}

/// `None` if the variable is missing or empty.
pub fn optional(name: &'static str) -> Option<String> {
    let value = match VARIABLES.get() {
        Some(variables) => variables.get(name).cloned(),
        None => std::env::var(name).ok(),
    };
    value.filter(|it| !it.is_empty())
}

pub fn parsed<T>(name: &'static str, default: T) -> Result<T, ConfigError>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    optional(name).map_or(Ok(default), |raw| {
        raw.parse().map_err(|error: T::Err| ConfigError::Invalid { name, reason: error.to_string() })
    })
}

pub struct TableConfig {
    pub prefix: String,
    pub due_shards: u32,
}

impl TableConfig {
    /// Reads `TABLE_PREFIX` and `DUE_SHARDS`.
    pub fn from_env(default_due_shards: u32) -> Result<Self, ConfigError> {
        Ok(Self { prefix: required("TABLE_PREFIX")?, due_shards: at_least_one("DUE_SHARDS", default_due_shards)? })
    }
}

pub fn at_least_one(name: &'static str, default: u32) -> Result<u32, ConfigError> {
    match parsed(name, default)? {
        0 => Err(ConfigError::Invalid { name, reason: "must be at least 1".to_owned() }),
        number => Ok(number),
    }
}

/// `T::default()` if the variable is missing.
pub fn json<T>(name: &'static str) -> Result<T, ConfigError>
where
    T: serde::de::DeserializeOwned + Default,
{
    optional(name).map_or_else(
        || Ok(T::default()),
        |raw| serde_json::from_str(&raw).map_err(|error| ConfigError::Invalid { name, reason: error.to_string() }),
    )
}
