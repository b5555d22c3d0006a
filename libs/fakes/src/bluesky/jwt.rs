//! JSON Web Tokens with ES256, as clients sign them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;

/// The header (0) or the claims (1) of a token; null if the token has none.
pub(super) fn part(token: &str, index: usize) -> Value {
    let decoded = token.split('.').nth(index).and_then(decode);
    decoded.and_then(|it| serde_json::from_slice(&it).ok()).unwrap_or_default()
}

/// Whether the P-256 key `jwk` made the signature of a token.
pub(super) fn is_signed_by(token: &str, jwk: &Value) -> bool {
    let verify = || {
        let (signed, signature) = token.rsplit_once('.')?;
        let coordinate = |name: &str| decode(jwk[name].as_str()?);
        let point = [vec![4], coordinate("x")?, coordinate("y")?].concat();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        key.verify(signed.as_bytes(), &decode(signature)?).ok()
    };
    verify().is_some()
}

/// A token with these claims that only this fake reads, so its signature is random.
pub(super) fn unsigned(claims: &Value, signature: &str) -> String {
    format!("{}.{}.{signature}", URL_SAFE_NO_PAD.encode("{}"), URL_SAFE_NO_PAD.encode(claims.to_string()))
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
