//! Checks the tokens of requests (`core/server/services/auth/api-key/admin.js`).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::Value;
use sha2::Sha256;

use super::api_error::ApiError;
use super::{Fake, KEY};

/// How old a token may be, in seconds.
const MAX_AGE: i64 = 300;

pub(super) fn check(fake: &Fake, headers: &HeaderMap) -> Result<(), ApiError> {
    let header = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|it| it.strip_prefix("Ghost ")).ok_or_else(ApiError::unauthorized)?;
    let malformed = || ApiError::invalid_token("jwt malformed");
    let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
    let (head, claims) = signed.split_once('.').ok_or_else(malformed)?;
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed());
    let json = |part: &str| serde_json::from_slice::<Value>(&decoded(part)?).map_err(|_| malformed());
    let (head, claims, signature) = (json(head)?, json(claims)?, decoded(signature)?);
    let (id, secret) = KEY;
    if head["kid"] != id || fake.memory().is_deleted {
        return Err(ApiError::unknown_key());
    }
    let digit = |at: usize| u8::from_str_radix(&secret[at..at + 2], 16).expect("it is hexadecimal");
    let secret: Vec<u8> = (0..secret.len()).step_by(2).map(digit).collect();
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret).expect("any length is accepted");
    mac.update(signed.as_bytes());
    if head["alg"] != "HS256" || mac.verify_slice(&signature).is_err() {
        return Err(ApiError::invalid_token("invalid signature"));
    }
    if claims["aud"] != "/admin/" {
        return Err(ApiError::invalid_token("jwt audience invalid. expected: /admin/"));
    }
    let now = fake.clock.now().timestamp();
    if claims["exp"].as_i64().is_none_or(|it| it <= now) {
        return Err(ApiError::invalid_token("jwt expired"));
    }
    if claims["iat"].as_i64().is_none_or(|it| it + MAX_AGE <= now) {
        return Err(ApiError::invalid_token("maxAge exceeded"));
    }
    Ok(())
}
