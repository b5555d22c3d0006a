//! JSON Web Tokens with ES256, the only algorithm that the fake supports, and
//! random identifiers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A parsed token whose signature is not verified yet.
pub(super) struct Jwt {
    pub(super) header: Value,
    pub(super) claims: Value,
    signed: String,
    signature: Vec<u8>,
}

impl Jwt {
    /// Parses three parts; the first two are JSON objects.
    pub(super) fn read(token: &str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let object = |part: &str| -> Option<Value> {
            let value: Value = serde_json::from_slice(&decode(part)?).ok()?;
            value.is_object().then_some(value)
        };
        Some(Self {
            header: object(header)?,
            claims: object(claims)?,
            signed: signed.to_owned(),
            signature: decode(signature)?,
        })
    }

    /// Whether the header has `ES256` and this key made the signature.
    pub(super) fn is_signed_by(&self, key: &PublicKey) -> bool {
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.point());
        self.header["alg"] == "ES256" && public.verify(self.signed.as_bytes(), &self.signature).is_ok()
    }

    pub(super) fn text(&self, claim: &str) -> Option<&str> {
        self.claims[claim].as_str()
    }

    /// A time claim, in whole seconds since 1970.
    pub(super) fn time(&self, claim: &str) -> Option<i64> {
        self.claims[claim].as_i64()
    }
}

/// The public half of a P-256 key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    x: Vec<u8>,
    y: Vec<u8>,
}

impl PublicKey {
    /// Reads a JWK; `None` for another key type or a private key.
    pub(super) fn read(jwk: &Value) -> Option<Self> {
        let fits = jwk["kty"] == "EC" && jwk["crv"] == "P-256" && jwk["d"].is_null();
        let part = |name: &str| decode(jwk[name].as_str()?).filter(|it| it.len() == 32);
        if fits { Some(Self { x: part("x")?, y: part("y")? }) } else { None }
    }

    /// The JWK thumbprint (RFC 7638).
    pub(super) fn thumbprint(&self) -> String {
        let (x, y) = (encode(&self.x), encode(&self.y));
        digest(&format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#))
    }

    fn point(&self) -> Vec<u8> {
        [&[4], self.x.as_slice(), self.y.as_slice()].concat()
    }
}

/// A private key.
pub(super) struct Key(EcdsaKeyPair);

impl Key {
    pub(super) fn new() -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key can be made");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random);
        Self(pair.expect("the key was just made"))
    }

    /// A signed token of this type.
    pub(super) fn sign(&self, typ: &str, claims: &Value) -> String {
        let header = json!({ "typ": typ, "alg": "ES256" }).to_string();
        let signed = format!("{}.{}", encode(header), encode(claims.to_string()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).expect("anything can be signed");
        format!("{signed}.{}", encode(signature))
    }

    /// Parses a token that this key signed; `None` for all others.
    pub(super) fn verify(&self, typ: &str, token: &str) -> Option<Jwt> {
        let token = Jwt::read(token)?;
        (token.header["typ"] == typ && token.is_signed_by(&self.public())).then_some(token)
    }

    fn public(&self) -> PublicKey {
        let point = self.0.public_key().as_ref();
        PublicKey { x: point[1..33].to_vec(), y: point[33..].to_vec() }
    }
}

/// An unguessable identifier: 256 random bits after `prefix`.
pub(super) fn random(prefix: &str) -> String {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system is random");
    format!("{prefix}{}", encode(bytes))
}

/// The SHA-256 of a text, in base64url.
pub(super) fn digest(text: &str) -> String {
    encode(Sha256::digest(text.as_bytes()))
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
