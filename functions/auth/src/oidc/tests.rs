use std::collections::HashMap;
use std::sync::Mutex;

use axum::extract::{Form, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::testing::noon;
use http::HeaderMap;
use serde_json::{Value, json};

use super::*;

const ISSUER: &str = "https://issuer.example";

fn provider(issuer: &str, token_endpoint: &str) -> Provider {
    Provider {
        issuer: issuer.to_owned(),
        authorization_endpoint: Url::parse("https://issuer.example/authorize").unwrap(),
        token_endpoint: Url::parse(token_endpoint).unwrap(),
        token_endpoint_auth_methods_supported: None,
        end_session_endpoint: None,
    }
}

/// An issuer at loopback, and what it received.
struct Issuer {
    url: String,
    received: Arc<Received>,
}

#[derive(Default)]
struct Received {
    discoveries: Mutex<usize>,
    exchanges: Mutex<Vec<Exchange>>,
    /// The response to exchanges; without one, `refusal`.
    id_token: Mutex<Option<String>>,
    /// By default 400.
    refusal: Mutex<Option<StatusCode>>,
}

/// A request of a token.
struct Exchange {
    /// The `Authorization` header.
    header: Option<String>,
    form: HashMap<String, String>,
}

impl Issuer {
    /// Starts an issuer with this name and these methods of client authentication.
    async fn start(name: &str, methods: Option<&[&str]>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut description = json!({
            "issuer": name,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
        });
        if let Some(methods) = methods {
            description["token_endpoint_auth_methods_supported"] = json!(methods);
        }
        let received = Arc::new(Received::default());
        let describe = async move |State(received): State<Arc<Received>>| {
            *received.discoveries.lock().unwrap() += 1;
            Json(description)
        };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(describe))
            .route("/token", post(exchange))
            .with_state(Arc::clone(&received));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received }
    }

    /// A client of it that expects [`ISSUER`].
    fn client(&self, secret: Option<&str>) -> Oidc {
        self.client_with(secret.map(|it| ClientSecret::Given(it.into())))
    }

    fn client_with(&self, client_secret: Option<ClientSecret>) -> Oidc {
        let config = OidcConfig {
            issuer: ISSUER.to_owned(),
            discovery: Some(format!("{}/", self.url)),
            client_id: "cli:ent".to_owned(),
            client_secret,
        };
        Oidc::new(config, "https://social.example")
    }

    fn discoveries(&self) -> usize {
        *self.received.discoveries.lock().unwrap()
    }

    /// The header and the form's client id and secret that a client with this secret sends.
    async fn sent_client_authentication(
        &self,
        secret: Option<&str>,
    ) -> (Option<String>, Option<String>, Option<String>) {
        let refused = self.client(secret).person("the code", &Attempt::new(), noon()).await;
        assert!(matches!(refused, Err(OidcError::Refused(400))), "{refused:?}");
        let Exchange { header, mut form } = self.received.exchanges.lock().unwrap().pop().unwrap();
        assert_eq!((form["grant_type"].as_str(), form["code"].as_str()), ("authorization_code", "the code"));
        assert_eq!(form["redirect_uri"], "https://social.example/sign-in/callback");
        (header, form.remove("client_id"), form.remove("client_secret"))
    }
}

async fn exchange(
    State(received): State<Arc<Received>>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Json<Value>, StatusCode> {
    let header = headers.get("authorization").map(|it| it.to_str().unwrap().to_owned());
    received.exchanges.lock().unwrap().push(Exchange { header, form });
    let token = received.id_token.lock().unwrap().clone();
    let refusal = received.refusal.lock().unwrap().unwrap_or(StatusCode::BAD_REQUEST);
    token.map(|it| Json(json!({ "id_token": it }))).ok_or(refusal)
}

#[test]
fn discovery_document_of_another_issuer_is_invalid() {
    assert!(provider(ISSUER, "https://issuer.example/token").check(ISSUER).is_ok());
    assert!(provider("https://other.example", "https://issuer.example/token").check(ISSUER).is_err());
}

#[test]
fn code_is_sent_only_over_tls_or_loopback() {
    for endpoint in ["http://localhost:3000/token", "http://127.0.0.1/token", "http://[::1]/token"] {
        assert!(provider(ISSUER, endpoint).check(ISSUER).is_ok(), "{endpoint}");
    }
    for endpoint in ["http://issuer.example/token", "http://localhost.evil.example/token", "ftp://localhost/"] {
        assert!(provider(ISSUER, endpoint).check(ISSUER).is_err(), "{endpoint}");
    }
    let end_session_endpoint = Url::parse("http://issuer.example/logout").ok();
    let unencrypted = Provider { end_session_endpoint, ..provider(ISSUER, "https://issuer.example/token") };
    assert!(unencrypted.check(ISSUER).is_err());
}

#[tokio::test]
async fn issuer_with_another_name_gets_no_browser_and_no_code() {
    let other = Issuer::start("https://other.example", None).await;
    let client = other.client(Some("secret"));

    let authorization = client.authorization_url(&Attempt::new(), noon()).await;
    let person = client.person("the code", &Attempt::new(), noon()).await;

    assert!(matches!(authorization, Err(OidcError::Discovery(_))), "{authorization:?}");
    assert!(matches!(person, Err(OidcError::Discovery(_))), "{person:?}");
    assert!(other.received.exchanges.lock().unwrap().is_empty());
}

#[tokio::test]
async fn id_token_of_another_issuer_is_rejected() {
    let issuer = Issuer::start(ISSUER, None).await;
    let client = issuer.client(Some("secret"));
    let attempt = Attempt::new();
    let person = async |iss: &str| {
        let claims = json!({
            "iss": iss,
            "sub": "1",
            "aud": "cli:ent",
            "exp": noon().timestamp() + 300,
            "nonce": attempt.nonce(),
            "email": "one@example.com",
        });
        let token = format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()));
        *issuer.received.id_token.lock().unwrap() = Some(token);
        client.person("the code", &attempt, noon()).await
    };

    assert_eq!(person(ISSUER).await.unwrap().email, "one@example.com");
    assert!(matches!(person("https://other.example").await, Err(OidcError::Token(_))));
}

