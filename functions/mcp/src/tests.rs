use std::sync::Mutex;

use api::{ClientIp, RateLimits};
use axum::body::Body;
use axum::http::Request;
use axum::routing::any;
use domain::clock::Clock;
use http::HeaderMap;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

const ADDRESS: [u8; 4] = [198, 51, 100, 7];

/// An API with the token `good`, which lacks every scope, and the token `spent`, whose rate limit is
/// reached. It hangs for `slow` after `/user`.
#[derive(Clone, Default)]
struct FakeApi {
    /// The proven client IP addresses of the calls.
    addresses: Arc<Mutex<Vec<String>>>,
}

impl FakeApi {
    async fn start(&self) -> String {
        cloud::aws::install_tls();
        let addresses = self.addresses.clone();
        let answer = move |request: Request<Body>| {
            let headers = request.headers();
            assert_eq!(headers["x-proxy-secret"], SECRET);
            addresses.lock().unwrap().push(headers["x-client-address"].to_str().unwrap().to_owned());
            let token = headers.get(AUTHORIZATION).map_or("", |it| it.to_str().unwrap()).to_owned();
            async move {
                if token == "Bearer slow" && request.uri().path() != "/api/v1/user" {
                    std::future::pending::<()>().await;
                }
                let (status, remaining) = match token.as_str() {
                    "Bearer good" | "Bearer slow" => (StatusCode::FORBIDDEN, "41"),
                    "Bearer spent" => (StatusCode::TOO_MANY_REQUESTS, "0"),
                    "Bearer broken" => (StatusCode::SERVICE_UNAVAILABLE, "41"),
                    _ => (StatusCode::UNAUTHORIZED, "7"),
                };
                let headers = [
                    ("retry-after", "17"),
                    ("x-ratelimit-limit", "60"),
                    ("x-ratelimit-remaining", remaining),
                    ("x-ratelimit-reset", "1790000000"),
                ];
                (status, headers, r#"{"message":"no"}"#)
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/api/v1/{*path}", any(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        origin
    }
}

async fn origin() -> String {
    FakeApi::default().start().await
}

fn app(origin: &str, allowed_origins: &[&str]) -> App {
    let front =
        CommonLayers { clock: Clock::System, is_encrypted: false, limits: RateLimits::default(), proxies: Vec::new() };
    App::new(Config {
        origin: origin.to_owned(),
        api_origin: origin.to_owned(),
        proof: TrustedProxy::mcp(SECRET.into()),
        front,
        allowed_origins: allowed_origins.iter().map(|it| (*it).to_owned()).collect(),
    })
    .unwrap()
}

struct TestResponse {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl TestResponse {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    fn message(&self) -> &str {
        assert_eq!(self.body.as_object().map(serde_json::Map::len), Some(1), "{} {}", self.status, self.body);
        self.body["message"].as_str().unwrap()
    }
}

async fn send_request(app: App, method: &str, headers: &[(&str, &str)], body: String) -> TestResponse {
    let mut request = Request::builder().method(method).uri("/mcp").header("host", "social.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::from(body)).unwrap();
    request.extensions_mut().insert(ClientIp(ADDRESS.into()));
    let response = router(app).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    assert_eq!(parts.headers["cache-control"], "no-store");
    assert_eq!(parts.headers["x-request-id"].len(), 32);
    let body = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    TestResponse { status: parts.status.as_u16(), headers: parts.headers, body }
}

const JSON: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

async fn send(origin: &str, headers: &[(&str, &str)], method: &str, params: Value) -> TestResponse {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    send_request(app(origin, &["https://pages.example"]), "POST", &[&JSON, headers].concat(), body).await
}

const GOOD: (&str, &str) = ("authorization", "Bearer good");
const BAD: (&str, &str) = ("authorization", "Bearer bad");

#[tokio::test]
async fn invalid_token_gets_401_with_the_metadata_url() {
    let origin = origin().await;
    let challenge = format!("Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"");
    let call = json!({ "name": "list_connections", "arguments": {} });

    for (headers, method, params) in [
        (&[][..], "tools/list", json!({})),
        (&[("authorization", "Basic eDp5")], "tools/list", json!({})),
        (&[("authorization", "Bearer ")], "tools/list", json!({})),
        (&[BAD], "tools/list", json!({})),
        (&[BAD], "tools/call", call.clone()),
    ] {
        let answer = send(&origin, headers, method, params).await;
        assert_eq!(
            (answer.status, answer.header("www-authenticate")),
            (401, challenge.as_str()),
            "{headers:?} {method}"
        );
        assert!(answer.message().contains("device flow"), "{}", answer.body);
        assert_eq!(answer.header("x-ratelimit-remaining"), "7", "{headers:?} {method}");
    }

    let listed = send(&origin, &[GOOD], "tools/list", json!({})).await;
    assert_eq!((listed.status, listed.body["result"]["tools"].as_array().map(Vec::len)), (200, Some(11)));
    let called = send(&origin, &[GOOD], "tools/call", call).await;
    assert_eq!((called.status, &called.body["result"]["isError"]), (200, &json!(true)), "a scope is lacking");
    let unknown = send(&origin, &[GOOD], "tools/call", json!({ "name": "publish_everything" })).await;
    assert!(unknown.body["error"]["message"].as_str().unwrap().contains("publish_everything"), "{}", unknown.body);
}

#[tokio::test]
async fn foreign_origins_get_403() {
    let own = origin().await;
    let port = own.rsplit(':').next().unwrap();
    for (origin, status) in [
        (own.as_str(), 200),
        ("https://pages.example", 200),
        ("https://pages.example:8443", 403),
        ("http://pages.example", 403),
        ("https://evil.example", 403),
        (&format!("http://127.0.0.1.evil.example:{port}"), 403),
        ("null", 403),
    ] {
        let answer = send(&own, &[GOOD, ("origin", origin)], "tools/list", json!({})).await;
        assert_eq!(answer.status, status, "{origin}");
    }
}

#[tokio::test]
async fn allowed_origins_may_send_and_read() {
    let own = origin().await;
    // `*` is not an origin and allows none.
    let app = app(&own, &["*", "https://pages.example"]);
    let send = |method: &str, origin: &str| {
        let request = Request::builder().method(method).uri("/mcp").header("origin", origin);
        let request = request.header("access-control-request-method", "POST").body(Body::empty()).unwrap();
        router(app.clone()).oneshot(request)
    };

    let preflight = send("OPTIONS", "https://pages.example").await.unwrap();
    assert_eq!(preflight.status(), 200);
    assert_eq!(preflight.headers()["access-control-allow-origin"], "https://pages.example");
    assert_eq!(preflight.headers()["access-control-allow-methods"], "POST");
    let headers = preflight.headers()["access-control-allow-headers"].to_str().unwrap();
    for name in ["authorization", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"] {
        assert!(headers.split(',').any(|it| it == name), "{headers}");
    }
    let refused = send("OPTIONS", "https://evil.example").await.unwrap();
    assert!(!refused.headers().contains_key("access-control-allow-origin"));

    // Scripts need this header to find out where to get a token.
    let answer = send("POST", "https://pages.example").await.unwrap();
    assert_eq!(answer.status(), 401);
    assert_eq!(answer.headers()["access-control-allow-origin"], "https://pages.example");
    let exposed = answer.headers()["access-control-expose-headers"].to_str().unwrap();
    for name in ["www-authenticate", "retry-after", "x-request-id", "x-ratelimit-remaining"] {
        assert!(exposed.split(',').any(|it| it == name), "{exposed}");
    }
}

#[tokio::test]
async fn slow_call_gets_a_response_before_the_gateways_timeout() {
    let app = App { within: Duration::from_secs(1), ..app(&origin().await, &[]) };
    let call = json!({ "name": "list_connections", "arguments": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }).to_string();

    let answer = send_request(app, "POST", &[&JSON[..], &[("authorization", "Bearer slow")]].concat(), body).await;

    assert_eq!(answer.status, 504);
    assert!(answer.message().contains("idempotency_key"), "{}", answer.body);
}

#[tokio::test]
async fn rate_limit_applies_before_any_response() {
    let origin = origin().await;
    for method in ["initialize", "tools/list", "nonsense"] {
        let answer = send(&origin, &[("authorization", "Bearer spent")], method, json!({})).await;
        assert_eq!((answer.status, answer.header("retry-after")), (429, "17"), "{method}");
        assert_eq!(answer.header("x-ratelimit-remaining"), "0");
        assert!(answer.message().contains("17 s"), "{}", answer.body);
    }
    let answer = send(&origin, &[GOOD], "tools/list", json!({})).await;
    let figures = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"].map(|it| answer.header(it));
    assert_eq!((answer.status, figures), (200, ["60", "41", "1790000000"]));
}

#[tokio::test]
async fn failing_api_gets_503_with_retry_after() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for (origin, token) in [(origin().await, "Bearer broken"), (format!("http://{nobody}"), "Bearer good")] {
        let answer = send(&origin, &[("authorization", token)], "tools/list", json!({})).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, "5"), "{token}");
        assert_eq!(answer.header("x-ratelimit-limit"), "60");
        answer.message();
    }
}

#[tokio::test]
async fn every_api_call_carries_the_assistants_address() {
    let api = FakeApi::default();
    let origin = api.start().await;
    let forged = ("x-client-address", "203.0.113.1");
    let call = json!({ "name": "list_connections", "arguments": {} });

    send(&origin, &[GOOD, forged], "tools/call", call).await;
    send(&origin, &[forged], "tools/list", json!({})).await;

    assert_eq!(*api.addresses.lock().unwrap(), ["198.51.100.7"; 3]);
}

#[tokio::test]
async fn every_error_is_a_message() {
    let origin = origin().await;
    let good = [&JSON[..], &[GOOD]].concat();
    let plain = [("content-type", "text/plain"), JSON[1], GOOD];
    let large = json!({ "jsonrpc": "2.0", "id": 1, "method": "x".repeat(MAX_BYTES) }).to_string();
    for (method, headers, body, status) in [
        ("GET", good.as_slice(), String::new(), 405),
        ("POST", &[GOOD], "{}".to_owned(), 406),
        ("POST", &good, large, 413),
        ("POST", &plain, "{}".to_owned(), 415),
        ("POST", &[&good[..], &[("origin", "https://evil.example")]].concat(), "{}".to_owned(), 403),
    ] {
        let answer = send_request(app(&origin, &[]), method, headers, body).await;
        assert_eq!(answer.status, status, "{method} {}", answer.body);
        assert!(!answer.message().is_empty());
    }
}
