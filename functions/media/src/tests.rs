//! Requests through the routes.

mod harness;

use axum::body::Body;
use chrono::TimeDelta;
use domain::media::{FileAddress, MediaPath, MimeType, PictureBounds, PictureRequest, PublicFile};
use domain::testing::{a_user, limited_to, noon};
use http::{Request, StatusCode};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use storage::LimitSubject;
use tower::ServiceExt;

use self::harness::Harness;
use crate::error::MediaError;
use crate::request::CreateMedium;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR and the rest of a picture";

/// The largest image in these tests, in bytes.
const MAX_BYTES: u64 = 1000;

const FILE_SECRET: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test]
async fn failed_fetch_is_reported_and_leaves_nothing_behind() {
    let service = Harness::start().await;
    for (path, reason) in [
        ("/page", "the file is not of type image/png; send its real mime_type"),
        ("/empty", "the file is not of type image/png; send its real mime_type"),
        ("/missing", "the server returned 404"),
        ("/large.png", "the file is larger than 1000 bytes"),
        ("/endless.png", "the file is larger than 1000 bytes"),
    ] {
        let url = format!("{}{path}", service.web);
        let fault = service.fault("source_url", &json!({"mime_type": "image/png", "source_url": url})).await;
        assert_eq!(fault, format!("source_url could not be fetched: {reason}"));
    }
    let private = json!({"mime_type": "image/png", "source_url": "http://127.0.0.1:1/x.png"});
    let fault = service.fault("source_url", &private).await;
    assert_eq!(fault, "source_url could not be fetched: the address of the URL is not public");

    service.assert_nothing_stored().await;
}

#[tokio::test]
async fn file_of_a_limited_token_belongs_to_its_profile() {
    let service = Harness::start().await;
    let (body, key) = (json!({"mime_type": "image/png"}), [("idempotency-key", "once")]);
    let (_, _, of_user) = service.post_with(&body, &key).await;
    let profile = service.limit_token().await;
    let store = &service.app.api.store;

    let (status, headers, of_profile) = service.post_with(&body, &key).await;

    assert_eq!((status, headers.contains_key("idempotent-replayed")), (StatusCode::CREATED, false), "{of_profile}");
    let id = |body: &Value| MediaPath::parse(body["path"].as_str().unwrap()).unwrap().media();
    let found = store.media(limited_to(&profile), &[id(&of_user), id(&of_profile)]).await.unwrap();
    assert_eq!(found.iter().map(|it| it.media_id).collect::<Vec<_>>(), [id(&of_profile)]);
    assert_eq!(found[0].of_profile, Some(profile.reference()));
}