/// RFC 6749, section 2.3.1: id and secret in the header are form-encoded.
#[tokio::test]
async fn client_authenticates_by_the_issuers_method() {
    let basic = Some(format!("Basic {}", STANDARD.encode("cli%3Aent:s%26crt")));
    let id = Some("cli:ent".to_owned());
    let in_form = (None, id.clone(), Some("s&crt".to_owned()));
    for (methods, expected) in [
        (None, (basic.clone(), None, None)),
        (Some(&["client_secret_post", "client_secret_basic"][..]), (basic, None, None)),
        (Some(&["client_secret_post"][..]), in_form),
    ] {
        let issuer = Issuer::start(ISSUER, methods).await;
        assert_eq!(issuer.sent_client_authentication(Some("s&crt")).await, expected, "{methods:?}");
        assert_eq!(
            issuer.sent_client_authentication(None).await,
            (None, id.clone(), None),
            "a public client names itself only: {methods:?}"
        );
    }
}

/// A Secrets Manager that returns another client secret at each read.
async fn start_secrets_manager() -> String {
    let reads = Arc::new(Mutex::new(0));
    let get_value = async move || {
        let mut reads = reads.lock().unwrap();
        *reads += 1;
        let value = json!({ "client_secret": format!("secret{reads}") }).to_string();
        Json(json!({ "ARN": "arn", "Name": "sign-in", "SecretString": value }))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/", post(get_value));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

#[tokio::test]
async fn client_secret_is_read_again_when_the_issuer_refuses_it() {
    let issuer = Issuer::start(ISSUER, None).await;
    let aws = cloud::testing::sdk_config(&start_secrets_manager().await);
    let client = issuer.client_with(Some(ClientSecret::kept(&aws, "sign-in".to_owned())));
    let sent_secret = async |refusal| {
        *issuer.received.refusal.lock().unwrap() = Some(refusal);
        assert!(client.person("the code", &Attempt::new(), noon()).await.is_err());
        let header = issuer.received.exchanges.lock().unwrap().pop().unwrap().header.unwrap();
        let decoded = STANDARD.decode(header.strip_prefix("Basic ").unwrap()).unwrap();
        String::from_utf8(decoded).unwrap()
    };

    for (refusal, secret) in [
        (StatusCode::BAD_REQUEST, "secret1"),
        (StatusCode::UNAUTHORIZED, "secret1"),
        (StatusCode::BAD_REQUEST, "secret2"),
        (StatusCode::BAD_REQUEST, "secret2"),
    ] {
        assert_eq!(sent_secret(refusal).await, format!("cli%3Aent:{secret}"));
    }
}

#[test]
fn debug_output_has_no_client_secret() {
    let shown = format!("{:?}", ClientSecret::Given("hush".into()));
    assert_eq!(shown, "ClientSecret::Given");
}

#[tokio::test]
async fn issuer_that_redirects_is_not_followed() {
    let issuer = Issuer::start(ISSUER, None).await;
    let target = format!("{}/.well-known/openid-configuration", issuer.url);
    let router = Router::new().fallback(get(|| async move { Redirect::temporary(&target) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let moved = Issuer { url: format!("http://{}", listener.local_addr().unwrap()), ..issuer };
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = moved.client(None);

    assert_eq!(client.issuer(), ISSUER);
    assert!(client.authorization_url(&Attempt::new(), noon()).await.is_err());
    assert_eq!(moved.discoveries(), 0);
}

#[tokio::test]
async fn discovery_document_is_fetched_once_an_hour() {
    let issuer = Issuer::start(ISSUER, None).await;
    let client = issuer.client(None);
    let authorize = async |at: DateTime<Utc>| client.authorization_url(&Attempt::new(), at).await.unwrap();

    authorize(noon()).await;
    authorize(noon() + TimeDelta::minutes(59)).await;
    assert_eq!(issuer.discoveries(), 1);
    authorize(noon() + TimeDelta::hours(1)).await;
    assert_eq!(issuer.discoveries(), 2);
}
