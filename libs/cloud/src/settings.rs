//! Reading a function's environment: every variable is named when it is
//! missing or wrong, so that a bad deployment says what to change.

use std::fmt;
use std::str::FromStr;

/// A variable that is missing or wrong.
#[derive(thiserror::Error)]
pub enum SettingsError {
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    /// It cannot be read.
    #[error("the environment variable {name} is not valid: {reason}")]
    Invalid {
        name: &'static str,
        /// What is expected.
        reason: String,
    },
}

/// What a `main` that returns it prints: the sentence, not the variant.
impl fmt::Debug for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A variable that has to be there.
pub fn required(name: &'static str) -> Result<String, SettingsError> {
    optional(name).ok_or(SettingsError::Missing(name))
}

/// A variable that may be missing; an empty one counts as missing.
pub fn optional(name: &'static str) -> Option<String> {
    std::env::var(name).ok().filter(|it| !it.is_empty())
}

/// A variable of another type, with a default.
pub fn parsed<T>(name: &'static str, default: T) -> Result<T, SettingsError>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    optional(name).map_or(Ok(default), |raw| {
        raw.parse().map_err(|error: T::Err| SettingsError::Invalid { name, reason: error.to_string() })
    })
}

/// A variable that holds JSON, with a default.
pub fn json<T>(name: &'static str) -> Result<T, SettingsError>
where
    T: serde::de::DeserializeOwned + Default,
{
    optional(name).map_or_else(
        || Ok(T::default()),
        |raw| serde_json::from_str(&raw).map_err(|error| SettingsError::Invalid { name, reason: error.to_string() }),
    )
}
