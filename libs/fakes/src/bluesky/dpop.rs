//! Proofs that a request comes from the holder of a key (RFC 9449).

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use url::Url;

use super::api_error::ApiError;
use super::jose::{self, Jwt, PublicKey};
use super::pds_state::{PdsState, Shared};

/// The server that a proof is for; each server has its own nonces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Realm {
    AuthorizationServer,
    Pds,
}

/// How long a nonce is the current one. The previous and the next nonce are
/// accepted too, so a nonce is valid for two to three minutes.
const ROTATION_SECONDS: i64 = 60;

/// Maximum clock skew of a client.
const TOLERANCE_SECONDS: i64 = 180;

/// Maximum age of a proof, in addition to the clock skew.
const PROOF_MAX_AGE_SECONDS: i64 = 10;

/// Why a proof is refused.
enum ProofError {
    Nonce(&'static str),
    Other(&'static str),
}

/// Checks the proof of a request.
///
/// Returns the thumbprint of the key; `None` without a proof.
pub(super) fn check(
    fake: &PdsState,
    realm: Realm,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    access_token: Option<&str>,
) -> Result<Option<String>, ApiError> {
    let mut proofs = headers.get_all("dpop").iter();
    let Some(proof) = proofs.next() else { return Ok(None) };
    let checked = match proof.to_str() {
        Ok(proof) if proofs.next().is_none() => verify(fake, realm, method, path, proof, access_token),
        _ => Err(ProofError::Other("DPoP header must contain a single proof")),
    };
    checked.map(Some).map_err(|bad| bad.refusal(realm))
}

fn verify(
    fake: &PdsState,
    realm: Realm,
    method: &Method,
    path: &str,
    proof: &str,
    access_token: Option<&str>,
) -> Result<String, ProofError> {
    let proof = Jwt::read(proof).ok_or(ProofError::Other("Failed to verify DPoP proof: not a JWT"))?;
    let key = PublicKey::read(&proof.header["jwk"])
        .ok_or(ProofError::Other("Failed to verify DPoP proof: jwk is not a public P-256 key"))?;
    require(proof.header["typ"] == "dpop+jwt", "Failed to verify DPoP proof: unexpected typ")?;
    require(proof.is_signed_by(&key), "Failed to verify DPoP proof: signature verification failed")?;

    let age = fake.seconds() - proof.time("iat").ok_or(ProofError::Other("DPoP \"iat\" missing"))?;
    let fresh = (-TOLERANCE_SECONDS..=PROOF_MAX_AGE_SECONDS + TOLERANCE_SECONDS).contains(&age);
    require(fresh, "Failed to verify DPoP proof: \"iat\" claim timestamp check failed")?;
    let jti = proof.text("jti").filter(|it| !it.is_empty()).ok_or(ProofError::Other("DPoP \"jti\" missing"))?;
    require(proof.text("htm") == Some(method.as_str()), "DPoP \"htm\" mismatch")?;
    let origin = match realm {
        Realm::AuthorizationServer => fake.issuer(),
        Realm::Pds => fake.pds(),
    };
    require(proof.text("htu").is_some_and(|it| is_same_url(it, origin, path)), "DPoP \"htu\" mismatch")?;

    match proof.text("nonce") {
        None => return Err(ProofError::Nonce("Authorization server requires nonce in DPoP proof")),
        Some(nonce) if !is_valid_nonce(fake, realm, nonce) => {
            return Err(ProofError::Nonce("DPoP \"nonce\" mismatch"));
        }
        Some(_) => {}
    }
    match access_token {
        Some(token) => require(proof.text("ath") == Some(&jose::digest(token)), "DPoP \"ath\" mismatch")?,
        None => require(proof.claims["ath"].is_null(), "DPoP \"ath\" claim not allowed")?,
    }
    require(fake.state().is_first_use("proof", jti), "DPoP proof replayed")?;
    Ok(key.thumbprint())
}

/// Whether `htu` is this path at this origin: no query, no fragment.
fn is_same_url(htu: &str, origin: &str, path: &str) -> bool {
    let Ok(url) = Url::parse(htu) else { return false };
    url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.origin().ascii_serialization() == origin
        && url.path() == path
}

fn require(holds: bool, message: &'static str) -> Result<(), ProofError> {
    if holds { Ok(()) } else { Err(ProofError::Other(message)) }
}

impl ProofError {
    fn refusal(self, realm: Realm) -> ApiError {
        let (error, description) = match self {
            Self::Nonce(description) => ("use_dpop_nonce", description),
            Self::Other(description) => ("invalid_dpop_proof", description),
        };
        match realm {
            Realm::AuthorizationServer if error == "use_dpop_nonce" => ApiError::oauth(error, description),
            Realm::AuthorizationServer => ApiError::oauth(error, description).with_challenge(error),
            Realm::Pds => ApiError::unauthorized(error, description).with_challenge(error),
        }
    }
}

/// Whether a request will be refused only for its nonce. The server does not execute
/// the request, and the client has to repeat it.
pub(super) fn is_denied(fake: &PdsState, realm: Realm, headers: &HeaderMap) -> bool {
    let Some(proof) = headers.get("dpop").and_then(|it| Jwt::read(it.to_str().ok()?)) else { return false };
    !proof.text("nonce").is_some_and(|it| is_valid_nonce(fake, realm, it))
}

/// Adds the next nonce to the responses to which real servers add one.
pub(super) async fn add_nonce(State((fake, realm)): State<(Shared, Realm)>, request: Request, next: Next) -> Response {
    let brings = match realm {
        Realm::AuthorizationServer => *request.method() == Method::POST,
        Realm::Pds => {
            let authorization = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
            authorization.and_then(|it| it.get(..5)).is_some_and(|it| it.eq_ignore_ascii_case("DPoP "))
        }
    };
    let mut response = next.run(request).await;
    if brings {
        let nonce = nonce(&fake, realm, now(&fake) + 1);
        response.headers_mut().insert("dpop-nonce", nonce.parse().expect("base64url fits into a header"));
    }
    response
}

fn is_valid_nonce(fake: &PdsState, realm: Realm, sent: &str) -> bool {
    let now = now(fake);
    (now - 1..=now + 1).any(|it| nonce(fake, realm, it) == sent)
}

/// The number of the current nonce.
fn now(fake: &PdsState) -> i64 {
    fake.seconds().div_euclid(ROTATION_SECONDS)
}

fn nonce(fake: &PdsState, realm: Realm, number: i64) -> String {
    jose::digest(&format!("{} {realm:?} {number}", fake.secret))
}
