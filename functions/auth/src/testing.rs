//! The function in a test: an empty store at noon, and an issuer that accepts any e-mail address.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use api::testing::api_on;
use api::{Api, ClientIp, RateLimits, SignedIn, TrustedProxy};
use axum::body::Body;
use axum::extract::{Form, Request, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::clock::Clock;
use domain::device_grant::DeviceGrantState;
use domain::id::{ProfileId, UserId};
use domain::profile::{Profile, ProfileName};
use domain::testing::noon;
use domain::token;
use domain::user::User;
use egress::AddressPolicy;
use http::HeaderMap;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use http_body_util::BodyExt;
use reqwest::Url;
use serde_json::{Value, json};
use storage::{Identity, ProfileCreated, Store};
use tower::ServiceExt;

use crate::{
    App, ClientDocuments, ClientSecret, LinkError, Oidc, OidcConfig, SignInLink, SignInLinks, SignInMethod, SignUp,
};

pub(crate) struct Service {
    pub(crate) api: Api,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    /// The id of a program.
    pub(crate) program: String,
    router: Router,
}

pub(crate) struct RecordedRequest {
    pub(crate) code: String,
    pub(crate) user_code: String,
}

pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) body: Value,
    headers: HeaderMap,
}

impl TestResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    fn cookie(&self, name: &str) -> String {
        let cookies = self.headers.get_all(SET_COOKIE).iter().map(|it| it.to_str().unwrap());
        let mut named = cookies.filter(|it| it.starts_with(name));
        named.next().unwrap_or_default().split(';').next().unwrap().to_owned()
    }

    pub(crate) fn session(&self) -> String {
        self.cookie("__Host-session")
    }
}

pub(crate) async fn service() -> Service {
    harness_with_sign_up(SignUp::default()).await
}

pub(crate) async fn harness_with_sign_up(sign_up: SignUp) -> Service {
    let clock = Clock::manual(noon());
    let config = OidcConfig {
        issuer: ISSUER.to_owned(),
        discovery: Some(issuer(clock.clone()).await),
        client_id: "client".to_owned(),
        client_secret: Some(ClientSecret::Given("secret".into())),
    };
    service_with(clock, sign_up, SignInMethod::Oidc(Oidc::new(config, ORIGIN))).await
}

pub(crate) async fn service_with_links(links: &MemoryLinks, sign_up: SignUp) -> Service {
    service_with(Clock::manual(noon()), sign_up, SignInMethod::Links(Arc::new(links.clone()))).await
}

async fn service_with(clock: Clock, sign_up: SignUp, method: SignInMethod) -> Service {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let api = Api {
        limits: RateLimits { requests_per_minute: 1000, ..RateLimits::default() },
        origin: ORIGIN.to_owned(),
        proxies: vec![TrustedProxy::mcp("secret of mcp".into())],
        ..api_on(storage::testing::store().await, clock.clone())
    };
    let client_address = program().await;
    let clients = ClientDocuments::new(AddressPolicy::Also(vec![client_address]));
    let router = api::finish(crate::router(App { api: api.clone(), method, clients, sign_up }), api.clone());
    let client_id = format!("http://{client_address}/client.json");
    Service { store: api.store.clone(), program: client_id, api, clock, router }
}

