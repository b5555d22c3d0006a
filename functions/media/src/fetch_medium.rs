//! Streams a file from a URL into the bucket. An unusable file is deleted again.

use bytes::{Bytes, BytesMut};
use cloud::bucket::PutError;
use contract::FetchedMedium;
use domain::id::UserId;
use domain::media::SNIFF_BYTES;
use egress::fetch::{FetchError, FetchedBody};
use futures::StreamExt;
use storage::{MarkMediaOutcome, Medium};

use crate::App;
use crate::error::MediaError;
use crate::request::CreateMedium;

impl App {
    pub(crate) async fn fetch(
        &self,
        user: UserId,
        request: &CreateMedium,
        url: &str,
    ) -> Result<FetchedMedium, MediaError> {
        let mime_type = request.mime_type;
        let max_bytes = self.limits.max_bytes(mime_type, true);
        let mut body = self.fetcher.open(url, max_bytes).await?;
        let start = start(&mut body).await?;
        if !mime_type.matches(&start) {
            return Err(MediaError::WrongType(mime_type));
        }

        let medium = self.reserve_medium(user, request, max_bytes, "mime_type").await?;
        match self.keep(&medium, start, body).await {
            Ok(view) => Ok(view),
            Err(error) => {
                self.discard(&medium).await;
                Err(error)
            }
        }
    }

    async fn keep(&self, medium: &Medium, start: Bytes, rest: FetchedBody) -> Result<FetchedMedium, MediaError> {
        let path = medium.path().to_string();
        let bytes = futures::stream::once(async { Ok(start) }).chain(rest.into_stream());
        let put = self.bucket.put(&path, medium.mime_type.as_str(), bytes).await;
        let size_bytes = put.map_err(|error| match error {
            PutError::Source(error) => MediaError::from(error),
            PutError::Bucket(error) => error.into(),
        })?;
        match self.api.store.mark_media_verified(medium, size_bytes).await? {
            MarkMediaOutcome::Kept => self.fetched(medium, size_bytes).await,
            MarkMediaOutcome::Gone => Err(MediaError::Removed),
        }
    }

    /// If the deletion fails, the record stays, and upkeep deletes the file as unused.
    async fn discard(&self, medium: &Medium) {
        let path = medium.path();
        if let Err(error) = self.bucket.delete(&path.to_string()).await {
            tracing::warn!(%error, %path, "unusable file could not be deleted and was left to upkeep");
            return;
        }
        if let Err(error) = self.api.store.delete_media_record(path).await {
            tracing::warn!(%error, %path, "record without a file could not be deleted and was left to upkeep");
        }
    }
}

/// Reads from the body until there are enough bytes to recognize the type.
async fn start(body: &mut FetchedBody) -> Result<Bytes, FetchError> {
    let mut start = BytesMut::new();
    while start.len() < SNIFF_BYTES {
        match body.chunk().await? {
            Some(chunk) => start.extend_from_slice(&chunk),
            None => break,
        }
    }
    Ok(start.freeze())
}
