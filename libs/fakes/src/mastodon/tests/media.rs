//! Uploads, and the files of a status.

use chrono::TimeDelta;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use serde_json::json;

use super::{MP4, PNG, Visit, error, part, read, refused};
use crate::mastodon::Flavor;

#[tokio::test]
async fn status_takes_four_images_or_one_ready_video_once() {
    let harness = Visit::usual().await;
    let (picture, video) = (harness.picture().await, harness.video().await);
    let with = async |ids: &[&String]| error(harness.publish(&json!({"status": "look", "media_ids": ids})).await);
    let ask = async || {
        let response = harness.get(&format!("/api/v1/media/{video}")).send().await.unwrap();
        response.status().as_u16()
    };

    assert_eq!(with(&[&picture; 5]).await, refused(422, "Cannot attach more than 4 files"));
    let mixed = refused(422, "Cannot attach a video to a post that already contains images");
    assert_eq!(with(&[&picture, &video]).await, mixed);
    let early = refused(422, "Cannot attach files that have not finished processing. Try again in a moment!");
    assert_eq!(with(&[&video]).await, early);
    assert_eq!((ask().await, ask().await, ask().await), (206, 206, 200));
    assert_eq!(with(&[&video]).await, refused(200, ""));
    assert_eq!(ask().await, 404);
    let attached = format!("Media {video} not found or already attached to another post");
    assert_eq!(with(&[&video]).await, refused(422, &attached));
    harness.clock.advance(TimeDelta::days(1));
    let gone = format!("Media {picture} not found or already attached to another post");
    assert_eq!(with(&[&picture]).await, refused(422, &gone));
    assert_eq!(harness.server.public_posts()[0].media[0].bytes, MP4);
}

#[tokio::test]
async fn failed_video_never_becomes_ready() {
    let harness = Visit::usual().await;
    let video = harness.video().await;
    harness.server.inject_fault(Call::Process, InjectedFault::Refused, 1);

    for _ in 0..2 {
        let response = harness.get(&format!("/api/v1/media/{video}")).send().await.unwrap();
        assert_eq!(error(read(response).await), refused(422, "Error processing thumbnail for uploaded media"));
    }
}

#[tokio::test]
async fn upload_needs_a_named_file_of_a_known_type() {
    let harness = Visit::usual().await;
    let unknown = refused(422, "Validation failed: File content type is invalid, File is invalid");
    let missing = refused(422, "Validation failed: File can't be blank");

    let nameless =
        harness.upload("Content-Disposition: form-data; name=\"file\"\r\nContent-Type: image/png", PNG).await;
    let untyped = harness.upload("Content-Disposition: form-data; name=\"file\"; filename=\"a\"", PNG).await;
    let bitmap = harness.upload(&part("image/bmp"), PNG).await;
    let disguised = harness.upload(&part("image/jpeg"), PNG).await;
    let bare = harness.post("/api/v2/media").header("Content-Type", "image/png").body(PNG).send().await.unwrap();
    let pieces = futures::stream::iter([Ok::<_, std::io::Error>(PNG)]);
    let endless = harness
        .post("/api/v2/media")
        .header("Content-Type", "multipart/form-data; boundary=edge")
        .body(reqwest::Body::wrap_stream(pieces))
        .send()
        .await
        .unwrap();

    assert_eq!(error(nameless), missing);
    assert_eq!(error(untyped), unknown);
    assert_eq!(error(bitmap), unknown);
    assert!(error(disguised).1.contains("not what they are reported to be"));
    assert_eq!(error(read(bare).await), missing);
    assert_eq!(endless.status(), 411);
}

#[tokio::test]
async fn too_large_file_is_refused_by_server_or_proxy() {
    let harness = Visit::usual().await;
    let mut picture = PNG.to_vec();
    picture.resize(16 << 20, 0);
    let mut video = MP4.to_vec();
    video.resize(99 << 20, 0);

    let (status, response) = harness.upload(&part("image/png"), &picture).await;
    let before = harness.uploading("/api/v2/media", &part("video/mp4"), &video).send().await.unwrap();

    assert_eq!(status, 422);
    assert!(response["error"].as_str().unwrap().contains("must be less than 16 MB"), "{response}");
    assert_eq!(before.status(), 413);
    picture.pop();
    assert_eq!(harness.upload(&part("image/png"), &picture).await.0, 200);
}

#[tokio::test]
async fn upload_differs_between_flavors() {
    let upload = async |flavor, path| {
        let harness = Visit::start_connected(flavor, "read write").await;
        let response = harness.uploading(path, &part("video/mp4"), MP4).send().await.unwrap();
        let (status, medium) = read(response).await;
        (status, medium["url"].is_string())
    };

    assert_eq!(upload(Flavor::Mastodon, "/api/v1/media").await, (200, true));
    assert_eq!(upload(Flavor::GoToSocial, "/api/v2/media").await, (200, false));
    assert_eq!(upload(Flavor::Pleroma, "/api/v2/media").await, (202, true));
    assert_eq!(upload(Flavor::Pixelfed, "/api/v2/media").await, (404, false));
    assert_eq!(upload(Flavor::Pixelfed, "/api/v1/media").await, (200, true));
}
