//! Long-lived tokens: a short-lived token is exchanged for a token of 60 days, which can be
//! refreshed while it is valid.

use axum::Json;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::access;
use super::error::GraphError;
use super::fields::Fields;
use crate::fake::oauth::{OAuth, secret};

#[derive(Clone, Copy, Debug)]
pub struct LongLived {
    /// The `grant_type` that exchanges a short-lived token for a long-lived one.
    pub exchange: &'static str,
    /// The `grant_type` that refreshes a long-lived token.
    pub refresh: &'static str,
}

/// How long a short-lived token is valid.
pub const SHORT: TimeDelta = TimeDelta::hours(1);

/// How long a long-lived token is valid: some seconds less than 60 days, as in the examples.
pub const LONG: TimeDelta = TimeDelta::seconds(5_183_944);

/// The minimum age of a long-lived token before a refresh.
const YOUNGEST: TimeDelta = TimeDelta::days(1);

impl LongLived {
    /// `GET /access_token`: exchanges a valid short-lived token for a long-lived one.
    pub fn exchange(
        self,
        oauth: &mut OAuth,
        mut fields: Fields,
        now: DateTime<Utc>,
    ) -> Result<Json<Value>, GraphError> {
        check_grant_type(&mut fields, self.exchange)?;
        let (proof, token) = (fields.want("client_secret")?, fields.want("access_token")?);
        fields.end()?;
        if !oauth.apps.iter().any(|it| it.client_secret == proof && !it.removed) {
            return Err(GraphError::new(1, "Error validating client secret."));
        }
        let grant = access::living(oauth, &token, now)?;
        if grant.expires_at.is_none_or(|it| SHORT < it - grant.made_at) {
            return Err(GraphError::new(452, "Session key invalid: the token is a long-lived one"));
        }
        Ok(issue_long_token(oauth, &token, now))
    }

    /// `GET /refresh_access_token`: refreshes a valid long-lived token that is at least a day old.
    pub fn refresh(self, oauth: &mut OAuth, mut fields: Fields, now: DateTime<Utc>) -> Result<Json<Value>, GraphError> {
        check_grant_type(&mut fields, self.refresh)?;
        let token = fields.want("access_token")?;
        fields.end()?;
        let grant = access::living(oauth, &token, now)?;
        if grant.expires_at.is_none_or(|it| it - grant.made_at <= SHORT) {
            return Err(GraphError::param("The access token is no long-lived one"));
        }
        if now < grant.made_at + YOUNGEST {
            return Err(GraphError::param("The access token has to be at least 24 hours old"));
        }
        Ok(issue_long_token(oauth, &token, now))
    }
}

fn check_grant_type(fields: &mut Fields, grant_type: &str) -> Result<(), GraphError> {
    let given = fields.want("grant_type")?;
    if given == grant_type { Ok(()) } else { Err(GraphError::param("Unsupported grant_type")) }
}

/// Meta accepts the old token until it expires; the fake does not.
fn issue_long_token(oauth: &mut OAuth, token: &str, now: DateTime<Utc>) -> Json<Value> {
    let long = secret();
    for grant in oauth.grants.iter_mut().filter(|it| it.access_token == token) {
        grant.access_token.clone_from(&long);
        grant.made_at = now;
        grant.expires_at = Some(now + LONG);
    }
    Json(json!({ "access_token": long, "token_type": "bearer", "expires_in": LONG.num_seconds() }))
}
