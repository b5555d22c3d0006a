//! The tools against an API that returns fixed responses and records its requests.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use client::{BaseUrl, Client, RetryPolicy};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use crate::catalogue::Tool;
use crate::result::{ToolError, result};
use crate::{LocalFiles, Server};

#[derive(Clone, Debug)]
struct RecordedRequest {
    key: Option<String>,
    if_match: Option<String>,
    body: Value,
}

/// An API: the answers that it gives, each to the request that it belongs to.
#[derive(Clone, Default)]
struct FakeApi {
    answers: Arc<Mutex<Vec<(String, u16, Value)>>>,
    asked: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl FakeApi {
    fn respond_with(self, what: &str, status: u16, body: Value) -> Self {
        self.answers.lock().unwrap().push((what.to_owned(), status, body));
        self
    }

    async fn server(&self) -> Server {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(respond).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let client = Client::new(reqwest::Client::new(), BaseUrl::parse(&origin).unwrap(), Some("token".into()));
        Server::new(client.with_retry_policy(RetryPolicy::NONE), "https://social.example".to_owned())
    }

    fn asked(&self) -> Vec<RecordedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

async fn respond(State(api): State<FakeApi>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let path = uri.path().strip_prefix("/api/v1").unwrap_or_default();
    let route = format!("{method} {path}");
    let header = |name: &str| headers.get(name).map(|it| it.to_str().unwrap().to_owned());
    let (key, if_match) = (header("idempotency-key"), header("if-match"));
    let body = serde_json::from_slice(&body).unwrap_or_default();
    api.asked.lock().unwrap().push(RecordedRequest { key, if_match, body });
    let found = api.answers.lock().unwrap().iter().find(|it| it.0 == route).cloned();
    match found {
        Some((_, 204, _)) => StatusCode::NO_CONTENT.into_response(),
        Some((_, status, body)) => {
            (StatusCode::from_u16(status).unwrap(), [("content-type", "application/json")], body.to_string())
                .into_response()
        }
        None => (StatusCode::NOT_FOUND, r#"{"message":"Not found"}"#).into_response(),
    }
}

async fn call(server: &Server, tool: &str, arguments: Value) -> (bool, String) {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    let outcome = Tool::named(tool).unwrap().call(server, arguments).await;
    read(&result(outcome))
}

fn read(result: &CallToolResult) -> (bool, String) {
    let texts: Vec<_> = result.content.iter().filter_map(|it| it.as_text()).map(|it| it.text.clone()).collect();
    (result.is_error == Some(true), texts.join("\n"))
}

fn post(status: &str, scheduled_at: &Value, platforms: &Value) -> Value {
    json!({
        "id": 7, "revision": 3, "content": "Hello", "status": status, "scheduled_at": scheduled_at,
        "created_at": "2026-11-21T09:30:00.000Z", "updated_at": "2026-11-21T09:30:00.000Z",
        "creator": { "id": 1, "name": "Test User" }, "platforms": platforms, "media": [], "thread": [],
        "external_id": null, "labels": [],
    })
}

fn target(status: &str, error: &str) -> Value {
    json!({
        "id": 1, "connected_account_id": 5, "provider": "sandbox", "username": "harbour", "content": "Hello",
        "options": {}, "status": status, "published_at": null, "platform_post_id": null,
        "platform_post_url": null, "error_message": error, "segments": [],
    })
}

#[test]
fn every_tool_has_a_strict_schema_and_hints() {
    let definitions: Vec<_> = Tool::ALL.map(Tool::described).into();
    for tool in &definitions {
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        assert_eq!(tool.input_schema["additionalProperties"], false, "{}", tool.name);
        assert!(tool.description.as_ref().is_some_and(|it| 40 < it.len()), "{}", tool.name);
        assert!(Tool::named(&tool.name).is_some());
        let output = tool.output_schema.as_ref().unwrap();
        assert_eq!(output["required"], json!(["summary"]), "{}", tool.name);
        let schema = serde_json::to_string(&[&tool.input_schema, output]).unwrap();
        for reference in schema.split("\"#/$defs/").skip(1).map(|it| it.split('"').next().unwrap()) {
            let is_defined = |it: &JsonObject| it.get("$defs").is_some_and(|it| it.get(reference).is_some());
            assert!(is_defined(&tool.input_schema) || is_defined(output), "{}: {reference}", tool.name);
        }
        let names_route = ["GET /", "POST /", "PATCH /", "#/components"].iter().any(|it| schema.contains(it));
        assert!(!names_route, "{}: an assistant knows no routes: {schema}", tool.name);
    }
    let hints = |name: &str| Tool::named(name).unwrap().described().annotations.unwrap();
    assert_eq!(hints("list_posts").read_only_hint, Some(true));
    assert_eq!(hints("create_post").idempotent_hint, Some(true));
    assert_eq!(hints("create_post").destructive_hint, Some(false));
    assert_eq!(hints("cancel_post").destructive_hint, Some(true));
    let create = &definitions.iter().find(|it| it.name == "create_post").unwrap().input_schema;
    assert_eq!(create["required"], json!(["idempotency_key"]));
    assert_eq!(create["properties"]["content"]["maxLength"], 65_000);
    assert_eq!(create["$defs"]["NewPostPlatform"]["required"], json!(["connected_account_id"]));
    let upload = &definitions.iter().find(|it| it.name == "upload_media_from_url").unwrap().input_schema;
    assert_eq!(upload["required"], json!(["mime_type", "source_url"]));
    assert_eq!(
        upload["properties"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["filename", "mime_type", "source_url"]
    );
}

#[tokio::test]
async fn post_with_a_time_is_reported_as_scheduled() {
    let scheduled = post("scheduled", &json!("2026-11-21T12:00:00.000Z"), &json!([]));
    let api = FakeApi::default().respond_with("POST /posts", 201, scheduled);
    let server = api.server().await;
    let arguments = json!({
        "idempotency_key": "hello-1", "content": "Hello", "scheduled_at": "now",
        "platforms": [{ "connected_account_id": 5 }], "media": [{ "path": "media/1/2.png", "alt_text": "A boat" }],
    });

    let (is_error, text) = call(&server, "create_post", arguments).await;

    assert!(!is_error && text.contains("scheduled, not public yet"), "{text}");
    let request = api.asked().remove(0);
    assert_eq!(request.key.as_deref(), Some("hello-1"));
    assert_eq!(request.body["scheduled_at"], "now");
    assert_eq!(request.body["platforms"], json!([{ "connected_account_id": 5 }]));
    assert_eq!(request.body["media"], json!([{ "path": "media/1/2.png", "alt_text": "A boat" }]));
}

#[tokio::test]
async fn structured_content_has_the_texts_and_the_properties_of_the_schema() {
    let meta = json!({ "current_page": 1, "last_page": 1, "per_page": 10, "total": 1 });
    let draft = post("draft", &Value::Null, &json!([]));
    let api = FakeApi::default()
        .respond_with("GET /posts/7", 200, draft.clone())
        .respond_with("GET /posts", 200, json!({ "data": [draft], "meta": meta }))
        .respond_with("GET /connections", 200, json!({ "data": [] }))
        .respond_with("DELETE /posts/7", 204, Value::Null);
    let server = api.server().await;

    for (tool, arguments, name) in [
        ("get_post", json!({ "post": 7 }), Some("post")),
        ("list_posts", json!({}), Some("posts")),
        ("list_connections", json!({}), Some("accounts")),
        ("explain_error", json!({ "post": 7 }), Some("accounts")),
        ("explain_error", json!({ "status": 422 }), None),
        ("cancel_post", json!({ "post": 7, "then": "delete" }), None),
    ] {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let tool = Tool::named(tool).unwrap();
        let result = result(tool.call(&server, arguments).await);

        let structured = result.structured_content.unwrap();
        let texts: Vec<_> = result.content.iter().map(|it| it.as_text().unwrap().text.as_str()).collect();
        assert_eq!(structured["summary"], texts[0]);
        let schema = tool.described().output_schema.unwrap();
        for (property, value) in structured.as_object().unwrap() {
            assert!(schema["properties"].get(property).is_some(), "{}: {property}", tool.name());
            let is_text = || serde_json::from_str::<Value>(texts[1]).unwrap() == *value;
            assert!(property == "summary" || Some(property.as_str()) == name && is_text());
        }
    }
}

fn segment(kind: &str, status: &str, error: Option<&str>) -> Value {
    json!({
        "kind": kind, "content": "text", "media": [], "status": status, "published_at": null,
        "platform_post_id": null, "platform_post_url": null, "error_message": error,
    })
}

#[tokio::test]
async fn thread_is_created_in_one_call_and_shown_by_segment() {
    let mut target = target("pending", "");
    target["segments"] = json!([segment("post", "pending", None), segment("reply", "pending", None)]);
    let mut scheduled = post("scheduled", &json!("2026-11-21T12:00:00.000Z"), &json!([target]));
    scheduled["thread"] = json!([{ "content": "And a reply", "media": [] }]);
    let list = json!({
        "data": [scheduled], "meta": { "current_page": 1, "last_page": 1, "per_page": 10, "total": 1 },
    });
    let api = FakeApi::default().respond_with("POST /posts", 201, scheduled).respond_with("GET /posts", 200, list);
    let server = api.server().await;
    let thread = json!([{ "content": "And a reply" }]);
    let arguments = json!({
        "idempotency_key": "hello-1", "content": "Hello", "scheduled_at": "now", "thread": thread,
        "platforms": [{ "connected_account_id": 5 }],
    });

    let (is_error, created) = call(&server, "create_post", arguments).await;
    let (_, listed) = call(&server, "list_posts", json!({})).await;

    assert!(!is_error && created.contains(r#""kind":"reply""#), "{created}");
    assert_eq!(api.asked().remove(0).body["thread"], thread);
    assert!(listed.contains(r#""replies":1"#) && listed.contains(r#""kind":"reply""#), "{listed}");
}

#[tokio::test]
async fn thread_that_stopped_is_explained_by_segment() {
    let why = "1 of 2 is public. The text is too long";
    let mut stopped = target("failed", why);
    stopped["segments"] = json!([segment("post", "published", None), segment("reply", "failed", Some(why))]);
    let failed = post("failed", &json!("2026-11-21T09:30:00.000Z"), &json!([stopped]));
    let mut public = target("published", "");
    public["error_message"] = Value::Null;
    public["segments"] = json!([segment("post", "published", None), segment("comment", "failed", Some("No comments"))]);
    let published = post("published", &json!("2026-11-21T09:30:00.000Z"), &json!([public]));
    for (post, sentence, error) in
        [(failed, "only a part of its thread is public", why), (published, "a first comment failed", "No comments")]
    {
        let api = FakeApi::default().respond_with("GET /posts/7", 200, post).respond_with(
            "GET /connections",
            200,
            json!({ "data": [] }),
        );

        let (is_error, text) = call(&api.server().await, "explain_error", json!({ "post": 7 })).await;

        assert!(!is_error && text.contains(sentence) && text.contains(error), "{text}");
        assert!(text.contains(r#""segment":1"#) && !text.contains("has no error"), "{text}");
    }
}

#[tokio::test]
async fn null_leaves_a_field_unchanged() {
    let scheduled = post("scheduled", &json!("2026-11-21T12:00:00.000Z"), &json!([]));
    let api = FakeApi::default().respond_with("PATCH /posts/7", 200, scheduled);
    let arguments = json!({ "post": 7, "content": "Hello", "scheduled_at": null, "platforms": null });

    let (is_error, text) = call(&api.server().await, "change_post", arguments).await;

    assert!(!is_error, "{text}");
    assert_eq!(api.asked().remove(0).body, json!({ "content": "Hello" }));
}

#[tokio::test]
async fn reused_key_with_other_arguments_creates_no_second_post() {
    let errors = json!({ "message": "used", "errors": { "idempotency-key": ["was used for another request"] } });
    let api = FakeApi::default().respond_with("POST /posts", 422, errors);
    let server = api.server().await;

    let (is_error, text) = call(&server, "create_post", json!({ "idempotency_key": "a", "content": "x" })).await;

    assert!(is_error && text.contains("Find its post with list_posts"), "{text}");
    assert!(!text.contains("Nothing was changed."), "{text}");
}

#[tokio::test]
async fn partly_published_post_is_reported_as_public() {
    let platforms = json!([target("published", ""), target("pending", "")]);
    let api = FakeApi::default().respond_with(
        "GET /posts/7",
        200,
        post("scheduled", &json!("2026-11-21T12:00:00Z"), &platforms),
    );
    let server = api.server().await;

    let (_, text) = call(&server, "get_post", json!({ "post": 7 })).await;

    assert!(text.contains("public on 1 of 2 accounts") && !text.contains("not public"), "{text}");
}

#[tokio::test]
async fn invalid_arguments_are_rejected_before_any_call() {
    let api = FakeApi::default();
    let server = api.server().await;

    for (tool, arguments, word) in [
        ("create_post", json!({ "idempotency_key": "a", "content": "x", "schedule_at": "now" }), "schedule_at"),
        ("create_post", json!({ "content": "x" }), "idempotency_key"),
        ("create_post", json!({ "idempotency_key": "a b", "content": "x" }), "idempotency_key"),
        ("create_post", json!({ "idempotency_key": "a", "content": "x", "scheduled_at": "tomorrow" }), "offset"),
        ("create_post", json!({ "idempotency_key": "a", "content": "x", "platforms": [5] }), "connected_account_id"),
        ("create_post", json!({ "idempotency_key": "a", "content": "x", "media": [{ "alt": "x" }] }), "alt_text"),
        ("change_post", json!({ "post": 7, "scheduled_at": "2026-11-21T09:30:00" }), "offset"),
        ("retry_post", json!({ "post": 7, "scheduled_at": "2026-11-21T09:30:00" }), "offset"),
        ("upload_media_from_url", json!({ "mime_type": "image/png" }), "source_url"),
        ("get_post", json!({ "post": "seven" }), "a whole number"),
        ("create_post", json!({ "idempotency_key": "a", "thread": {} }), "expected a list"),
        ("cancel_post", json!({ "post": 7, "then": "publish" }), "publish"),
        ("explain_error", json!({}), "name a post"),
    ] {
        let (is_error, text) = call(&server, tool, arguments.clone()).await;
        assert!(is_error && text.contains(word) && text.contains("Nothing was changed"), "{tool} {arguments}: {text}");
    }
    assert!(api.asked().is_empty());
}

#[tokio::test]
async fn upload_tool_exists_only_where_files_are_shared() {
    let server = FakeApi::default().server().await;
    let file = json!({ "file": "boat.png" });
    assert!(server.get_tool("upload_media_from_file").is_none() && server.get_tool("get_post").is_some());
    assert!(call(&server, "upload_media_from_file", file.clone()).await.0);

    let files = LocalFiles::new(|name| Box::pin(async move { Ok(format!("media/1/{name}")) }));
    let server = Server { files: Some(files), ..server };
    let (is_error, text) = call(&server, "upload_media_from_file", file).await;

    assert!(!is_error && text.contains(r#"{"path":"media/1/boat.png"}"#), "{text}");
    assert!(server.get_tool("upload_media_from_file").is_some());
}

#[tokio::test]
async fn argument_errors_have_no_rust_terms() {
    let server = FakeApi::default().server().await;
    let wrong = [json!(7), json!("x"), json!(-1.5), json!({}), json!([7]), json!([[]]), json!(true)];
    for tool in Tool::ALL {
        let schema = tool.described().input_schema;
        let fields = schema["properties"].as_object().unwrap().keys();
        for (field, value) in fields.flat_map(|field| wrong.iter().map(move |value| (field, value))) {
            let (_, text) = call(&server, tool.name(), json!({ field: value })).await;
            let error = text.lines().next().unwrap();
            for word in ["struct", "sequence", " map", "u16", "u64", "variant", "enum", "newtype", "tuple"] {
                assert!(!error.contains(word), "{} {field} {value}: {error}", tool.name());
            }
        }
    }
}

#[tokio::test]
async fn only_a_failed_post_is_retried() {
    let draft = FakeApi::default().respond_with("GET /posts/7", 200, post("draft", &Value::Null, &json!([])));
    let failed = FakeApi::default()
        .respond_with("GET /posts/7", 200, post("failed", &json!("2026-11-21T09:30:00.000Z"), &json!([])))
        .respond_with("PATCH /posts/7", 200, post("scheduled", &json!("2026-11-21T12:00:00.000Z"), &json!([])));

    let (is_error, text) = call(&draft.server().await, "retry_post", json!({ "post": 7 })).await;
    assert!(is_error && text.contains("has the status draft"), "{text}");
    assert_eq!(draft.asked().len(), 1, "a time would have scheduled it");

    let (is_error, text) = call(&failed.server().await, "retry_post", json!({ "post": 7 })).await;
    assert!(!is_error && text.contains("not public yet"), "{text}");
    let again = failed.asked().remove(1);
    assert_eq!((again.body, again.if_match.as_deref()), (json!({ "scheduled_at": "now" }), Some("\"3\"")));
}

#[tokio::test]
async fn cancelled_post_becomes_a_draft_unless_deleted() {
    let api = FakeApi::default()
        .respond_with("PATCH /posts/7", 200, post("draft", &Value::Null, &json!([])))
        .respond_with("DELETE /posts/7", 204, Value::Null);
    let server = api.server().await;

    let (_, back) = call(&server, "cancel_post", json!({ "post": 7 })).await;
    let (_, gone) = call(&server, "cancel_post", json!({ "post": 7, "then": "delete" })).await;

    assert!(back.contains("https://social.example/account/posts/7"), "no link to approve it: {back}");
    assert!(back.contains("is a draft") && gone.contains("is deleted"), "{back} {gone}");
    assert_eq!(api.asked().remove(0).body, json!({ "scheduled_at": null }));
}

#[tokio::test]
async fn change_is_conditional_on_the_named_revision() {
    let scheduled = post("scheduled", &json!("2026-11-21T12:00:00.000Z"), &json!([]));
    let needed = json!({ "message": "A token for drafts wrote this draft" });
    let api = FakeApi::default().respond_with("PATCH /posts/7", 200, scheduled).respond_with(
        "DELETE /posts/7",
        204,
        Value::Null,
    );
    let refusing = FakeApi::default().respond_with("PATCH /posts/7", 428, needed);
    let server = api.server().await;

    for (tool, arguments) in [
        ("change_post", json!({ "post": 7, "revision": 2, "scheduled_at": "now" })),
        ("cancel_post", json!({ "post": 7, "revision": 2 })),
        ("cancel_post", json!({ "post": 7, "revision": 2, "then": "delete" })),
    ] {
        let (is_error, text) = call(&server, tool, arguments).await;
        assert!(!is_error, "{text}");
    }
    assert!(api.asked().iter().all(|it| it.if_match.as_deref() == Some("\"2\"")), "{:?}", api.asked());

    let arguments = json!({ "post": 7, "scheduled_at": "now" });
    let (is_error, text) = call(&refusing.server().await, "change_post", arguments).await;
    assert!(is_error && text.contains("revision that they agreed to"), "{text}");
    assert_eq!(refusing.asked().remove(0).if_match, None);
}

#[tokio::test]
async fn failed_post_is_explained_by_its_error_and_its_account() {
    let account = |needs_reconnection: bool| {
        json!({ "data": [{
            "id": 5, "provider": "sandbox", "username": "harbour", "display_name": null, "avatar": null,
            "needs_reconnection": needs_reconnection, "created_at": null,
        }] })
    };
    let targets = json!([target("failed", "The grant is gone")]);
    let failed = post("failed", &json!("2026-11-21T09:30:00.000Z"), &targets);
    let api = FakeApi::default().respond_with("GET /posts/7", 200, failed).respond_with(
        "GET /connections",
        200,
        account(true),
    );

    let (is_error, text) = call(&api.server().await, "explain_error", json!({ "post": 7 })).await;

    assert!(!is_error && text.contains("The grant is gone"), "{text}");
    assert!(text.contains("reconnect the account") && text.contains("check before retry_post"), "{text}");
}

#[tokio::test]
async fn error_of_the_api_is_explained_with_the_next_step() {
    let errors = json!({
        "message": "content is required (and 1 more error)",
        "errors": { "content": ["content is required"], "platforms.0.content": ["is too long"] },
    });
    let limited = json!({ "message": "Too many requests. Try again in 17 s" });
    let api =
        FakeApi::default().respond_with("POST /posts/validate", 422, errors).respond_with("GET /posts", 429, limited);
    let server = api.server().await;

    let (is_error, text) = call(&server, "validate_post", json!({ "content": "x" })).await;
    assert!(is_error && text.contains("platforms.0.content: is too long") && text.contains("Correct"), "{text}");
    let (_, text) = call(&server, "list_posts", json!({})).await;
    assert!(text.contains("17 s") && text.contains("as long as the message says"), "{text}");
    let (_, text) = call(&server, "get_post", json!({ "post": 9 })).await;
    assert!(text.contains("404") && text.contains("list_posts"), "{text}");
}

#[tokio::test]
async fn expired_token_asks_for_access_again() {
    let refused = json!({ "message": "Send a valid token: Authorization: Bearer <token>" });
    let api = FakeApi::default().respond_with("GET /connections", 401, refused);
    let server = api.server().await;

    let (is_error, text) = call(&server, "list_connections", json!({})).await;

    assert!(is_error && text.contains("give access again"), "{text}");
}

#[test]
fn unknown_outcome_names_the_safe_next_call() {
    let failure = ToolError::Api(client::Error::Unknown("the connection broke".to_owned()));
    let (is_error, text) = read(&result(Err(failure)));
    assert!(is_error && text.contains("same idempotency_key"), "{text}");
}
