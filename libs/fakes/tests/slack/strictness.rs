//! Requests that the fake rejects, according to the documentation.

use fakes::fake::wire::browser;
use fakes::slack::{CHANNEL, ELSEWHERE};
use http::StatusCode;
use platforms::conformance::fake_platform::FakePlatform;
use reqwest::RequestBuilder;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::harness;

struct WebApi {
    url: String,
    token: String,
}

impl WebApi {
    fn post(&self, method: &str) -> RequestBuilder {
        browser().post(format!("{}/api/{method}", self.url)).bearer_auth(&self.token)
    }

    fn get(&self, method: &str) -> RequestBuilder {
        browser().get(format!("{}/api/{method}", self.url)).bearer_auth(&self.token)
    }
}

/// `ok`, or the code of the error.
async fn error_code(request: RequestBuilder) -> String {
    let response: Value = request.send().await.unwrap().json().await.unwrap();
    if response["ok"] == true { "ok".to_owned() } else { response["error"].as_str().unwrap().to_owned() }
}

async fn visit() -> (platforms::conformance::adapter_harness::AdapterHarness<fakes::slack::Slack>, WebApi) {
    let (harness, account) = harness().await;
    let token = account.credentials.access_token.expose_secret().to_owned();
    let url = harness.fake.base_url();
    (harness, WebApi { url, token })
}

#[tokio::test]
async fn a_message_has_to_be_as_it_is_documented() {
    let (_harness, api) = visit().await;
    let long = "x".repeat(4_001);
    for (body, expected) in [
        (json!({"channel": CHANNEL, "text": "hi", "client_msg_id": "1"}), "invalid_arguments"),
        (json!({"channel": CHANNEL, "text": 7}), "invalid_arguments"),
        (json!({"channel": CHANNEL, "text": "hi", "unfurl_links": "true"}), "invalid_arguments"),
        (json!({"text": "hi"}), "invalid_arguments"),
        (json!({"channel": CHANNEL}), "no_text"),
        (json!({"channel": CHANNEL, "text": long}), "msg_too_long"),
        (json!({"channel": ELSEWHERE, "text": "hi"}), "not_in_channel"),
        (json!({"channel": "C0NOWHERE0", "text": "hi"}), "channel_not_found"),
        (json!({"channel": CHANNEL, "text": "hi", "metadata": {"event_type": "a b"}}), "invalid_metadata_format"),
        (json!({"channel": CHANNEL, "text": "hi", "metadata": "{}"}), "invalid_arguments"),
        (json!({"channel": CHANNEL, "text": "hi", "thread_ts": "0"}), "invalid_thread_ts"),
        (json!({"channel": CHANNEL, "text": "hi", "thread_ts": "1503435956.000247"}), "thread_not_found"),
        (json!([]), "json_not_object"),
        (json!({"channel": CHANNEL, "text": "hi"}), "ok"),
    ] {
        assert_eq!(error_code(api.post("chat.postMessage").json(&body)).await, expected, "{body}");
    }
    let form = api.post("chat.postMessage").form(&[("channel", CHANNEL), ("text", "hi"), ("link_names", "maybe")]);
    assert_eq!(error_code(form).await, "invalid_arguments");
    let plain = api.post("chat.postMessage").header("content-type", "image/png").body("hi");
    assert_eq!(error_code(plain).await, "invalid_post_type");
    assert_eq!(error_code(api.post("chat.postMessage").body("hi")).await, "missing_post_type");
}

