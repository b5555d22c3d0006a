use std::path::Path;

use axum::Router;
use cloud::bucket::{Bucket, BucketConfig};
use tokio::net::TcpListener;

use super::MoveError;
use crate::clients::{self, Secret};
use crate::data_folder::FILES;
use crate::error::ServerError;
use crate::s3;
use crate::sync::WriteSync;

/// Copies what is missing, and compares both sides afterwards. Returns the number of files. A
/// stored file never changes, so equal keys and sizes are equal files.
pub(super) async fn copy(data: &Path, to: &Bucket) -> Result<usize, MoveError> {
    let from = source(data).await?;
    let (here, there) = (from.sizes("", "").await?, to.sizes("", "").await?);
    for (key, size) in &here {
        if there.get(key) == Some(size) {
            continue;
        }
        if let (Some(content), Some(content_type)) = (from.open(key).await?, from.content_type(key).await?) {
            to.put(key, &content_type, content).await?;
        }
    }
    let after = to.sizes("", "").await?;
    let wrong = |it: &(&String, &u64)| after.get(it.0) != Some(it.1);
    let (missing, different): (Vec<_>, Vec<_>) = here.iter().filter(wrong).partition(|it| !after.contains_key(it.0));
    let extra: Vec<_> = after.iter().filter(|it| !here.contains_key(it.0)).collect();
    match missing.iter().chain(&different).chain(&extra).next() {
        None => Ok(here.len()),
        Some((example, _)) => Err(MoveError::Unequal {
            place: "files",
            missing: missing.len(),
            different: different.len(),
            extra: extra.len(),
            example: (*example).clone(),
        }),
    }
}

/// Served on loopback until the process ends.
async fn source(data: &Path) -> Result<Bucket, ServerError> {
    let secret = Secret::random();
    let files: Router = s3::router(&data.join(FILES), &secret, WriteSync::None, 0)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    tokio::spawn(axum::serve(listener, files).into_future());
    let config = BucketConfig { name: s3::BUCKET.to_owned(), endpoint: Some(origin.clone()), public_endpoint: None };
    Ok(Bucket::new(&clients::config(&origin, &secret), &config))
}