#[tokio::test]
async fn plan_limits_the_bytes_of_a_profile() {
    let service = Harness::with_plans(r#"{"default": {"max_media_bytes_per_profile": 100}}"#).await;
    let body = |size: u32| json!({"mime_type": "image/png", "size": size});
    assert_eq!(service.post(&body(101)).await.0, StatusCode::CREATED, "without a profile");
    service.limit_token().await;

    assert_eq!(service.post(&body(60)).await.0, StatusCode::CREATED);
    let (status, refused) = service.post(&body(41)).await;

    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused["errors"]["size"][0].as_str().unwrap().contains("max_media_bytes_per_profile"), "{refused}");
    assert_eq!(service.post(&body(40)).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn concurrent_equal_requests_run_once() {
    let service = Harness::start().await;
    let url = format!("{}/harbour.png", service.web);
    let body = json!({"mime_type": "image/png", "source_url": url});

    let headers = [("idempotency-key", "once")];
    let posts = (0..8).map(|_| service.post_with(&body, &headers));
    let responses = futures::future::join_all(posts).await;

    let mut first = 0;
    for (status, headers, body) in responses {
        match status {
            StatusCode::CREATED if headers.contains_key("idempotent-replayed") => {}
            StatusCode::CREATED => first += 1,
            StatusCode::CONFLICT => assert!(body["message"].is_string()),
            other => panic!("{other} {body}"),
        }
    }
    assert_eq!(first, 1);
    let later = noon() + TimeDelta::days(365);
    assert_eq!(service.app.api.store.unused_media(later, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn plan_without_media_gets_403() {
    let body = json!({"mime_type": "image/png"});
    let without = Harness::with_plans(r#"{"small": {"media": false}}"#).await;
    let of_others = Harness::with_plans(r#"{"tiny": {"media": false}}"#).await;

    let (status, answer) = without.post(&body).await;

    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(answer["message"].as_str().unwrap().contains("plan"), "{answer}");
    without.assert_nothing_stored().await;
    assert_eq!(of_others.post(&body).await.0, StatusCode::CREATED);
}

#[test]
fn description_has_both_responses() {
    let document = serde_json::to_value(crate::documented()).unwrap();

    let answer = &document["components"]["schemas"]["MediumView"]["oneOf"];
    assert_eq!(answer.as_array().map(Vec::len), Some(2), "{document}");
    let operation = &document["paths"]["/api/v1/media"]["post"];
    assert_eq!(operation["operationId"], "media.store");
    for status in ["201", "400", "401", "403", "409", "413", "415", "422", "429", "503"] {
        assert!(operation["responses"][status].is_object(), "{status}");
    }
}

#[tokio::test]
async fn storage_limit_counts_the_real_size_of_fetched_files() {
    let mut service = Harness::start().await;
    service.app.limits.user_files = 3;
    service.app.limits.user_bytes = 2 * MAX_BYTES;
    let user = service.user.user_id;
    let request = CreateMedium::for_type(MimeType::Png);
    let reserve = async |size: u64| service.app.reserve_medium(user, &request, size, "size").await;

    assert!(reserve(MAX_BYTES).await.is_ok());
    assert!(reserve(MAX_BYTES + 1).await.is_err(), "too many bytes");
    let fetched = service.app.fetch(user, &request, &format!("{}/harbour.png", service.web)).await.unwrap();
    assert!(reserve(MAX_BYTES - fetched.size).await.is_ok(), "a fetched file holds its size alone");
    assert!(matches!(reserve(0).await, Err(MediaError::StorageLimit { .. })), "too many files");
}

#[tokio::test]
async fn file_is_served_at_its_url_and_runs_no_script() {
    let service = Harness::start().await;
    let path = service.file_path(service.store(42, PNG).await);

    let (status, headers, body) = service.request("GET", &path, None).await;

    assert_eq!((status, &body[..]), (StatusCode::OK, PNG));
    for (name, value) in [
        ("content-type", "image/png"),
        ("content-length", "42"),
        ("accept-ranges", "bytes"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("cache-control", "private, max-age=3600"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
    assert_eq!(headers["x-ratelimit-remaining"], "60", "platforms fetch many files from few addresses");
    let (status, head, body) = service.request("HEAD", &path, None).await;
    assert_eq!((status, body.len()), (StatusCode::OK, 0));
    let without_id = |mut headers: HeaderMap| {
        headers.remove("x-request-id");
        headers
    };
    assert_eq!(without_id(head), without_id(headers));
}

#[tokio::test]
async fn a_part_of_a_file_is_served() {
    let service = Harness::start().await;
    let path = service.file_path(service.store(42, PNG).await);

    let (status, headers, body) = service.request("GET", &path, Some("bytes=0-0")).await;
    assert_eq!((status, &body[..]), (StatusCode::PARTIAL_CONTENT, &PNG[..1]));
    assert_eq!(
        (&headers["content-range"], &headers["content-length"]),
        (&"bytes 0-0/42".parse().unwrap(), &"1".parse().unwrap())
    );
    let (status, _, body) = service.request("GET", &path, Some("bytes=8-")).await;
    assert_eq!((status, &body[..]), (StatusCode::PARTIAL_CONTENT, &PNG[8..]));
    let (status, headers, body) = service.request("GET", &path, Some("bytes=42-")).await;
    assert_eq!((status, body.len()), (StatusCode::RANGE_NOT_SATISFIABLE, 0));
    assert_eq!(headers["content-range"], "bytes */42");
}

#[tokio::test]
async fn derived_image_is_served_until_its_file_is_deleted() {
    let service = Harness::start().await;
    let bounds = PictureBounds::new(1000, 100).jpeg();
    let file = MediaPath::new(service.user.user_id, domain::id::MediaId::new(42).unwrap(), MimeType::Png);
    let request = PictureRequest { file, bounds };
    let picture =
        cloud::pictures::PictureResult::Picture { mime_type: MimeType::Jpeg, bytes: b"\xFF\xD8\xFF"[..].into() };
    service.app.bucket.put_picture(&request, picture).await.unwrap();
    let path = service.file_path(PublicFile::Derived(request.answered_at(), MimeType::Jpeg));

    let (status, headers, body) = service.request("GET", &path, None).await;
    assert_eq!((status, &headers["content-type"]), (StatusCode::OK, &"image/jpeg".parse().unwrap()));
    assert_eq!(&body[..], b"\xFF\xD8\xFF");

    service.app.bucket.delete(&request.answered_at().to_string()).await.unwrap();
    assert_eq!(service.request("GET", &path, None).await.0, StatusCode::NOT_FOUND);
}

/// The response does not reveal whether a URL was never valid, has expired, or has no file.
#[tokio::test]
async fn invalid_urls_all_get_the_same_response() {
    let mut service = Harness::start().await;
    let file = service.store(42, PNG).await;
    let PublicFile::Original(stored) = file else { panic!("{file:?}") };
    let path = service.file_path(file);
    let ended = FileAddress { file, expires_at: noon() }.path(service.app.file_key.as_ref().unwrap());
    let missing = MediaPath::new(stored.user(), domain::id::MediaId::new(43).unwrap(), MimeType::Png);
    let foreign = MediaPath::new(a_user().user_id, stored.media(), MimeType::Png);
    let large = MediaPath::new(stored.user(), domain::id::MediaId::new(44).unwrap(), MimeType::Png);
    service.app.bucket.put_whole(&large.to_string(), "image/png", vec![0; 1001].into()).await.unwrap();
    let paths = [
        ended,
        service.file_path(PublicFile::Original(missing)),
        service.file_path(PublicFile::Original(foreign)),
        service.file_path(PublicFile::Original(large)),
        path.replace("/42.png", "/43.png"),
        path.replace("/42.png", "/42.jpg"),
        path.replace("/42.png", "/%342.png"),
        path.replacen("/files/", "/files/A", 1),
        format!("{path}?"),
        format!("{path}?x=1"),
    ];

    for method in ["GET", "HEAD"] {
        for path in &paths {
            let (status, headers, body) = service.request(method, path, None).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{method} {path}");
            assert_eq!(headers["cache-control"], "no-store", "{method} {path}");
            if method == "GET" {
                assert!(body.starts_with(br#"{"message":"Not found:"#), "{path}: {body:?}");
            }
        }
    }
    assert_eq!(service.request("GET", &path.replace("/42.png", "%2F42.png"), None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(service.request("POST", &path, None).await.0, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(service.request("GET", &path, None).await.0, StatusCode::OK);
    service.app.file_key = None;
    let router = api::finish(crate::router(service.app.clone()), service.app.api.clone());
    let request = Request::get(&path).body(Body::empty()).unwrap();
    assert_eq!(router.oneshot(request).await.unwrap().status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_file_is_fetched_with_a_permit_and_the_same_key_can_be_sent_again() {
    let service = Harness::start().await;
    let (store, of) = (&service.app.api.store, LimitSubject::requests_of_user(service.user.user_id));
    for holder in ["a", "b", "c"] {
        store.record_permit(&of, holder, noon(), 1).await.unwrap();
    }
    let fetched = json!({"mime_type": "image/png", "source_url": format!("{}/harbour.png", service.web)});
    let key = [("idempotency-key", "k")];

    let (status, headers, body) = service.post_with(&fetched, &key).await;
    assert_eq!((status, headers["retry-after"].as_bytes()), (StatusCode::TOO_MANY_REQUESTS, &b"5"[..]), "{body}");
    let (status, _) = service.post(&json!({"mime_type": "image/png"})).await;
    assert_eq!(status, StatusCode::CREATED, "nothing is fetched");

    store.release_permit(&of, "a").await.unwrap();
    assert_eq!(service.post_with(&fetched, &key).await.0, StatusCode::CREATED);
    assert_eq!(store.in_flight_calls(&of).await.unwrap().others("", noon()), 2, "the permit is released");
}
