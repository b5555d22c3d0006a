//! The token of a call, and the proof that the call comes from our app.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use http::HeaderMap;
use ring::hmac;

use super::error::GraphError;
use super::fields::Fields;
use crate::fake::oauth::{Grant, OAuth};
use crate::fake::params::bearer;

/// Whether calls need `appsecret_proof`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Calls need the proof: the app's setting "Require App Secret".
    Required,
    /// The parameter is unknown, and refused.
    Unknown,
}

/// The grant of a call. The token is in the `Authorization` header or in the parameter
/// `access_token`. It has to be valid and to have all of these scopes.
pub fn accept<'a>(
    oauth: &'a OAuth,
    headers: &HeaderMap,
    fields: &mut Fields,
    proof: Proof,
    scopes: &[&str],
    now: DateTime<Utc>,
) -> Result<&'a Grant, GraphError> {
    let in_header = bearer(headers).map(str::to_owned);
    let token = match (in_header, fields.text("access_token")) {
        (Some(_), Some(_)) => return Err(GraphError::param("The access token was given twice")),
        (token, None) | (None, token) => token.ok_or_else(GraphError::token_required)?,
    };
    if proof == Proof::Required {
        check_proof(oauth, &token, &fields.want("appsecret_proof")?)?;
    }
    let grant = living(oauth, &token, now)?;
    match scopes.iter().find(|scope| !grant.scopes.iter().any(|it| it == *scope)) {
        Some(scope) => Err(GraphError::permission(scope)),
        None => Ok(grant),
    }
}

pub fn living<'a>(oauth: &'a OAuth, token: &str, now: DateTime<Utc>) -> Result<&'a Grant, GraphError> {
    let grant = oauth.grants.iter().find(|it| it.access_token == token);
    let grant =
        grant.ok_or_else(|| GraphError::token("Invalid OAuth access token - Cannot parse access token", None))?;
    if grant.revoked {
        return Err(GraphError::removed_app());
    }
    match grant.expires_at.filter(|it| *it <= now) {
        Some(at) => Err(GraphError::expired_token(at)),
        None => Ok(grant),
    }
}

/// `appsecret_proof`: HMAC-SHA256 of the token with the app's secret, in hexadecimal ("Secure Graph
/// API Calls").
pub fn proof(secret: &str, token: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, token.as_bytes());
    tag.as_ref().iter().fold(String::new(), |mut written, byte| {
        let _ = write!(written, "{byte:02x}");
        written
    })
}

/// Accepts the `appsecret_proof` of a registered app.
pub fn check_proof(oauth: &OAuth, token: &str, given: &str) -> Result<(), GraphError> {
    if oauth.apps.iter().any(|it| proof(&it.client_secret, token) == given) {
        Ok(())
    } else {
        Err(GraphError::param("Invalid appsecret_proof provided in the API argument"))
    }
}
