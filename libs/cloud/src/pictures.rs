//! Requests to resize pictures, and their results.
//!
//! Decoding users' files is isolated in a function of its own, which does nothing else, has no
//! other permissions, and crashes alone. A request is a queue message; its result is an object
//! in the media bucket, under a key that is derived from the request.

use async_trait::async_trait;
use bytes::Bytes;
use domain::media::{MimeType, PictureRequest};
use futures::StreamExt;
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, BucketError};
use crate::error_chain::chain;
use crate::queue::QueueError;

/// Result of a request. The result of a request never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureResult {
    /// JPEG or PNG, within the requested bounds.
    Picture { mime_type: MimeType, bytes: Bytes },
    Refused {
        /// The reason, shown to the user.
        reason: String,
    },
}

/// A refusal as it is stored: JSON, which no picture format begins with.
#[derive(Serialize, Deserialize)]
struct StoredRefusal {
    refused: String,
}

const MAX_REFUSAL_BYTES: u64 = 4096;

const REFUSAL_TYPE: &str = "application/json";

/// Sends requests to the function that resizes pictures.
#[async_trait]
pub trait Pictures: Send + Sync {
    /// Requests a picture. Repeating a request is harmless.
    async fn request_picture(&self, request: &PictureRequest) -> Result<(), QueueError>;
}

/// For programs that request no pictures.
#[derive(Clone, Copy, Debug)]
pub struct NoPictureQueue;

#[async_trait]
impl Pictures for NoPictureQueue {
    async fn request_picture(&self, _: &PictureRequest) -> Result<(), QueueError> {
        Err(QueueError("this program requests no pictures".to_owned()))
    }
}

pub struct SqsPictureQueue {
    client: aws_sdk_sqs::Client,
    url: String,
}

impl SqsPictureQueue {
    /// `url` is the URL of the queue.
    pub fn new(client: aws_sdk_sqs::Client, url: String) -> Self {
        Self { client, url }
    }
}

#[async_trait]
impl Pictures for SqsPictureQueue {
    async fn request_picture(&self, request: &PictureRequest) -> Result<(), QueueError> {
        let body = serde_json::to_string(request).map_err(|it| QueueError(it.to_string()))?;
        let request_builder = self.client.send_message().queue_url(&self.url).message_body(body);
        // Makes the queue fair: many requests of one user do not delay those of others.
        let request_builder = request_builder.message_group_id(request.file.user().to_string());
        request_builder.send().await.map_err(|it| QueueError(chain(&it)))?;
        Ok(())
    }
}

impl Bucket {
    /// The result of a request; `None` while it is pending.
    pub async fn picture(&self, request: &PictureRequest) -> Result<Option<PictureResult>, BucketError> {
        let key = request.answered_at().to_string();
        let max_bytes = request.bounds.max_bytes.max(MAX_REFUSAL_BYTES);
        let Some(bytes) = self.read(&key, max_bytes).await? else { return Ok(None) };
        let result = match MimeType::sniff(&bytes) {
            Some(mime_type) => Some(PictureResult::Picture { mime_type, bytes }),
            None => serde_json::from_slice(&bytes)
                .ok()
                .map(|it: StoredRefusal| PictureResult::Refused { reason: it.refused }),
        };
        result.map(Some).ok_or_else(|| BucketError::with_message(format!("{key} is neither a picture nor a refusal")))
    }

    /// Stores the result of a request.
    pub async fn put_picture(&self, request: &PictureRequest, result: PictureResult) -> Result<(), BucketError> {
        let (content_type, bytes) = match result {
            PictureResult::Picture { mime_type, bytes } => (mime_type.as_str(), bytes),
            PictureResult::Refused { reason } => {
                let refusal = serde_json::to_vec(&StoredRefusal { refused: reason }).map_err(BucketError::new)?;
                (REFUSAL_TYPE, refusal.into())
            }
        };
        self.put_whole(&request.answered_at().to_string(), content_type, bytes).await.map(drop)
    }

    /// A whole file; `None` if it does not exist. A file larger than `max_bytes` is an error.
    pub async fn read(&self, key: &str, max_bytes: u64) -> Result<Option<Bytes>, BucketError> {
        let Some(mut chunks) = self.open(key).await? else { return Ok(None) };
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            if max_bytes < (bytes.len() + chunk.len()) as u64 {
                return Err(BucketError::with_message(format!("{key} is larger than {max_bytes} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Some(bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use domain::media::{MediaPath, PictureBounds};

    use super::*;
    use crate::testing::TestBucket;

    fn request() -> PictureRequest {
        let bounds = PictureBounds::new(10_000, 4_000);
        PictureRequest { file: MediaPath::parse("media/7/42.png").unwrap(), bounds }
    }

    #[tokio::test]
    async fn result_is_found_by_its_request() {
        let store = TestBucket::start().await;
        let picture =
            PictureResult::Picture { mime_type: MimeType::Jpeg, bytes: Bytes::from_static(b"\xFF\xD8\xFF and so on") };
        let refused = PictureResult::Refused { reason: "the file is damaged, or not image/png".to_owned() };

        assert_eq!(store.bucket.picture(&request()).await.unwrap(), None);
        for result in [picture, refused] {
            store.bucket.put_picture(&request(), result.clone()).await.unwrap();
            assert_eq!(store.bucket.picture(&request()).await.unwrap(), Some(result));
        }

        let mut other = request();
        other.bounds.max_side = 100;
        assert_eq!(store.bucket.picture(&other).await.unwrap(), None);
    }

    #[tokio::test]
    async fn invalid_or_too_large_result_is_an_error() {
        let store = TestBucket::start().await;
        let key = request().answered_at().to_string();
        let too_large = [b"\xFF\xD8\xFF".to_vec(), vec![0; 10_000]].concat();
        for wrong in [b"<html>".to_vec(), Vec::new(), b"{}".to_vec(), too_large] {
            store.bucket.put_whole(&key, "image/png", wrong.clone().into()).await.unwrap();
            assert!(store.bucket.picture(&request()).await.is_err(), "{wrong:?}");
        }
    }
}
