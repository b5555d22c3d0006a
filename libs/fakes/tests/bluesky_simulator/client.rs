//! A client of Bluesky that sends any request that a test chooses, valid or not.

use std::collections::HashMap;
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::clock::Clock;
use domain::testing::noon;
use fakes::bluesky::Bluesky;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, StatusCode};
use platforms::conformance::fake_platform::{Decision, FakePlatform};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(crate) const POSTING: &str = "atproto repo:app.bsky.feed.post blob:image/* blob:video/* \
     rpc:com.atproto.repo.uploadBlob?aud=* rpc:app.bsky.video.getUploadLimits?aud=*";
pub(crate) const REDIRECT: &str = "http://127.0.0.1:1/connect/callback/bluesky";
pub(crate) const TID: &str = "3m5xkqh2v4k2a";
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR and then some";

/// A response with its complete body.
#[derive(Debug)]
pub(crate) struct PdsResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl PdsResponse {
    pub(crate) fn error(&self) -> (u16, &str) {
        (self.status.as_u16(), self.body["error"].as_str().unwrap_or_default())
    }

    pub(crate) fn text(&self, field: &str) -> String {
        self.body[field].as_str().unwrap_or_else(|| panic!("no {field}: {self:?}")).to_owned()
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).map(|it| it.to_str().unwrap().to_owned())
    }

    pub(crate) fn nonce(&self) -> String {
        self.header("dpop-nonce").expect("a nonce")
    }
}

/// A P-256 key.
pub(crate) struct Key(EcdsaKeyPair);

impl Key {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random).unwrap())
    }

    pub(crate) fn jwk(&self) -> Value {
        let point = self.0.public_key().as_ref();
        json!({ "kty": "EC", "crv": "P-256", "x": base64(&point[1..33]), "y": base64(&point[33..]) })
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", base64(signature))
    }
}

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn random() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).unwrap();
    base64(bytes)
}

pub(crate) fn digest(text: &str) -> String {
    base64(Sha256::digest(text))
}

/// A proof before it is signed.
pub(crate) struct Proof {
    pub(crate) header: Value,
    pub(crate) claims: Value,
}

pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
}

pub(crate) struct Client {
    pub(crate) fake: Bluesky,
    pub(crate) clock: Clock,
    pub(crate) http: reqwest::Client,
    pub(crate) key: Key,
    pub(crate) id: String,
    pub(crate) redirect: String,
    pub(crate) scope: String,
    /// The key of a confidential client.
    pub(crate) own_key: Option<Key>,
    nonces: Mutex<HashMap<String, String>>,
}

pub(crate) fn loopback_id(redirect: &str, scope: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("redirect_uri", redirect)
        .append_pair("scope", scope)
        .finish();
    format!("http://localhost?{query}")
}

impl Client {
    pub(crate) async fn new() -> Self {
        Self::with_scope(POSTING).await
    }

