//! Who makes a call.

use chrono::{DateTime, Utc};
use secrecy::SecretString;

use crate::publish_request::PublishRequest;

/// Who asks a platform, and when.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    /// Of the account.
    pub(crate) token: &'a SecretString,
    pub(crate) now: DateTime<Utc>,
}

impl<'a> Caller<'a> {
    /// The account of a job.
    pub(crate) fn of(job: &'a PublishRequest<'_>) -> Self {
        Self { token: job.credentials.of_the_account(), now: job.now }
    }
}