impl Service {
    pub(crate) async fn send(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> TestResponse {
        let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        self.send_request(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, token: Option<&str>, body: Value) -> TestResponse {
        self.send("POST", path, token, &body.to_string()).await
    }

    pub(crate) async fn page(&self, path: &str, cookie: &str) -> TestResponse {
        self.send_request(Request::builder().uri(path).header(COOKIE, cookie).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn submit(&self, path: &str, cookie: &str, form: &[(&str, &str)]) -> TestResponse {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = Request::builder()
            .method("POST")
            .uri(path)
            .header(COOKIE, cookie)
            .header("content-type", "application/x-www-form-urlencoded");
        self.send_request(request.body(Body::from(form)).unwrap()).await
    }

    /// Follows the redirects to the issuer and back.
    pub(crate) async fn sign_in(&self, email: &str, next: &str) -> TestResponse {
        let redirect = self.page(&api::session::sign_in(next), "").await;
        assert_eq!(redirect.status, 303, "{}", redirect.text);
        let url = Url::parse(redirect.headers[LOCATION].to_str().unwrap()).unwrap();
        let parameters: HashMap<String, String> = url.query_pairs().into_owned().collect();
        assert_eq!(parameters["redirect_uri"], "https://social.example/sign-in/callback");
        // The test issuer stores nothing: its code contains the response of its token endpoint.
        let code = json!({"email": email, "nonce": parameters["nonce"], "challenge": parameters["code_challenge"]});
        let code = URL_SAFE_NO_PAD.encode(code.to_string());
        let callback_path = format!("/sign-in/callback?code={code}&state={}", parameters["state"]);
        self.page(&callback_path, &redirect.cookie("__Host-sign-in")).await
    }

    pub(crate) async fn csrf(&self, session: &str) -> String {
        let page = self.page("/account", session).await.text;
        page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    }

    pub(crate) async fn session_user(&self, session: &str) -> UserId {
        let headers = [(COOKIE, session.parse().unwrap())].into_iter().collect();
        SignedIn::find(&self.api, &headers).await.unwrap().unwrap().user
    }

    /// A user who has signed in before.
    pub(crate) async fn user(&self, email: &str) -> User {
        let user = User::new(self.api.ids.fresh(), "Test User", email, noon());
        let identity = Identity { issuer: ISSUER.to_owned(), subject: email.to_owned() };
        self.store.join(&identity, &user).await.unwrap();
        user
    }

    pub(crate) async fn profile(&self, session: &str, name: &str) -> ProfileId {
        let profile = Profile {
            user_id: self.session_user(session).await,
            profile_id: self.api.ids.fresh(),
            name: ProfileName::parse(name).unwrap(),
            external_id: None,
            created_at: noon(),
        };
        assert_eq!(self.store.create_profile(&profile, None).await.unwrap(), ProfileCreated::Done);
        profile.profile_id
    }

    /// A device asks for access to everything.
    pub(crate) async fn device(&self) -> RecordedRequest {
        let body = self.post("/api/v1/auth/device/code", None, json!({})).await.body;
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        RecordedRequest { code: text("device_code"), user_code: text("user_code") }
    }

    pub(crate) async fn decide(&self, device: &RecordedRequest, user: &User, state: DeviceGrantState) {
        let (hash, now) = (token::hash(&device.code), self.clock.now());
        let before = self.store.device(&hash).await.unwrap().unwrap();
        let decided = match state {
            DeviceGrantState::Denied => before.clone().deny(user.user_id, now),
            _ => before.clone().approve(user.user_id, now),
        };
        self.store.replace_device(&hash, &before, &decided.unwrap()).await.unwrap();
    }

    pub(crate) async fn send_request(&self, mut request: Request) -> TestResponse {
        request.extensions_mut().insert(ClientIp([192, 0, 2, 1].into()));
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        TestResponse { status: parts.status.as_u16(), headers: parts.headers, text, body }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryLinks {
    links: Arc<Mutex<HashMap<String, SignInLink>>>,
    sent: Arc<Mutex<Vec<String>>>,
}

impl MemoryLinks {
    /// Returns its token.
    pub(crate) fn add(&self, email: Option<&str>) -> String {
        let token = token::random_hex();
        self.links.lock().unwrap().insert(token.clone(), SignInLink { email: email.map(str::to_owned) });
        token
    }

    /// The mails, as address and page.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }
}

#[async_trait::async_trait]
impl SignInLinks for MemoryLinks {
    fn sends_mail(&self) -> bool {
        true
    }

    async fn send(&self, email: &str, next: &str) -> Result<(), LinkError> {
        self.sent.lock().unwrap().push(format!("{email} {next}"));
        Ok(())
    }

    async fn find(&self, token: &str) -> Result<Option<SignInLink>, LinkError> {
        Ok(self.links.lock().unwrap().get(token).cloned())
    }

    async fn redeem(&self, token: &str) -> Result<Option<SignInLink>, LinkError> {
        Ok(self.links.lock().unwrap().remove(token))
    }
}

/// Starts a server that describes a program, answered at `http://127.0.0.1/back` with any port and
/// at `https://app.example/back`.
async fn program() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let document = Json(json!({
        "client_id": format!("http://{address}/client.json"),
        "client_name": "Planner <b>",
        "redirect_uris": ["http://127.0.0.1/back", "https://app.example/back"],
    }));
    let router = Router::new().route("/client.json", get(move || async { document }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

const ORIGIN: &str = "https://social.example";

const ISSUER: &str = "https://issuer.example";

/// Starts the issuer on a loopback port and returns the URL of its discovery document.
async fn issuer(clock: Clock) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new()
        .route("/.well-known/openid-configuration", get(discovery_document))
        .route("/token", post(exchange))
        .with_state((url.clone(), clock));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn discovery_document(State((url, _)): State<(String, Clock)>) -> Json<Value> {
    Json(json!({
        "issuer": ISSUER,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "end_session_endpoint": "https://issuer.example/logout?kept=1",
    }))
}

/// Returns an ID token if the client's secret is right and the verifier matches the challenge.
async fn exchange(
    State((_, clock)): State<(String, Clock)>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Json<Value>, http::StatusCode> {
    let code = URL_SAFE_NO_PAD.decode(&form["code"]).unwrap();
    let code: Value = serde_json::from_slice(&code).unwrap();
    // This is `client:secret` in Base64.
    let is_our_client = headers.get("authorization").is_some_and(|it| it == "Basic Y2xpZW50OnNlY3JldA==");
    if !is_our_client || token::hash(&form["code_verifier"]) != code["challenge"] {
        return Err(http::StatusCode::BAD_REQUEST);
    }
    let claims = json!({
        "iss": ISSUER,
        "sub": token::hash(code["email"].as_str().unwrap()),
        "aud": "client",
        "exp": clock.now().timestamp() + 300,
        "nonce": code["nonce"],
        "email": code["email"],
        "email_verified": !code["email"].as_str().unwrap().starts_with("unverified"),
        "name": "Test User",
    });
    Ok(Json(json!({"id_token": format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()))})))
}
