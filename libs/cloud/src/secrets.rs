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
/// same answer: nobody waits for a service that does not answer, one by one.
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
    /// The function's role does not say so.
    #[error("the secret {id} may not be read; allow the function's role secretsmanager:GetSecretValue on it")]
    NotAllowed {
        /// Its name or ARN.
        id: String,
    },
    /// What it holds is not what it is to hold.
    #[error("the secret {id} does not hold JSON like {form}; give it a value that does")]
    Unreadable {
        /// Its name or ARN.
        id: String,
        /// What it is to hold.
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

/// What came of reading it, and how long that holds.
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

    /// What it holds. A value is ten minutes old at most, unless Secrets
    /// Manager is away: then the last one still does.
    ///
    /// # Errors
    /// Each was logged when it was met.
    pub async fn get(&self) -> Result<Arc<T>, SecretError> {
        // Held while it is read: whoever comes meanwhile takes the same answer.
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

    /// What it holds was refused where it was shown: it is read anew when it
    /// is next asked for.
    pub fn refused(&self, value: &Arc<T>) {
        // When somebody has it, it is being read anew already.
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
        // A client for each time: most processes never want one, and its
        // connection is the one that all clients share.
        let client = Client::new(&self.aws);
        let read = client.get_secret_value().secret_id(&self.id).send().await.map_err(|it| self.failed(&it))?;
        // What serde has to say of it may quote it.
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
