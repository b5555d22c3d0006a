//! Client authentication at the authorization server.

use super::Form;
use crate::bluesky::api_error::ApiError;
use crate::bluesky::jose::Jwt;
use crate::bluesky::pds_state::PdsState;
use crate::bluesky::pds_state::client::{Client, ClientAuth};

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Maximum age of an assertion.
const MAX_AGE_SECONDS: i64 = 60;

impl Client {
    /// Checks the client assertion. `jkt` is the thumbprint of the `DPoP` key, which
    /// has to differ from the client's key.
    pub(super) fn authenticate(&self, form: &Form, fake: &PdsState, jkt: &str) -> Result<ClientAuth, ApiError> {
        let Some(keys) = &self.keys else { return Ok(ClientAuth::None) };
        let assertion = form.want("client_assertion", "invalid_request")?;
        if form.get("client_assertion_type") != Some(ASSERTION_TYPE) {
            return Err(invalid_client("Unsupported client_assertion_type"));
        }
        let jwt = Jwt::read(assertion).ok_or_else(|| invalid_client("Unable to verify \"client_assertion\" JWT"))?;
        let kid = jwt.header["kid"].as_str().ok_or_else(|| invalid_client("\"kid\" required in client_assertion"))?;
        let key = keys.iter().find(|it| it.kid == kid);
        let key = key.ok_or_else(|| assertion_failed("no applicable key found in the JSON Web Key Set"))?;

        require(jwt.is_signed_by(&key.key), "signature verification failed")?;
        require(jwt.text("iss") == Some(&self.id), "unexpected \"iss\" claim value")?;
        require(jwt.text("sub") == Some(&self.id), "unexpected \"sub\" claim value")?;
        require(jwt.text("aud") == Some(fake.issuer()), "unexpected \"aud\" claim value")?;
        let now = fake.seconds();
        let age = now - jwt.time("iat").ok_or_else(|| assertion_failed("missing required \"iat\" claim"))?;
        require((0..=MAX_AGE_SECONDS).contains(&age), "\"iat\" claim timestamp check failed")?;
        require(jwt.time("exp").is_some_and(|exp| now < exp), "\"exp\" claim timestamp check failed")?;
        let jti = jwt.text("jti").ok_or_else(|| assertion_failed("missing required \"jti\" claim"))?;

        if key.key.thumbprint() == jkt {
            let why = "The DPoP proof must be signed with a different key than the client assertion";
            return Err(ApiError::oauth("invalid_request", why));
        }
        if !fake.state().is_first_use("assertion", &format!("{} {jti}", self.id)) {
            return Err(ApiError::oauth("invalid_grant", "private_key_jwt jti reused"));
        }
        Ok(ClientAuth::PrivateKeyJwt(key.clone()))
    }
}

fn require(holds: bool, message: &str) -> Result<(), ApiError> {
    if holds { Ok(()) } else { Err(assertion_failed(message)) }
}

fn assertion_failed(why: &str) -> ApiError {
    invalid_client(&format!("Validation of \"client_assertion\" failed: {why}"))
}

fn invalid_client(why: &str) -> ApiError {
    ApiError::oauth("invalid_client", why)
}
