//! Secrets that operators store in AWS Secrets Manager, read at first use and cached.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::error_chain::chain;

const CACHE_LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// How long a failure is cached. Callers get it immediately, so that they do not wait one after
/// another for a service that does not respond.
const RETRY_AFTER: TimeDelta = TimeDelta::seconds(30);

/// The longest value that is accepted. Secrets Manager stores up to 64 KiB.
const MAX_BYTES: usize = 16 * 1024;

/// Why a secret is unavailable, and what the operator should do. The messages reveal nothing about
/// the content. `id` is the name or ARN.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("the secret {id} does not exist; create it, or name another one in the function's environment")]
    NotThere { id: String },
    #[error("the secret {id} may not be read; allow the function's role secretsmanager:GetSecretValue on it")]
    AccessDenied { id: String },
    #[error("the secret {id} must contain JSON like {form}")]
    Unreadable {
        id: String,
        /// An example of the expected JSON.
        form: &'static str,
    },
    #[error("the secret {id} could not be read and will be retried: {reason}")]
    Unavailable {
        id: String,
        /// For the log.
        reason: String,
    },
}

/// The secret contains a `T` as JSON.
pub struct Secret<T> {
    aws: SdkConfig,
    id: String,
    form: &'static str,
    clock: Clock,
    cached: Mutex<Option<Cached<T>>>,
}

struct Cached<T> {
    read: Result<Arc<T>, SecretError>,
    until: DateTime<Utc>,
}

impl<T: DeserializeOwned> Secret<T> {
    /// `id` is the name or ARN. `form` is an example of the expected JSON, for error messages.
    /// Nothing is read yet.
    pub fn new(aws: &SdkConfig, id: String, form: &'static str, clock: Clock) -> Self {
        Self { aws: aws.clone(), id, form, clock, cached: Mutex::default() }
    }

    /// The value, at most ten minutes old. While Secrets Manager is unavailable, the last value
    /// stays in use.
    ///
    /// # Errors
    /// If there is no value. The cause is logged, once per read.
    pub async fn get(&self) -> Result<Arc<T>, SecretError> {
        // The lock is held during the read, so that concurrent callers share its result.
        let mut cached = self.cached.lock().await;
        if let Some(it) = &*cached
            && self.clock.now() < it.until
        {
            return it.read.clone();
        }
        let read = self.read().await;
        let next = self.to_cached(read, cached.take().and_then(|it| it.read.ok()));
        cached.insert(next).read.clone()
    }

    /// Call this when a platform did not accept the value: the next `get` reads the secret again.
    pub fn refused(&self, value: &Arc<T>) {
        // If the lock is taken, the secret is most likely being read; otherwise the next refusal
        // clears the value.
        let Ok(mut cached) = self.cached.try_lock() else { return };
        let has_value = |it: &Cached<T>| it.read.as_ref().is_ok_and(|it| Arc::ptr_eq(it, value));
        if cached.as_ref().is_some_and(has_value) {
            *cached = None;
            tracing::warn!(
                secret = self.id,
                "secret not accepted by the platform; it will be read again (correct its value if this repeats)"
            );
        }
    }

    fn to_cached(&self, read: Result<T, SecretError>, last: Option<Arc<T>>) -> Cached<T> {
        let now = self.clock.now();
        match (read, last) {
            (Ok(value), _) => Cached { read: Ok(Arc::new(value)), until: now + CACHE_LIFETIME },
            (Err(error @ SecretError::Unavailable { .. }), Some(last)) => {
                tracing::warn!(%error, "secret unavailable; last value used");
                Cached { read: Ok(last), until: now + RETRY_AFTER }
            }
            (Err(error), _) => {
                tracing::error!(%error, "secret unavailable");
                Cached { read: Err(error), until: now + RETRY_AFTER }
            }
        }
    }

    async fn read(&self) -> Result<T, SecretError> {
        // A client per read: most processes never need one, and its connection comes from the
        // shared pool.
        let client = Client::new(&self.aws);
        let read = client.get_secret_value().secret_id(&self.id).send().await.map_err(|it| self.error_from_sdk(&it))?;
        // The error of serde_json is dropped, because it may quote the secret.
        let text = read.secret_string().filter(|it| it.len() <= MAX_BYTES);
        let value = text.and_then(|it| serde_json::from_str(it).ok());
        value.ok_or_else(|| SecretError::Unreadable { id: self.id.clone(), form: self.form })
    }

    fn error_from_sdk(&self, error: &SdkError<GetSecretValueError>) -> SecretError {
        let id = self.id.clone();
        match error.as_service_error().and_then(ProvideErrorMetadata::code) {
            Some("ResourceNotFoundException") => SecretError::NotThere { id },
            Some("AccessDeniedException") => SecretError::AccessDenied { id },
            _ => SecretError::Unavailable { id, reason: chain(error) },
        }
    }
}
