use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;

/// An API that knows one token, `good`.
async fn origin() -> String {
    cloud::aws::install_tls();
    let user = |headers: HeaderMap| async move {
        let is_good = headers[AUTHORIZATION] == "Bearer good";
        let status = if is_good { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED };
        (status, r#"{"message":"no"}"#)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/api/v1/user", get(user)).route("/api/v1/connections", get(user));
    tokio::spawn(async move { axum::serve(listener, router).await });
    origin
}

struct Answer {
    status: u16,
    challenge: String,
    body: Value,
}

async fn send(origin: &str, headers: &[(&str, &str)], method: &str, params: Value) -> Answer {
    let app = App::new(origin, &["https://pages.example".to_owned()], &McpProof::random()).unwrap();
    let mut request = Request::builder().method("POST").uri("/mcp");
    request = request
        .header("host", "social.example")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let response = router(app).oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    assert_eq!(parts.headers[CACHE_CONTROL], "no-store");
    let header = parts.headers.get(WWW_AUTHENTICATE).map_or("", |it| it.to_str().unwrap());
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        status: parts.status.as_u16(),
        challenge: header.to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }
}

const GOOD: (&str, &str) = ("authorization", "Bearer good");
const BAD: (&str, &str) = ("authorization", "Bearer bad");

#[tokio::test]
async fn whoever_has_no_good_token_is_told_where_to_get_one() {
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
        assert_eq!((answer.status, answer.challenge.as_str()), (401, challenge.as_str()), "{headers:?} {method}");
    }

    let listed = send(&origin, &[GOOD], "tools/list", json!({})).await;
    assert_eq!((listed.status, listed.body["result"]["tools"].as_array().map(Vec::len)), (200, Some(11)));
    let called = send(&origin, &[GOOD], "tools/call", call).await;
    assert_eq!((called.status, &called.body["result"]["isError"]), (200, &json!(true)), "a scope is lacking");
}

#[tokio::test]
async fn the_api_sees_by_a_secret_that_a_call_comes_from_here() {
    cloud::aws::install_tls();
    let proof = McpProof::random();
    let expected = proof.clone();
    let connections = move |headers: HeaderMap| async move {
        let status = if expected.is_proven_by(&headers) { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
        (status, r#"{"data":[],"next_cursor":null}"#)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let api = Router::new().route("/api/v1/connections", get(connections));
    tokio::spawn(async move { axum::serve(listener, api).await });
    let send = async |own: &McpProof| {
        // What an assistant sends under that name is not passed on.
        let request =
            Request::post("/mcp").header(GOOD.0, GOOD.1).header(McpProof::HEADER, proof.header_value().unwrap());
        let request = request.header("host", "social.example").header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let call = json!({ "name": "list_connections", "arguments": {} });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }).to_string();
        let app = App::new(&origin, &[], own).unwrap();
        router(app).oneshot(request.body(Body::from(body)).unwrap()).await.unwrap().status()
    };

    assert_eq!(send(&proof).await, StatusCode::OK);
    assert_eq!(send(&McpProof::random()).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn pages_of_others_are_refused() {
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
async fn both_revisions_are_spoken_and_a_tool_that_is_none_is_named() {
    let origin = origin().await;
    let client = json!({ "name": "planner", "version": "1.0.0" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let answer = send(&origin, &[GOOD], "initialize", hello).await;
    assert_eq!(answer.body["result"]["protocolVersion"], "2025-11-25", "{}", answer.body);

    let meta = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let headers = [GOOD, ("mcp-protocol-version", "2026-07-28"), ("mcp-method", "server/discover")];
    let answer = send(&origin, &headers, "server/discover", meta).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body["result"]["capabilities"]["tools"].is_object(), "{}", answer.body);

    let answer = send(&origin, &[GOOD], "tools/call", json!({ "name": "publish_everything" })).await;
    assert!(answer.body["error"]["message"].as_str().unwrap().contains("publish_everything"), "{}", answer.body);
}

#[tokio::test]
async fn scripts_of_allowed_origins_may_ask_and_read() {
    let own = origin().await;
    // A star is no origin, and allows none.
    let app = App::new(&own, &["*".to_owned(), "https://pages.example".to_owned()], &McpProof::random()).unwrap();
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

    // Where to get a token is what such a script has to read first.
    let answer = send("POST", "https://pages.example").await.unwrap();
    assert_eq!(answer.status(), 401);
    assert_eq!(answer.headers()["access-control-allow-origin"], "https://pages.example");
    assert_eq!(answer.headers()["access-control-expose-headers"], "www-authenticate");
}

#[tokio::test]
async fn what_takes_too_long_is_answered_before_the_gateway_gives_up() {
    cloud::aws::install_tls();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            held.push(connection);
        }
    });
    let app = App { within: Duration::from_millis(20), ..App::new(&origin, &[], &McpProof::random()).unwrap() };
    let call = json!({ "name": "list_connections", "arguments": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }).to_string();
    let request = Request::builder().method("POST").uri("/mcp").header(GOOD.0, GOOD.1).header("host", "social.example");
    let request =
        request.header("content-type", "application/json").header("accept", "application/json, text/event-stream");

    let response = router(app).oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();

    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    silent.abort();
}
