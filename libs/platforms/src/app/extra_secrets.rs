//! Extra secrets of a platform in addition to client id and secret: a key to check signatures with,
//! the kind of app, whether it has passed an audit.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{AppCredentials, AppSource};
use crate::dependency_error::DependencyError;

/// By name. `Debug` prints the names only.
#[derive(Clone, Default)]
pub struct ExtraSecrets(pub(super) Map<String, Value>);

impl fmt::Debug for ExtraSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// The values are not those that the adapter accepts. Names values, and quotes none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidExtraSecrets(String);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoExtraSecrets {}

impl ExtraSecrets {
    /// The values as the adapter's type. A `T` that denies unknown fields refuses them by name.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, InvalidExtraSecrets> {
        read(&self.0).map_err(|message| {
            // Other messages quote the value.
            if is_field_name_error(&message) {
                return InvalidExtraSecrets(message);
            }
            let is_wrong = |name: &&String| {
                let mut others = self.0.clone();
                others.remove(*name);
                read::<T>(&others).err().is_none_or(|it| is_field_name_error(&it))
            };
            let wrong_name =
                self.0.keys().find(is_wrong).map_or_else(|| "one of the values".to_owned(), |it| format!("`{it}`"));
            InvalidExtraSecrets(format!("{wrong_name} has the wrong type"))
        })
    }
}

fn read<T: DeserializeOwned>(values: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(values.clone())).map_err(|it| it.to_string())
}

fn is_field_name_error(message: &str) -> bool {
    message.starts_with("unknown field") || message.starts_with("missing field")
}

/// A source whose extra secrets must be a valid `T`. Invalid ones are not used, and are logged on
/// every read, like everything that an operator has to correct.
pub(crate) struct Checked<T> {
    platform: &'static str,
    source: Arc<dyn AppSource>,
    values: PhantomData<fn() -> T>,
}

impl<T> Checked<T> {
    pub(crate) fn new(platform: &'static str, source: Arc<dyn AppSource>) -> Self {
        Self { platform, source, values: PhantomData }
    }
}

#[async_trait]
impl<T: DeserializeOwned + 'static> AppSource for Checked<T> {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        let app = self.source.credentials().await?;
        if let Err(error) = app.extra_secrets.read::<T>() {
            let platform = self.platform;
            tracing::error!(platform, %error, "the extra secrets of the platform are invalid");
            return Err(DependencyError);
        }
        Ok(app)
    }

    fn report_refused(&self, credentials: &Arc<AppCredentials>) {
        self.source.report_refused(credentials);
    }
}

#[cfg(test)]
mod tests {
    use secrecy::{ExposeSecret, SecretString};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Values {
        signing_secret: SecretString,
        #[serde(default)]
        audited: bool,
    }

    fn app(extra: &str) -> AppCredentials {
        serde_json::from_str(&format!(r#"{{"client_id": "us", "client_secret": "s", "note": "ours"{extra}}}"#)).unwrap()
    }

    #[test]
    fn extra_secrets_of_a_wrong_type_are_refused_by_name() {
        let values: Values = app(r#", "signing_secret": "hush", "audited": true"#).extra_secrets.read().unwrap();
        assert_eq!((values.signing_secret.expose_secret(), values.audited), ("hush", true));

        for (extra, expected) in [
            (
                r#", "signing_secret": "hush", "audit": true"#,
                "unknown field `audit`, expected `signing_secret` or `audited`",
            ),
            (r#", "audited": true"#, "missing field `signing_secret`"),
            (r#", "signing_secret": "hush", "audited": "hush""#, "`audited` has the wrong type"),
            (r#", "signing_secret": 7"#, "`signing_secret` has the wrong type"),
            (r#", "signing_secret": ["hush"], "audited": "hush""#, "one of the values has the wrong type"),
        ] {
            let error = app(extra).extra_secrets.read::<Values>().unwrap_err().to_string();
            assert_eq!(error, expected, "{extra}");
        }
        assert!(!format!("{:?}", app(r#", "signing_secret": "hush""#)).contains("hush"));
    }

    #[tokio::test]
    async fn invalid_extra_secrets_are_not_used() {
        let checked = |extra: &str| Checked::<NoExtraSecrets>::new("example", Arc::new(app(extra)));
        assert_eq!(checked("").credentials().await.unwrap().client_id, "us");
        assert_eq!(checked(r#", "signing_secret": "hush""#).credentials().await.unwrap_err(), DependencyError);
    }
}
