use http::Method;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use serde_json::{Value, json};

use crate::client::{Body, Client, POSTING, PdsResponse, TID, post};

const MP4: &[u8] = b"\0\0\0\x18ftypmp42 and then some";

async fn service_token(client: &Client, token: &str, aud: &str, lxm: &str) -> PdsResponse {
    let exp = client.seconds() + 1800;
    let name = format!("com.atproto.server.getServiceAuth?aud={aud}&lxm={lxm}&exp={exp}");
    client.call(Method::GET, &name, token, Body::Nothing).await
}

async fn upload(client: &Client, token: &str, bytes: &[u8]) -> PdsResponse {
    let name = format!("app.bsky.video.uploadVideo?did={}&name=one.mp4", client.fake.did());
    client.bearer(Method::POST, &name, token, Body::File("video/mp4", bytes)).await
}

async fn status(client: &Client, job: &str) -> Value {
    let name = format!("app.bsky.video.getJobStatus?jobId={job}");
    client.bearer(Method::GET, &name, "", Body::Nothing).await.body["jobStatus"].clone()
}

async fn pds_did(client: &Client) -> String {
    client.bearer(Method::GET, "com.atproto.server.describeServer", "", Body::Nothing).await.text("did")
}

#[tokio::test]
async fn a_video_is_uploaded_worked_on_and_posted() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let pds = pds_did(&client).await;
    let limits = service_token(&client, &token, "did:web:video.bsky.app", "app.bsky.video.getUploadLimits").await;
    let limits =
        client.bearer(Method::GET, "app.bsky.video.getUploadLimits", &limits.text("token"), Body::Nothing).await;
    assert_eq!((&limits.body["canUpload"], &limits.body["remainingDailyVideos"]), (&json!(true), &json!(25)));
    let upload_token = service_token(&client, &token, &pds, "com.atproto.repo.uploadBlob").await.text("token");

    let job = upload(&client, &upload_token, MP4).await.text("jobId");
    assert!(status(&client, &job).await["blob"].is_null());
    assert!(status(&client, &job).await["blob"].is_null());
    let done = status(&client, &job).await;
    assert_eq!(done["state"], "JOB_STATE_COMPLETED");

    let mut record = post("watch");
    record["embed"] = json!({ "$type": "app.bsky.embed.video", "video": done["blob"] });
    assert_eq!(client.put(&token, TID, &record).await.status, 200);
    assert_eq!(client.fake.public_posts()[0].media[0].bytes, MP4);
    let again = upload(&client, &upload_token, MP4).await;
    assert_eq!(again.error(), (409, "already_exists"));
    assert_eq!(again.text("jobId"), job);
}

#[tokio::test]
async fn the_answer_has_two_shapes_and_a_job_can_fail() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let pds = pds_did(&client).await;
    let upload_token = service_token(&client, &token, &pds, "com.atproto.repo.uploadBlob").await.text("token");

    client.fake.set_follows_lexicon(true);
    let job = upload(&client, &upload_token, MP4).await.body["jobStatus"]["jobId"].as_str().unwrap().to_owned();
    client.fake.inject_fault(Call::Process, InjectedFault::Refused, 1);
    let failed = status(&client, &job).await;
    assert_eq!((&failed["state"], &failed["failureCode"]), (&json!("JOB_STATE_FAILED"), &json!("validation_failure")));
    client.fake.set_videos_left(0);
    assert_eq!(upload(&client, &upload_token, b"another").await.status, 400);
}

#[tokio::test]
async fn the_video_service_wants_a_token_of_its_own() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let pds = pds_did(&client).await;
    let refused = |response: &PdsResponse| (response.status.as_u16(), response.error().1.to_owned());

    let wrong = service_token(&client, &token, "did:web:video.bsky.app", "com.atproto.repo.uploadBlob").await;
    let response = upload(&client, &wrong.text("token"), MP4).await;
    assert_eq!(refused(&response), (401, "BadJwtAudience".to_owned()));
    assert_eq!(upload(&client, &token, MP4).await.status, 401);
    let missing = service_token(&client, &token, &pds, "com.atproto.repo.putRecord").await;
    assert_eq!(missing.error(), (403, "ScopeMissingError"));
    let right = service_token(&client, &token, &pds, "com.atproto.repo.uploadBlob").await.text("token");
    client.clock.advance(chrono::TimeDelta::minutes(31));
    assert_eq!(upload(&client, &right, MP4).await.error(), (401, "JwtExpired"));

    // A bare DID is not a valid audience, so the server omits the scope.
    let bare = POSTING.replace("uploadBlob?aud=*", "uploadBlob?aud=did:web:127.0.0.1");
    let client = Client::with_scope(&bare).await;
    let token = client.connect().await.access;
    let response = service_token(&client, &token, &pds, "com.atproto.repo.uploadBlob").await;
    assert_eq!(response.error(), (403, "ScopeMissingError"));
}
