//! Requests to resize pictures and to inspect documents, and their results.
//!
//! Decoding users' files is isolated in a function of its own, which does nothing else, has no
//! other permissions, and crashes alone. A request is a queue message; its result is an object
//! in the media bucket, under a key that is derived from the request.

use async_trait::async_trait;
use bytes::Bytes;
use domain::media::{DocumentFacts, DocumentRequest, FileRequest, MimeType, PictureRequest};
use futures::StreamExt;
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, BucketError};
use crate::error_chain::chain;
use crate::queue::QueueError;

/// The result of a request never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureResult {
    /// JPEG or PNG, within the requested bounds.
    Picture {
        mime_type: MimeType,
        bytes: Bytes,
    },
    Refused {
        reason: String,
    },
}

/// JSON, which no picture format begins with.
#[derive(Serialize, Deserialize)]
struct StoredRefusal {
    refused: String,
}

const MAX_REFUSAL_BYTES: u64 = 4096;

const REFUSAL_TYPE: &str = "application/json";

#[derive(Serialize, Deserialize)]
struct StoredFacts {
    document: DocumentFacts,
}

const MAX_FACTS_BYTES: u64 = 4096;

#[async_trait]
pub trait Pictures: Send + Sync {
    /// Repeating a request is harmless.
    async fn request_picture(&self, request: &PictureRequest) -> Result<(), QueueError>;

    /// Repeating a request is harmless.
    async fn request_inspection(&self, request: &DocumentRequest) -> Result<(), QueueError>;
}

/// For programs that request nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoPictureQueue;

#[async_trait]
impl Pictures for NoPictureQueue {
    async fn request_picture(&self, _: &PictureRequest) -> Result<(), QueueError> {
        Err(QueueError("this program requests no pictures".to_owned()))
    }

    async fn request_inspection(&self, _: &DocumentRequest) -> Result<(), QueueError> {
        Err(QueueError("this program requests no inspections".to_owned()))
    }
}

pub struct SqsPictureQueue {
    client: aws_sdk_sqs::Client,
    url: String,
}

impl SqsPictureQueue {
    pub fn new(client: aws_sdk_sqs::Client, url: String) -> Self {
        Self { client, url }
    }

    async fn send(&self, request: &FileRequest) -> Result<(), QueueError> {
        let body = serde_json::to_string(request).map_err(|it| QueueError(it.to_string()))?;
        let request_builder = self.client.send_message().queue_url(&self.url).message_body(body);
        // Makes the queue fair: many requests of one user do not delay those of others.
        let request_builder = request_builder.message_group_id(request.file().user().to_string());
        request_builder.send().await.map_err(|it| QueueError(chain(&it)))?;
        Ok(())
    }
}

#[async_trait]
impl Pictures for SqsPictureQueue {
    async fn request_picture(&self, request: &PictureRequest) -> Result<(), QueueError> {
        self.send(&FileRequest::Picture(*request)).await
    }

    async fn request_inspection(&self, request: &DocumentRequest) -> Result<(), QueueError> {
        self.send(&FileRequest::Document(*request)).await
    }
}

impl Bucket {
    /// `None` while the request is pending.
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

    /// `None` while the request is pending.
    pub async fn document_facts(&self, request: &DocumentRequest) -> Result<Option<DocumentFacts>, BucketError> {
        let key = request.answered_at().to_string();
        let Some(bytes) = self.read(&key, MAX_FACTS_BYTES).await? else { return Ok(None) };
        let stored: Result<StoredFacts, _> = serde_json::from_slice(&bytes);
        let facts = stored.map_err(|_| BucketError::with_message(format!("{key} has no facts of a document")))?;
        Ok(Some(facts.document))
    }

    pub async fn put_document_facts(&self, request: &DocumentRequest, facts: DocumentFacts) -> Result<(), BucketError> {
        let stored = serde_json::to_vec(&StoredFacts { document: facts }).map_err(BucketError::new)?;
        self.put_whole(&request.answered_at().to_string(), "application/json", stored.into()).await.map(drop)
    }

    /// `None` if the file does not exist. A file larger than `max_bytes` is an error.
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
    async fn facts_of_a_document_are_found_by_its_request() {
        let store = TestBucket::start().await;
        let request = DocumentRequest { document: MediaPath::parse("media/7/42.pdf").unwrap() };
        assert_eq!(store.bucket.document_facts(&request).await.unwrap(), None);
        for facts in [DocumentFacts::Readable { pages: 3 }, DocumentFacts::Encrypted, DocumentFacts::Damaged] {
            store.bucket.put_document_facts(&request, facts).await.unwrap();
            assert_eq!(store.bucket.document_facts(&request).await.unwrap(), Some(facts));
        }
        store.bucket.put_whole(&request.answered_at().to_string(), "text/plain", b"{}"[..].into()).await.unwrap();
        assert!(store.bucket.document_facts(&request).await.is_err());
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
