//! Proofs that a request comes from the holder of a key (RFC 9449): signature, request and nonce.
//! Only the real server checks the times of proofs and that each is used once.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::clock::Clock;
use domain::token;
use http::header::{AUTHORIZATION, HOST};
use http::request::Parts;
use http::{HeaderMap, HeaderName};

use super::api_error::ApiError;
use super::jwt;

/// The thumbprint of the key that signed a request's proof.
#[derive(Clone)]
pub(super) struct ProofKey(pub(super) String);

/// How long a nonce is the current one. The previous and the next nonce are accepted too.
const ROTATION_SECONDS: i64 = 60;

const PROOF: HeaderName = HeaderName::from_static("dpop");

/// Refuses a request with an invalid proof. The response to a valid one has the next nonce.
pub(super) async fn check_proof(State(clock): State<Clock>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    if !head.headers.contains_key(PROOF) {
        return next.run(Request::from_parts(head, body)).await;
    }
    let path = head.uri.path().to_owned();
    let checked = if lacks_nonce(&clock, &head) {
        Err(("use_dpop_nonce", "Authorization server requires nonce in DPoP proof"))
    } else {
        verify(&head).ok_or(("invalid_dpop_proof", "Failed to verify DPoP proof"))
    };
    let mut response = match checked {
        Ok(key) => {
            head.extensions.insert(key);
            next.run(Request::from_parts(head, body)).await
        }
        Err((error, message)) if is_oauth(&path) => ApiError::oauth(error, message).into_response(),
        Err((error, message)) => ApiError::unauthorized(error, message).with_challenge(error).into_response(),
    };
    let nonce = nonce(&path, rotation(&clock) + 1);
    response.headers_mut().insert("dpop-nonce", nonce.parse().expect("base64url fits into a header"));
    response
}

/// Whether a request will be refused only for its nonce. The server does not execute the request,
/// and the client has to repeat it.
pub(super) fn lacks_nonce(clock: &Clock, head: &Parts) -> bool {
    let now = rotation(clock);
    let is_current = |sent: &str| (now - 1..=now + 1).any(|it| nonce(head.uri.path(), it) == sent);
    text(&head.headers, &PROOF).is_some_and(|proof| !jwt::part(proof, 1)["nonce"].as_str().is_some_and(is_current))
}

/// The key of a proof for this request and its access token, if it has one.
fn verify(head: &Parts) -> Option<ProofKey> {
    let proof = text(&head.headers, &PROOF)?;
    let (header, claims) = (jwt::part(proof, 0), jwt::part(proof, 1));
    let jwk = &header["jwk"];
    let access_token = text(&head.headers, &AUTHORIZATION).and_then(|it| it.strip_prefix("DPoP "));
    let url = format!("http://{}{}", text(&head.headers, &HOST)?, head.uri.path());
    let is_valid = header["typ"] == "dpop+jwt"
        && jwk["d"].is_null()
        && jwt::is_signed_by(proof, jwk)
        && claims["htm"] == head.method.as_str()
        && claims["htu"] == url
        && claims["ath"].as_str() == access_token.map(token::hash).as_deref();
    is_valid.then(|| ProofKey(token::hash(&jwk.to_string())))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn is_oauth(path: &str) -> bool {
    path.starts_with("/oauth/")
}

/// The number of the current nonce.
fn rotation(clock: &Clock) -> i64 {
    clock.now().timestamp().div_euclid(ROTATION_SECONDS)
}

/// Each server has its own nonces.
fn nonce(path: &str, number: i64) -> String {
    token::hash(&format!("{} {number}", is_oauth(path)))
}
