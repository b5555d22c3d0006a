//! Tokens that last: a short one is exchanged for one of 60 days, and that one for
//! another, as long as it lives.

use axum::Json;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::access;
use super::error::GraphError;
use super::fields::Fields;
use crate::fake::oauth::{OAuth, secret};

/// How a platform names what is asked for.
#[derive(Clone, Copy, Debug)]
pub struct LongLived {
    /// The `grant_type` by which a short token becomes a long one.
    pub exchange: &'static str,
    /// The `grant_type` by which a long one becomes another.
    pub refresh: &'static str,
}

/// How long a token from a code lives.
pub const SHORT: TimeDelta = TimeDelta::hours(1);

/// How long the long one does: some seconds less than 60 days, as in the examples.
pub const LONG: TimeDelta = TimeDelta::seconds(5_183_944);

/// How old a long one has to be to become another.
const YOUNGEST: TimeDelta = TimeDelta::days(1);

impl LongLived {
    /// `GET /access_token`: a long token for a short one that lives.
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

    /// `GET /refresh_access_token`: another long token for one that lives, and is a day
    /// old.
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

/// The real ones go on taking the old token until it ends; here it is of no use any more.
fn issue_long_token(oauth: &mut OAuth, token: &str, now: DateTime<Utc>) -> Json<Value> {
    let long = secret();
    for grant in oauth.grants.iter_mut().filter(|it| it.access_token == token) {
        grant.access_token.clone_from(&long);
        grant.made_at = now;
        grant.expires_at = Some(now + LONG);
    }
    Json(json!({ "access_token": long, "token_type": "bearer", "expires_in": LONG.num_seconds() }))
}