    /// A development client on loopback.
    pub(crate) async fn with_scope(scope: &str) -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let clock = Clock::manual(noon());
        Self {
            fake: Bluesky::start(clock.clone()).await,
            clock,
            http: reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap(),
            key: Key::new(),
            id: loopback_id(REDIRECT, scope),
            redirect: REDIRECT.to_owned(),
            scope: scope.to_owned(),
            own_key: None,
            nonces: Mutex::default(),
        }
    }

    /// A client with a metadata document and a key.
    pub(crate) async fn confidential() -> Self {
        let client = Self {
            id: "https://app.sps-loopback.dev/oauth/client-metadata.json".to_owned(),
            redirect: "https://app.sps-loopback.dev/connect/callback/bluesky".to_owned(),
            own_key: Some(Key::new()),
            ..Self::new().await
        };
        client.fake.add_client_document(&client.id, client.document());
        client
    }

    pub(crate) fn document(&self) -> Value {
        let mut jwk = self.own_key.as_ref().unwrap().jwk();
        (jwk["kid"], jwk["alg"], jwk["use"]) = ("k1".into(), "ES256".into(), "sig".into());
        json!({
            "client_id": self.id,
            "application_type": "web",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "redirect_uris": [self.redirect],
            "scope": self.scope,
            "dpop_bound_access_tokens": true,
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_signing_alg": "ES256",
            "jwks": { "keys": [jwk] },
        })
    }

    pub(crate) fn seconds(&self) -> i64 {
        self.clock.now().timestamp()
    }

    /// A valid proof.
    pub(crate) fn proof(&self, method: &Method, url: &str, access_token: Option<&str>) -> Proof {
        let origin = url::Url::parse(url).unwrap().origin().ascii_serialization();
        let mut claims = json!({
            "jti": random(),
            "htm": method.as_str(),
            "htu": url.split('?').next().unwrap(),
            "iat": self.seconds(),
        });
        if let Some(nonce) = self.nonces.lock().unwrap().get(&origin) {
            claims["nonce"] = nonce.clone().into();
        }
        if let Some(token) = access_token {
            claims["ath"] = digest(token).into();
        }
        Proof { header: json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.key.jwk() }), claims }
    }

    /// Sends a request with this proof, once.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder, proof: Option<String>) -> PdsResponse {
        let request = match proof {
            Some(proof) => request.header("dpop", proof),
            None => request,
        };
        let response = request.send().await.unwrap();
        let origin = response.url().origin().ascii_serialization();
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.unwrap();
        let response =
            PdsResponse { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) };
        if let Some(nonce) = response.header("dpop-nonce") {
            self.nonces.lock().unwrap().insert(origin, nonce);
        }
        response
    }

    /// Posts a form of the client to the authorization server.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> PdsResponse {
        let url = format!("{}{path}", self.fake.issuer());
        loop {
            let mut form: Vec<(&str, String)> =
                fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            if !fields.iter().any(|(name, _)| *name == "client_id") {
                form.push(("client_id", self.id.clone()));
            }
            if let Some(key) = &self.own_key
                && !fields.iter().any(|(name, _)| *name == "client_assertion")
            {
                form.push(("client_assertion", key.sign(&assertion_header(), &self.assertion())));
            }
            if self.own_key.is_some() {
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                form.push(("client_assertion_type", kind.to_owned()));
            }
            let proof = self.proof(&Method::POST, &url, None);
            let proof = self.key.sign(&proof.header, &proof.claims);
            let response = self.send(self.http.post(&url).form(&form), Some(proof)).await;
            if response.error() != (400, "use_dpop_nonce") {
                return response;
            }
        }
    }

    pub(crate) fn assertion(&self) -> Value {
        let now = self.seconds();
        json!({
            "iss": self.id,
            "sub": self.id,
            "aud": self.fake.issuer(),
            "jti": random(),
            "iat": now,
            "exp": now + 60,
        })
    }

    /// Calls a method of the PDS with an OAuth token.
    pub(crate) async fn call(&self, method: Method, name: &str, token: &str, body: Body<'_>) -> PdsResponse {
        let url = format!("{}/xrpc/{name}", self.fake.pds());
        loop {
            let proof = self.proof(&method, &url, Some(token));
            let proof = self.key.sign(&proof.header, &proof.claims);
            let request = self.http.request(method.clone(), &url).header(AUTHORIZATION, format!("DPoP {token}"));
            let response = self.send(body.put_into(request), Some(proof)).await;
            if response.error() != (401, "use_dpop_nonce") {
                return response;
            }
        }
    }

    /// Calls a method of the PDS with a token of another kind, or without one.
    pub(crate) async fn bearer(&self, method: Method, name: &str, token: &str, body: Body<'_>) -> PdsResponse {
        let request = self.http.request(method, format!("{}/xrpc/{name}", self.fake.pds()));
        let request = if token.is_empty() { request } else { request.bearer_auth(token) };
        self.send(body.put_into(request), None).await
    }

    /// The fields of a pushed request, and their PKCE verifier.
    pub(crate) fn asked(&self) -> (Vec<(&'static str, String)>, String) {
        let verifier = random();
        let asked = vec![
            ("response_type", "code".to_owned()),
            ("redirect_uri", self.redirect.clone()),
            ("scope", self.scope.clone()),
            ("state", "the-state".to_owned()),
            ("code_challenge", digest(&verifier)),
            ("code_challenge_method", "S256".to_owned()),
            ("login_hint", "alice.test".to_owned()),
        ];
        (asked, verifier)
    }

    /// Pushes a request in which one field is changed or omitted.
    pub(crate) async fn push_with(&self, name: &str, value: Option<&str>) -> PdsResponse {
        let (mut asked, _) = self.asked();
        asked.retain(|(it, _)| *it != name);
        let mut fields: Vec<(&str, &str)> = asked.iter().map(|(name, value)| (*name, value.as_str())).collect();
        fields.extend(value.map(|value| (name, value)));
        self.post("/oauth/par", &fields).await
    }

    /// Pushes a request. Returns the URL of the page for the user, and the verifier.
    pub(crate) async fn begin(&self) -> (String, String) {
        let (asked, verifier) = self.asked();
        let fields: Vec<(&str, &str)> = asked.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let pushed = self.post("/oauth/par", &fields).await;
        assert_eq!(pushed.status, 201, "{pushed:?}");
        let mut page = url::Url::parse(&format!("{}/oauth/authorize", self.fake.issuer())).unwrap();
        page.query_pairs_mut()
            .append_pair("client_id", &self.id)
            .append_pair("request_uri", &pushed.text("request_uri"));
        (page.into(), verifier)
    }

    pub(crate) async fn exchange(&self, code: &str, verifier: &str) -> PdsResponse {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect),
            ("code_verifier", verifier),
        ];
        self.post("/oauth/token", &fields).await
    }

    /// Runs the whole flow. Returns the tokens.
    pub(crate) async fn connect(&self) -> Tokens {
        let (page, verifier) = self.begin().await;
        let query = self.fake.redirect_query(&page, Decision::Allow).await;
        assert_eq!((query["state"].as_str(), query["iss"].as_str()), ("the-state", self.fake.issuer()));
        tokens(&self.exchange(&query["code"], &verifier).await)
    }

    pub(crate) async fn refresh(&self, token: &str) -> PdsResponse {
        self.post("/oauth/token", &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    pub(crate) async fn put(&self, token: &str, rkey: &str, record: &Value) -> PdsResponse {
        self.call(Method::POST, "com.atproto.repo.putRecord", token, Body::Json(&self.writing(rkey, record))).await
    }

    pub(crate) fn writing(&self, rkey: &str, record: &Value) -> Value {
        json!({ "repo": self.fake.did(), "collection": "app.bsky.feed.post", "rkey": rkey, "record": record })
    }

    pub(crate) async fn upload(&self, token: &str, mime_type: &str, bytes: &[u8]) -> PdsResponse {
        self.call(Method::POST, "com.atproto.repo.uploadBlob", token, Body::File(mime_type, bytes)).await
    }
}

/// The header of an assertion with the key of [`Client::document`].
pub(crate) fn assertion_header() -> Value {
    json!({ "alg": "ES256", "kid": "k1" })
}

pub(crate) fn tokens(response: &PdsResponse) -> Tokens {
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.body["token_type"], "DPoP");
    Tokens { access: response.text("access_token"), refresh: response.text("refresh_token") }
}

pub(crate) fn post(text: &str) -> Value {
    json!({ "$type": "app.bsky.feed.post", "text": text, "createdAt": "2026-11-20T12:00:00.000Z" })
}

/// The body of a call.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    Nothing,
    Json(&'a Value),
    File(&'a str, &'a [u8]),
}

impl Body<'_> {
    fn put_into(self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match self {
            Self::Nothing => request,
            Self::Json(value) => request.json(value),
            Self::File(mime_type, bytes) => request.header("content-type", mime_type).body(bytes.to_vec()),
        }
    }
}
