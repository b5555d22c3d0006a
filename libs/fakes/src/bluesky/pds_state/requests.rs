//! Authorization requests, from the pushed request to the code.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::client::ClientAuth;
use crate::bluesky::api_error::ApiError;
use crate::bluesky::jose;

/// Lifetime of a pending request, and of a code.
const LIFETIME: TimeDelta = TimeDelta::minutes(5);

/// A pushed authorization request.
#[derive(Clone, Debug)]
pub(in crate::bluesky) struct ConsentRequest {
    pub(in crate::bluesky) client_id: String,
    pub(in crate::bluesky) auth: ClientAuth,
    pub(in crate::bluesky) jkt: String,
    pub(in crate::bluesky) redirect_uri: String,
    pub(in crate::bluesky) scope: String,
    pub(in crate::bluesky) state: String,
    pub(in crate::bluesky) challenge: String,
    pub(in crate::bluesky) login_hint: Option<String>,
}

struct PendingRequest {
    asked: ConsentRequest,
    ends: DateTime<Utc>,
}

/// The pending requests, and the codes that are not exchanged yet.
#[derive(Default)]
pub(in crate::bluesky) struct Requests {
    by_uri: HashMap<String, PendingRequest>,
    by_code: HashMap<String, PendingRequest>,
}

impl Requests {
    /// Stores a request; returns its `request_uri`.
    pub(in crate::bluesky) fn push(&mut self, request: ConsentRequest, now: DateTime<Utc>) -> String {
        let uri = jose::random("urn:ietf:params:oauth:request_uri:req-");
        self.by_uri.insert(uri.clone(), PendingRequest { asked: request, ends: now + LIFETIME });
        uri
    }

    /// The request whose page the user opens, which extends its lifetime. An expired
    /// request, or one of another client, is deleted.
    pub(in crate::bluesky) fn open(
        &mut self,
        uri: &str,
        client_id: &str,
        now: DateTime<Utc>,
    ) -> Result<ConsentRequest, ApiError> {
        let unknown = || ApiError::oauth("invalid_request", "Unknown request_uri");
        let waiting = self.by_uri.get_mut(uri).ok_or_else(unknown)?;
        let why = if waiting.ends < now {
            "This request has expired"
        } else if waiting.asked.client_id != client_id {
            "This request was initiated for another client"
        } else {
            waiting.ends = now + LIFETIME;
            return Ok(waiting.asked.clone());
        };
        self.by_uri.remove(uri);
        Err(ApiError::oauth("access_denied", why))
    }

    /// The user approves the request. Returns the code.
    pub(in crate::bluesky) fn accept(&mut self, uri: &str, now: DateTime<Utc>) -> Option<String> {
        let waiting = self.by_uri.remove(uri)?;
        let code = jose::random("cod-");
        self.by_code.insert(code.clone(), PendingRequest { ends: now + LIFETIME, ..waiting });
        Some(code)
    }

    /// The user denies the request.
    pub(in crate::bluesky) fn reject(&mut self, uri: &str) {
        self.by_uri.remove(uri);
    }

    /// The request of a code. A code can be used once.
    pub(in crate::bluesky) fn take_code(&mut self, code: &str, now: DateTime<Utc>) -> Result<ConsentRequest, ApiError> {
        match self.by_code.remove(code) {
            None => Err(ApiError::oauth("invalid_grant", "Invalid code")),
            Some(waiting) if waiting.ends < now => Err(ApiError::oauth("invalid_grant", "This code has expired")),
            Some(waiting) => Ok(waiting.asked),
        }
    }
}
