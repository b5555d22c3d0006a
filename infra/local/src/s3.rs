//! S3 in this process, as a part of the one origin.

use std::path::Path;

use axum::Router;
use axum::error_handling::HandleError;
use http::StatusCode;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;

use crate::clients::{ACCESS_KEYS, Secret};
use crate::error::LocalError;

/// The bucket's name, and its place in the origin's paths.
pub(crate) const BUCKET: &str = "social-publishing-media";

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
        .route_service(&format!("/{BUCKET}/{{*key}}"), service))
}
