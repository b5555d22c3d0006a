//! Tests of the whole sandbox with a client and a browser.

use std::collections::HashSet;

use super::super::testing::SandboxHarness;
use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot really";

fn files(media_dir: &FsPath) -> HashSet<String> {
    let entries = std::fs::read_dir(media_dir).unwrap();
    entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn uploaded_picture_is_served_with_its_type() {
    let harness = SandboxHarness::new();
    let token = harness.connect("meadow").await.access;

    let uploaded = harness.upload(&token, "image/png", PNG.to_vec()).await;
    let id = uploaded.string("id");
    let served = harness.get(&format!("/sandbox/media/{id}")).await;

    assert_eq!(uploaded.status, 201);
    assert_eq!(uploaded.string("url"), format!("http://sandbox.test/sandbox/media/{id}"));
    assert_eq!((served.status, served.body.as_slice()), (200, PNG));
    assert_eq!(served.header("content-type"), "image/png");
    assert_eq!(served.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn range_request_returns_the_requested_bytes() {
    let harness = SandboxHarness::new();
    let token = harness.connect("meadow").await.access;
    let id = harness.upload(&token, "video/mp4", b"0123456789".to_vec()).await.string("id");

    let part = harness.get_part(&format!("/sandbox/media/{id}"), "bytes=2-4").await;
    let beyond = harness.get_part(&format!("/sandbox/media/{id}"), "bytes=10-").await;

    assert_eq!((part.status, part.body.as_slice()), (206, b"234".as_slice()));
    assert_eq!(part.header("content-range"), "bytes 2-4/10");
    assert_eq!((beyond.status, beyond.header("content-range")), (416, "bytes */10"));
}

#[tokio::test]
async fn invalid_file_is_rejected_and_not_kept() {
    let harness = SandboxHarness::new();
    let token = harness.connect("meadow").await.access;
    for mime_type in ["text/html", "image/svg+xml", "image/", "image/p g"] {
        let response = harness.upload(&token, mime_type, PNG.to_vec()).await;
        assert_eq!(response.status, 415, "{mime_type}");
    }

    let empty = harness.upload(&token, "image/png", Vec::new()).await;
    let large = harness.upload(&token, "video/mp4", vec![0; MAX_FILE + 1]).await;

    assert_eq!((empty.status, large.status), (422, 413));
    assert!(files(harness.sandbox.media_dir()).is_empty());
}

#[tokio::test]
async fn a_file_of_another_account_cannot_be_posted() {
    let harness = SandboxHarness::new();
    let meadow = harness.connect("meadow").await.access;
    let harbour = harness.connect("harbour").await.access;
    let id = harness.upload(&meadow, "image/png", PNG.to_vec()).await.string("id");

    let response = harness.post(&harbour, json!({"text": "mine", "media_ids": [id]})).await;

    assert_eq!((response.status, response.error()), (422, "unknown_media".into()));
}

#[tokio::test]
async fn file_fault_applies_once_to_its_file() {
    for (kind, status) in [("media_error", 500), ("media_refuse", 422), ("expire", 401)] {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        let file = if kind == "expire" { 1 } else { 2 };
        harness.arm(json!({"kind": kind, "file": file})).await;

        let mut statuses = Vec::new();
        for _ in 0..file {
            statuses.push(harness.upload(&token, "image/png", PNG.to_vec()).await.status);
        }

        assert_eq!(statuses.pop(), Some(status), "{kind}");
        assert!(statuses.iter().all(|it| *it == 201), "{kind}: {statuses:?}");
        assert_eq!(files(harness.sandbox.media_dir()).len(), statuses.len(), "{kind}");
    }
}

#[tokio::test]
async fn slow_upload_succeeds() {
    let harness = SandboxHarness::new();
    let token = harness.connect("meadow").await.access;
    harness.arm(json!({"kind": "media_slow", "delay_ms": 30})).await;

    let started = std::time::Instant::now();
    let response = harness.upload(&token, "image/png", PNG.to_vec()).await;

    assert_eq!(response.status, 201);
    assert!(30 <= started.elapsed().as_millis());
}

#[tokio::test]
async fn processing_file_cannot_be_posted_before_it_is_ready() {
    let harness = SandboxHarness::new();
    let token = harness.connect("meadow").await.access;
    harness.arm(json!({"kind": "media_processing", "delay_ms": 2500})).await;
    let uploaded = harness.upload(&token, "video/mp4", PNG.to_vec()).await;
    let id = uploaded.string("id");
    let own = format!("/sandbox/api/media/{id}");
    let post = json!({"text": "Look", "media_ids": [id]});

    let early = harness.post(&token, post.clone()).await;
    let early_state = harness.call("GET", &own, &token, None).await.string("state");
    harness.clock.advance(chrono::TimeDelta::milliseconds(2500));
    let late_state = harness.call("GET", &own, &token, None).await.string("state");
    let late = harness.post(&token, post).await;

    assert_eq!((uploaded.status, uploaded.string("state").as_str()), (201, "processing"));
    assert_eq!((early.status, early.error(), early.header("retry-after")), (429, "media_processing".into(), "3"));
    assert_eq!((early_state.as_str(), late_state.as_str()), ("processing", "ready"));
    assert_eq!(late.status, 201);
    let harbour = harness.connect("harbour").await.access;
    assert_eq!(harness.call("GET", &own, &harbour, None).await.status, 404);
}

#[tokio::test]
async fn opening_removes_unrecorded_files() {
    let dir = tempfile::tempdir().unwrap();
    let harness = SandboxHarness::open(dir.path());
    let token = harness.connect("meadow").await.access;
    let id = harness.upload(&token, "image/png", PNG.to_vec()).await.string("id");
    let media_dir = harness.sandbox.media_dir().to_owned();
    std::fs::write(media_dir.join("half-an-upload"), PNG).unwrap();
    drop(harness);

    let _again = SandboxHarness::open(dir.path());

    assert_eq!(files(&media_dir), HashSet::from([id]));
}
