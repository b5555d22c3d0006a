//! Requests that the fake rejects, according to the documentation.

use fakes::fake::wire::browser;
use fakes::linkedin::{Community, LinkedIn, MEMBER_URN, PAGE_URN};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use reqwest::{Method, RequestBuilder};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::harness_with;

struct RestApi {
    url: String,
    token: String,
}

impl RestApi {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = browser().request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        request.header("LinkedIn-Version", "202608").header("X-Restli-Protocol-Version", "2.0.0")
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.request(Method::POST, path).json(body)
    }
}

async fn visit() -> (AdapterHarness<LinkedIn<Community>>, RestApi) {
    let (harness, account) = harness_with::<Community>().await;
    let token = account.credentials.access_token.expose_secret().to_owned();
    let url = harness.fake.base_url();
    (harness, RestApi { url, token })
}

/// Status and code of an error response.
async fn status_and_code(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap_or_default();
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

fn a_post() -> Value {
    json!({
        "author": MEMBER_URN, "commentary": "hi", "visibility": "PUBLIC", "lifecycleState": "PUBLISHED",
        "distribution": { "feedDistribution": "MAIN_FEED", "targetEntities": [], "thirdPartyDistributionChannels": [] },
    })
}

#[tokio::test]
async fn a_call_names_a_version_the_protocol_and_a_token() {
    let (harness, api) = visit().await;
    let plain = || browser().post(format!("{}/rest/posts", api.url)).json(&a_post());
    let versioned = || plain().header("LinkedIn-Version", "202608");
    for (request, status, code) in [
        (plain().bearer_auth(&api.token), 400, "VERSION_MISSING"),
        (plain().bearer_auth(&api.token).header("LinkedIn-Version", "202012"), 426, "NONEXISTENT_VERSION"),
        (versioned().bearer_auth(&api.token), 400, "ILLEGAL_ARGUMENT"),
        (versioned().header("X-Restli-Protocol-Version", "2.0.0"), 401, "EMPTY_ACCESS_TOKEN"),
        (versioned().header("X-Restli-Protocol-Version", "2.0.0").bearer_auth("x"), 401, "INVALID_ACCESS_TOKEN"),
    ] {
        assert_eq!(status_and_code(request).await, (status, code.to_owned()));
    }
    harness.fake.revoke();
    assert_eq!(status_and_code(api.post("/rest/posts", &a_post())).await, (401, "REVOKED_ACCESS_TOKEN".to_owned()));
}

#[tokio::test]
async fn a_post_has_to_be_as_it_is_documented() {
    let (_harness, api) = visit().await;
    let with = |name: &str, value: Value| {
        let mut post = a_post();
        post[name] = value;
        post
    };
    let image = json!({ "id": "urn:li:image:C5" });
    let mut without = a_post();
    without.as_object_mut().unwrap().remove("commentary");
    for (body, status, code) in [
        (without, 400, "MISSING_FIELD"),
        (with("subtitle", json!("x")), 400, "UNPERMITTED_FIELD"),
        (with("visibility", json!("FRIENDS")), 400, "INVALID_VALUE_FOR_FIELD"),
        (with("author", json!("urn:li:member:1")), 400, "INVALID_URN_TYPE"),
        (with("author", json!("urn:li:organization:9999")), 403, "ACCESS_DENIED"),
        (with("author", json!("urn:li:person:somebody")), 403, "ACCESS_DENIED"),
        (with("commentary", json!("x".repeat(3_001))), 400, "FIELD_LENGTH_TOO_LONG"),
        (with("content", json!({ "media": image, "article": {} })), 400, "INVALID_VALUE_FOR_FIELD"),
        (with("content", json!({ "multiImage": { "images": [image] } })), 400, "FIELD_ARRAY_SIZE_TOO_HIGH"),
        (with("content", json!({ "media": image })), 404, "NOT_FOUND"),
        (with("commentary", json!("escaped \\(".repeat(300))), 201, ""),
    ] {
        assert_eq!(status_and_code(api.post("/rest/posts", &body)).await, (status, code.to_owned()), "{body}");
    }
}

#[tokio::test]
async fn a_file_is_announced_and_arrives_whole() {
    let (_harness, api) = visit().await;
    let announce = |size: u64| {
        let request = json!({ "initializeUploadRequest": {
            "owner": PAGE_URN, "fileSizeBytes": size, "uploadCaptions": false, "uploadThumbnail": false,
        } });
        api.post("/rest/videos?action=initializeUpload", &request)
    };
    assert_eq!(status_and_code(announce(0)).await.0, 400);
    assert_eq!(status_and_code(api.post("/rest/videos?action=upload", &json!({}))).await.0, 400);
    let begun: Value = announce(3).send().await.unwrap().json().await.unwrap();
    let url = begun["value"]["uploadInstructions"][0]["uploadUrl"].as_str().unwrap();
    let put = |body: &'static str| browser().put(url).header("content-type", "application/octet-stream").body(body);
    assert_eq!(status_and_code(put("abcd")).await.0, 400, "too long");
    assert_eq!(status_and_code(put("abc").bearer_auth(&api.token)).await.0, 400, "with the token");
    let tag = put("abc").send().await.unwrap().headers()["etag"].to_str().unwrap().trim_matches('"').to_owned();
    let finalize = |tags: Value| {
        let token = &begun["value"]["uploadToken"];
        let request = json!({ "video": begun["value"]["video"], "uploadToken": token, "uploadedPartIds": tags });
        api.post("/rest/videos?action=finalizeUpload", &json!({ "finalizeUploadRequest": request }))
    };
    assert_eq!(status_and_code(finalize(json!(["other"]))).await.0, 400);
    assert_eq!(status_and_code(finalize(json!([tag]))).await.0, 200);
    assert_eq!(status_and_code(finalize(json!([tag]))).await.0, 400, "once");
}

#[tokio::test]
async fn a_list_is_asked_for_as_the_protocol_writes_it() {
    let (_harness, api) = visit().await;
    let find = |author: &str| api.request(Method::GET, &format!("/rest/posts?author={author}&q=author"));
    let encoded = "urn%3Ali%3Aorganization%3A2414183";
    assert_eq!(status_and_code(find(encoded)).await.0, 400, "without its method");
    assert_eq!(status_and_code(find(PAGE_URN).header("X-RestLi-Method", "FINDER")).await.0, 400, "not encoded");
    assert_eq!(status_and_code(find(encoded).header("X-RestLi-Method", "FINDER")).await.0, 200);
    assert_eq!(status_and_code(api.request(Method::GET, "/rest/organizations?ids=List(2414183)")).await.0, 200);
    assert_eq!(status_and_code(api.request(Method::GET, "/rest/organizations?ids=List%28241%29")).await.0, 400);
    let video = |urn: &str| api.request(Method::GET, &format!("/rest/videos/{urn}"));
    assert_eq!(status_and_code(video("urn:li:video:C5")).await.0, 400, "not encoded");
    assert_eq!(status_and_code(video("urn%3Ali%3Avideo%3AC5")).await.0, 404);
}
