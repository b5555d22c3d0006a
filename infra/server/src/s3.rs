//! S3 in this process, at the origin of the service.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, Weak};

use axum::Router;
use axum::error_handling::HandleError;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use s3s::access::S3Access;
use s3s::auth::SimpleAuth;
use s3s::dto::PutObjectInput;
use s3s::service::S3ServiceBuilder;
use s3s::{S3Request, S3Result};
use s3s_fs::FileSystem;

use crate::clients::{ACCESS_KEYS, Secret};
use crate::error::ServerError;
use crate::sync::{self, WriteSync};

/// Also the first segment of the bucket's paths.
pub(crate) const BUCKET: &str = "social-publishing-media";

pub(crate) fn router(
    folder: &Path,
    secret: &Secret,
    write_sync: WriteSync,
    max_bytes: u64,
) -> Result<Router, ServerError> {
    std::fs::create_dir_all(folder.join(BUCKET))?;
    let files = FileSystem::new(folder).map_err(|error| ServerError::Files(format!("{error:?}")))?;
    let mut builder = S3ServiceBuilder::new(files);
    let mut keys = SimpleAuth::new();
    for access_key in ACCESS_KEYS {
        keys.register(access_key.to_owned(), secret.expose().into());
    }
    builder.set_auth(keys);
    builder.set_access(PutLocks::default());
    let service = HandleError::new(builder.build(), async |error: s3s::HttpError| {
        tracing::error!(?error, "the media store failed");
        StatusCode::INTERNAL_SERVER_ERROR
    });
    Ok(Router::new()
        .route_service(&format!("/{BUCKET}"), service.clone())
        .route_service(&format!("/{BUCKET}/"), service.clone())
        .route_service(&format!("/{BUCKET}/{{*key}}"), service)
        .layer(from_fn_with_state((write_sync, folder.to_owned()), sync::sync_writes))
        .layer(from_fn_with_state(max_bytes, limit_size)))
}

/// Refuses files above the largest limit before anything is stored: an upload URL signs no size unless the
/// client has named one. S3 has a limit of 5 GB.
async fn limit_size(State(max_bytes): State<u64>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let length = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    match length {
        // S3 requires a length as well ("PutObject" in its API reference).
        None if headers.contains_key(TRANSFER_ENCODING) => StatusCode::LENGTH_REQUIRED.into_response(),
        Some(length) if max_bytes < length => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        // Without either header, the body is empty (RFC 9112, section 6.3).
        _ => next.run(request).await,
    }
}

/// Runs the PUTs of one key one after the other. `s3s-fs` checks `If-None-Match` before it reads
/// the body, so two concurrent PUTs of one link would both be stored. S3 stores the first PUT that
/// ends and responds to the others with 412 (S3 User Guide, "Conditional write behavior").
#[derive(Debug, Default)]
struct PutLocks {
    locks: std::sync::Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

impl PutLocks {
    fn lock_for(&self, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| 0 < lock.strong_count());
        locks.get(key).and_then(Weak::upgrade).unwrap_or_else(|| {
            let lock = Arc::default();
            locks.insert(key.to_owned(), Arc::downgrade(&lock));
            lock
        })
    }
}

#[async_trait::async_trait]
impl S3Access for PutLocks {
    /// Called once the signature is verified. The lock is held until the request is dropped.
    async fn put_object(&self, request: &mut S3Request<PutObjectInput>) -> S3Result<()> {
        let lock = self.lock_for(&request.input.key).lock_owned().await;
        request.extensions.insert(Arc::new(lock));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use cloud::bucket::{Bucket, BucketConfig};
    use http::Request;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;
    use crate::clients::config;

    /// Returns the statuses and the stored content.
    async fn race(puts: usize) -> (Vec<StatusCode>, Vec<u8>) {
        let (folder, secret) = (tempfile::tempdir().unwrap(), Secret::random());
        let store = router(folder.path(), &secret, WriteSync::None, u64::MAX).unwrap();
        let bucket_config = BucketConfig { name: BUCKET.to_owned(), ..BucketConfig::default() };
        let bucket = Bucket::new(&config("http://localhost:3000", &secret), &bucket_config);
        let put = bucket.presigned_put("media/7/42.png", "image/png", None, Duration::from_mins(1)).await.unwrap();
        let sent = (0..puts).map(async |number| {
            let mut request = Request::put(&put.url).header("host", "localhost:3000");
            for (name, value) in &put.headers {
                request = request.header(name, value);
            }
            let body = Body::from(vec![u8::try_from(number).unwrap(); 10_000]);
            store.clone().oneshot(request.body(body).unwrap()).await.unwrap().status()
        });
        let ended = futures::future::join_all(sent).await;
        let link = bucket.presigned_get("media/7/42.png", Duration::from_mins(1)).await.unwrap();
        let get = Request::get(link).header("host", "localhost:3000").body(Body::empty()).unwrap();
        let stored = store.oneshot(get).await.unwrap().into_body().collect().await.unwrap().to_bytes();
        (ended, stored.into())
    }

    #[tokio::test]
    async fn size_is_checked_before_the_signature() {
        let folder = tempfile::tempdir().unwrap();
        let store = router(folder.path(), &Secret::random(), WriteSync::None, 1_000).unwrap();
        let status = async |name: &str, value: &str| {
            let request = Request::put(format!("/{BUCKET}/media/7/42.png")).header(name, value);
            store.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status()
        };

        assert_eq!(status("content-length", "1001").await, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(status("transfer-encoding", "chunked").await, StatusCode::LENGTH_REQUIRED);
        for (name, value) in [("content-length", "1000"), ("accept", "*/*")] {
            assert_eq!(status(name, value).await, StatusCode::FORBIDDEN, "it has no signature");
        }
    }

    #[tokio::test]
    async fn racing_puts_of_one_link_store_one_file() {
        let (ended, stored) = race(16).await;

        let taken: Vec<_> = (0..).zip(&ended).filter(|it| *it.1 == StatusCode::OK).map(|it| it.0).collect();
        assert_eq!(taken.len(), 1, "{ended:?}");
        assert!(stored == vec![taken[0]; 10_000]);
        assert_eq!(ended.iter().filter(|it| **it == StatusCode::PRECONDITION_FAILED).count(), 15);
    }
}
