//! Secrets that operators give the service: read from AWS Secrets Manager when
//! they are first needed, and kept in the process for a while.

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

/// How long a value is used before it is read anew.
const LASTS: TimeDelta = TimeDelta::minutes(10);

/// How long after a failure it is tried again. Whoever asks meanwhile gets the
/// same answer at once, so that callers do not wait one after another for a
/// service that does not respond.
const AGAIN_AFTER: TimeDelta = TimeDelta::seconds(30);

/// The longest value that is read. Secrets Manager keeps up to 64 KiB.
const MAX_BYTES: usize = 16 * 1024;

/// Why a secret is not to be had, and what to do. Says nothing of the content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is none of this name.
    #[error("the secret {id} does not exist; create it, or name another one in the function's environment")]
    NotThere {
        /// Its name or ARN.
        id: String,
    },
    /// The function's role does not permit it.
    #[error("the secret {id} may not be read; allow the function's role secretsmanager:GetSecretValue on it")]
    NotAllowed {
        /// Its name or ARN.
        id: String,
    },
    /// It does not hold JSON of the expected form.
    #[error("the secret {id} does not hold JSON like {form}; give it a value that does")]
    Unreadable {
        /// Its name or ARN.
        id: String,
        /// An example of the expected form.
        form: &'static str,
    },
    /// Secrets Manager failed, or could not be reached.
    #[error("the secret {id} could not be read, which is tried again: {reason}")]
    Unavailable {
        /// Its name or ARN.
        id: String,
        /// In words for the log.
        reason: String,
    },
}

/// A secret that holds a `T` as JSON.
pub struct Secret<T> {
    aws: SdkConfig,
    id: String,
    form: &'static str,
    clock: Clock,
    kept: Mutex<Option<Kept<T>>>,
}

/// The outcome of the last reading, and until when it is used.
struct Kept<T> {
    read: Result<Arc<T>, SecretError>,
    until: DateTime<Utc>,
}

impl<T: DeserializeOwned> Secret<T> {
    /// The secret with this name or ARN. `form` shows an operator what it is
    /// to hold. Nothing is read yet.
    pub fn new(aws: &SdkConfig, id: String, form: &'static str, clock: Clock) -> Self {
        Self { aws: aws.clone(), id, form, clock, kept: Mutex::default() }
    }

    /// What the secret holds. A value is ten minutes old at most, unless Secrets
    /// Manager is unavailable: then the last one is used on.
    ///
    /// # Errors
    /// When it cannot be read. The cause has been logged, once for each reading.
    pub async fn get(&self) -> Result<Arc<T>, SecretError> {
        // The lock is held during the reading, so that all who ask meanwhile
        // share its outcome.
        let mut kept = self.kept.lock().await;
        if let Some(it) = &*kept
            && self.clock.now() < it.until
        {
            return it.read.clone();
        }
        let read = self.read().await;
        let next = self.settle(read, kept.take().and_then(|it| it.read.ok()));
        kept.insert(next).read.clone()
    }

    /// To be called when a platform did not accept this value: the secret is
    /// read anew when it is next asked for.
    pub fn refused(&self, value: &Arc<T>) {
        // If the lock is taken, the secret is most likely being read anew already;
        // if it is not, the next refusal clears the value.
        let Ok(mut kept) = self.kept.try_lock() else { return };
        let is_this = |it: &Kept<T>| it.read.as_ref().is_ok_and(|it| Arc::ptr_eq(it, value));
        if kept.as_ref().is_some_and(is_this) {
            *kept = None;
            tracing::warn!(
                secret = self.id,
                "what a secret holds was not accepted and is read anew; if that goes on, give it the right value"
            );
        }
    }

    fn settle(&self, read: Result<T, SecretError>, last: Option<Arc<T>>) -> Kept<T> {
        let now = self.clock.now();
        match (read, last) {
            (Ok(value), _) => Kept { read: Ok(Arc::new(value)), until: now + LASTS },
            (Err(error @ SecretError::Unavailable { .. }), Some(last)) => {
                tracing::warn!(%error, "a secret is used as it was last read");
                Kept { read: Ok(last), until: now + AGAIN_AFTER }
            }
            (Err(error), _) => {
                tracing::error!(%error, "a secret is not to be had");
                Kept { read: Err(error), until: now + AGAIN_AFTER }
            }
        }
    }

    async fn read(&self) -> Result<T, SecretError> {
        // A client for each reading: most processes never need one, and its
        // connection comes from the pool that all clients share.
        let client = Client::new(&self.aws);
        let read = client.get_secret_value().secret_id(&self.id).send().await.map_err(|it| self.failed(&it))?;
        // The error of serde is dropped, because it may quote the secret.
        let text = read.secret_string().filter(|it| it.len() <= MAX_BYTES);
        let value = text.and_then(|it| serde_json::from_str(it).ok());
        value.ok_or_else(|| SecretError::Unreadable { id: self.id.clone(), form: self.form })
    }

    fn failed(&self, error: &SdkError<GetSecretValueError>) -> SecretError {
        let id = self.id.clone();
        match error.as_service_error().and_then(ProvideErrorMetadata::code) {
            Some("ResourceNotFoundException") => SecretError::NotThere { id },
            Some("AccessDeniedException") => SecretError::NotAllowed { id },
            _ => SecretError::Unavailable { id, reason: chain(error) },
        }
    }
}
