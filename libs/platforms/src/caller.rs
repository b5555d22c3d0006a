use chrono::{DateTime, Utc};
use secrecy::SecretString;

use crate::publish_request::PublishRequest;

#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) token: &'a SecretString,
    pub(crate) now: DateTime<Utc>,
}

impl<'a> Caller<'a> {
    pub(crate) fn for_request(request: &'a PublishRequest<'_>) -> Self {
        Self { token: request.credentials.account_token(), now: request.now }
    }
}