#[tokio::test]
async fn a_call_needs_a_token_that_covers_it() {
    let (harness, api) = visit().await;
    assert_eq!(error_code(api.post("chat.remind")).await, "unknown_method");
    assert_eq!(error_code(browser().post(format!("{}/api/auth.test", api.url))).await, "not_authed");
    assert_eq!(error_code(browser().post(format!("{}/api/auth.test", api.url)).bearer_auth("x")).await, "invalid_auth");
    let types = [("types", "im")];
    assert_eq!(error_code(api.get("users.conversations").query(&types)).await, "invalid_types");
    assert_eq!(error_code(api.get("users.conversations").query(&[("limit", "1000")])).await, "invalid_limit");
    let latest = [("channel", CHANNEL), ("latest", "yesterday")];
    assert_eq!(error_code(api.get("conversations.history").query(&latest)).await, "invalid_ts_latest");
    let thread = [("channel", CHANNEL), ("ts", "1503435956.000247")];
    assert_eq!(error_code(api.get("conversations.replies").query(&thread)).await, "thread_not_found");

    harness.fake.set_scope("chat:write");
    assert_eq!(error_code(api.get("files.info").query(&[("file", "F1")])).await, "missing_scope");
    let private = [("types", "private_channel")];
    assert_eq!(error_code(api.get("users.conversations").query(&private)).await, "missing_scope");
    harness.fake.revoke();
    assert_eq!(error_code(api.post("auth.test")).await, "token_revoked");
}

#[tokio::test]
async fn a_file_is_uploaded_once_in_its_size_and_shared_once() {
    let (_harness, api) = visit().await;
    let announce = |fields: &[(&str, &str)]| api.post("files.getUploadURLExternal").form(fields);
    assert_eq!(error_code(announce(&[("filename", "a.png")])).await, "missing_argument");
    assert_eq!(error_code(announce(&[("filename", "a.png"), ("length", "0")])).await, "missing_argument");
    assert_eq!(error_code(announce(&[("filename", "a.png"), ("length", "x")])).await, "invalid_arguments");
    assert_eq!(
        error_code(announce(&[("filename", "a.png"), ("length", "3"), ("alt_text", "b")])).await,
        "invalid_arguments"
    );
    let described = "x".repeat(1_001);
    let long = [("filename", "a.png"), ("length", "3"), ("alt_txt", described.as_str())];
    assert_eq!(error_code(announce(&long)).await, "alt_txt_too_large");

    let ticket = announce(&[("filename", "a.png"), ("length", "3")]).send().await.unwrap();
    let ticket: Value = ticket.json().await.unwrap();
    let (url, id) = (ticket["upload_url"].as_str().unwrap(), ticket["file_id"].as_str().unwrap());
    let upload = |body: &'static str| browser().post(url).header("content-type", "application/octet-stream").body(body);
    let share = |files: Value| {
        let fields = [("channel_id", CHANNEL.to_owned()), ("files", files.to_string())];
        api.post("files.completeUploadExternal").form(&fields)
    };
    let file = json!([{"id": id}]);
    assert_eq!(error_code(share(file.clone())).await, "file_not_found", "it is not uploaded");
    for (request, status) in [
        (upload("abcd"), StatusCode::BAD_REQUEST),
        (upload("abc").bearer_auth(&api.token), StatusCode::BAD_REQUEST),
        (upload("abc"), StatusCode::OK),
        (upload("abc"), StatusCode::GONE),
        (browser().post(format!("{url}x")).body("abc"), StatusCode::NOT_FOUND),
    ] {
        assert_eq!(request.send().await.unwrap().status(), status);
    }
    assert_eq!(error_code(api.get("files.info").query(&[("file", id)])).await, "file_not_found", "it is not shared");
    assert_eq!(error_code(share(json!([]))).await, "invalid_arguments");
    assert_eq!(error_code(share(json!([{"id": id, "alt": "b"}]))).await, "invalid_arguments");
    assert_eq!(error_code(share(file.clone())).await, "ok");
    assert_eq!(error_code(share(file)).await, "file_not_found", "it is shared already");
    assert_eq!(error_code(api.get("files.info").query(&[("file", id)])).await, "ok");
}

#[tokio::test]
async fn a_method_may_be_called_so_often_in_a_minute() {
    let (_harness, api) = visit().await;
    for _ in 0..50 {
        assert_eq!(error_code(api.get("users.conversations")).await, "ok");
    }

    let limited = api.get("users.conversations").send().await.unwrap();

    assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(limited.headers()["retry-after"], "60");
}
