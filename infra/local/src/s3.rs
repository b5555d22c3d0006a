//! S3 in this process, as a part of the one origin.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::error_handling::HandleError;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use futures::{StreamExt, stream};
use http::{Method, StatusCode};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;

use crate::clients::{ACCESS_KEYS, Secret};
use crate::error::LocalError;

/// The bucket's name, and its place in the origin's paths.
pub(crate) const BUCKET: &str = "social-publishing-media";

/// How long the rest of a refused file is read. Two cores take in a gibibyte
/// meanwhile.
const REST: Duration = Duration::from_secs(10);

/// The store of files in this folder, for who signs with this secret.
pub(crate) fn router(folder: &Path, secret: &Secret) -> Result<Router, LocalError> {
    std::fs::create_dir_all(folder.join(BUCKET))?;
    let files = FileSystem::new(folder).map_err(|error| LocalError::Files(format!("{error:?}")))?;
    let mut builder = S3ServiceBuilder::new(files);
    let mut keys = SimpleAuth::new();
    for access_key in ACCESS_KEYS {
        keys.register(access_key.to_owned(), secret.expose().into());
    }
    builder.set_auth(keys);
    let service = HandleError::new(builder.build(), async |error: s3s::HttpError| {
        tracing::error!(?error, "the media store failed");
        StatusCode::INTERNAL_SERVER_ERROR
    });
    Ok(Router::new()
        .route_service(&format!("/{BUCKET}"), service.clone())
        .route_service(&format!("/{BUCKET}/"), service.clone())
        .route_service(&format!("/{BUCKET}/{{*key}}"), service)
        .layer(from_fn(read_to_the_end)))
}

/// Who is still sending when a connection is closed may see a broken pipe and
/// never the refusal, so a file is read to its end before it is refused.
async fn read_to_the_end(request: Request, next: Next) -> Response {
    if request.method() != Method::PUT {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let body = Arc::new(Mutex::new(body.into_data_stream()));
    let mut rest = stream::poll_fn({
        let body = Arc::clone(&body);
        move |context| body.lock().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(context)
    });
    let lent =
        stream::poll_fn(move |context| body.lock().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(context));

    let response = next.run(Request::from_parts(head, Body::from_stream(lent))).await;
    if response.status().is_client_error() {
        let all = async { while let Some(Ok(_)) = rest.next().await {} };
        if tokio::time::timeout(REST, all).await.is_err() {
            tracing::info!("a refused file was not read to its end");
        }
    }
    response
}
