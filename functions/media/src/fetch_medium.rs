//! Streams a file from a URL into the bucket. An unusable file is deleted again.

use api::{ApiError, ApiResult};
use bytes::{Bytes, BytesMut};
use cloud::bucket::PutError;
use domain::id::UserId;
use domain::media::{MimeType, SNIFF_BYTES, human_size};
use domain::validation_errors::ValidationErrors;
use egress::fetch::{FetchError, FetchedBody};
use futures::StreamExt;
use storage::{MarkMediaOutcome, Medium};

use crate::App;
use crate::create_medium::unavailable;
use crate::response::FetchedView;

impl App {
    pub(crate) async fn fetch(&self, user: UserId, mime_type: MimeType, url: &str) -> ApiResult<FetchedView> {
        let max_bytes = self.limits.max_bytes(mime_type, true);
        let mut body = self.fetcher.open(url, max_bytes).await.map_err(|it| fetch_error(&it))?;
        let start = start(&mut body).await.map_err(|it| fetch_error(&it))?;
        if !mime_type.matches(&start) {
            return Err(source_url_error(&format!(
                "the file is not of type {}; send its real mime_type",
                mime_type.as_str()
            )));
        }

        let medium = self.reserve_medium(user, mime_type, max_bytes, "mime_type").await?;
        match self.keep(&medium, start, body).await {
            Ok(view) => Ok(view),
            Err(error) => {
                self.discard(&medium).await;
                Err(error)
            }
        }
    }

    async fn keep(&self, medium: &Medium, start: Bytes, rest: FetchedBody) -> ApiResult<FetchedView> {
        let path = medium.path().to_string();
        let bytes = futures::stream::once(async { Ok(start) }).chain(rest.into_stream());
        let put = self.bucket.put(&path, medium.mime_type.as_str(), bytes).await;
        let size_bytes = put.map_err(|error| match error {
            PutError::Source(error) => fetch_error(&error),
            PutError::Bucket(error) => unavailable(&error),
        })?;
        match self.api.store.mark_media_verified(medium, size_bytes).await? {
            MarkMediaOutcome::Kept => self.fetched(medium, size_bytes).await,
            MarkMediaOutcome::Gone => Err(ApiError::Unavailable),
        }
    }

    /// Deletes what was stored of a file. If that fails, the record stays, and upkeep deletes the
    /// file as unused.
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

fn fetch_error(error: &FetchError) -> ApiError {
    match error {
        FetchError::TooLarge { max_bytes } => {
            source_url_error(&format!("the file is larger than {}", human_size(*max_bytes)))
        }
        error => source_url_error(&error.to_string()),
    }
}

fn source_url_error(reason: &str) -> ApiError {
    let mut errors = ValidationErrors::new();
    errors.add("source_url", format!("could not be fetched: {reason}"));
    ApiError::Invalid(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_limit_is_stated_with_a_unit() {
        let error = fetch_error(&FetchError::TooLarge { max_bytes: 20 << 20 });

        let ApiError::Invalid(errors) = error else { panic!("{error:?}") };
        let stated = format!("{errors:?}");
        assert!(stated.contains("could not be fetched: the file is larger than 20 MiB"), "{stated}");
    }
}
