//! Pictures that are made to fit. Whoever decodes what users uploaded does
//! nothing else, may do nothing else, and ends alone when a file ends it: it is
//! asked by a message, and its answer is an object in the media bucket, under a
//! name that follows from what was asked.

use async_trait::async_trait;
use bytes::Bytes;
use domain::media::{MimeType, PictureRequest};
use futures::StreamExt;
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, BucketError};
use crate::error_chain::chain;
use crate::queue::QueueError;

/// What came of a request. The same request has the same answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureResult {
    /// The picture, within the bounds. JPEG or PNG.
    Picture {
        mime_type: MimeType,
        /// The file.
        bytes: Bytes,
    },
    Refused {
        /// Why, for the user.
        reason: String,
    },
}

/// A refusal as it is stored, in JSON: no picture begins like it.
#[derive(Serialize, Deserialize)]
struct Refusal {
    refused: String,
}

/// The largest refusal that is read.
const MAX_REFUSAL_BYTES: u64 = 4096;

/// Its type in the bucket.
const REFUSAL_TYPE: &str = "application/json";

/// What takes requests to whoever makes pictures.
#[async_trait]
pub trait Pictures: Send + Sync {
    /// Asks for a picture. To ask twice is harmless.
    async fn ask(&self, request: &PictureRequest) -> Result<(), QueueError>;
}

/// For programs that make no use of pictures.
#[derive(Clone, Copy, Debug)]
pub struct NoPictures;

#[async_trait]
impl Pictures for NoPictures {
    async fn ask(&self, _: &PictureRequest) -> Result<(), QueueError> {
        Err(QueueError("this program asks for no pictures".to_owned()))
    }
}

pub struct SqsPictures {
    client: aws_sdk_sqs::Client,
    url: String,
}

impl SqsPictures {
    /// The queue at this URL.
    pub fn new(client: aws_sdk_sqs::Client, url: String) -> Self {
        Self { client, url }
    }
}

#[async_trait]
impl Pictures for SqsPictures {
    async fn ask(&self, request: &PictureRequest) -> Result<(), QueueError> {
        let body = serde_json::to_string(request).map_err(|it| QueueError(it.to_string()))?;
        let send = self.client.send_message().queue_url(&self.url).message_body(body);
        // A fair queue: the pictures of one user wait for each other before
        // those of others wait for them.
        let send = send.message_group_id(request.file.user().to_string());
        send.send().await.map_err(|it| QueueError(chain(&it)))?;
        Ok(())
    }
}

impl Bucket {
    /// The answer to a request; `None` as long as there is none.
    pub async fn picture(&self, request: &PictureRequest) -> Result<Option<PictureResult>, BucketError> {
        let place = request.answered_at().to_string();
        let max_bytes = request.bounds.max_bytes.max(MAX_REFUSAL_BYTES);
        let Some(bytes) = self.read(&place, max_bytes).await? else { return Ok(None) };
        let answer = match MimeType::sniff(&bytes) {
            Some(mime_type) => Some(PictureResult::Picture { mime_type, bytes }),
            None => {
                serde_json::from_slice(&bytes).ok().map(|it: Refusal| PictureResult::Refused { reason: it.refused })
            }
        };
        answer.map(Some).ok_or_else(|| BucketError::said(format!("{place} is no answer")))
    }

    /// Keeps the answer to a request.
    pub async fn put_picture(&self, request: &PictureRequest, answer: PictureResult) -> Result<(), BucketError> {
        let (content_type, bytes) = match answer {
            PictureResult::Picture { mime_type, bytes } => (mime_type.as_str(), bytes),
            PictureResult::Refused { reason } => {
                let refusal = serde_json::to_vec(&Refusal { refused: reason }).map_err(BucketError::new)?;
                (REFUSAL_TYPE, refusal.into())
            }
        };
        self.put_whole(&request.answered_at().to_string(), content_type, bytes).await.map(drop)
    }

    /// A whole file; `None` when it is not there. One that is larger than this
    /// is an error.
    pub async fn read(&self, key: &str, max_bytes: u64) -> Result<Option<Bytes>, BucketError> {
        let Some(mut pieces) = self.open(key).await? else { return Ok(None) };
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            if max_bytes < (bytes.len() + piece.len()) as u64 {
                return Err(BucketError::said(format!("{key} is larger than {max_bytes} bytes")));
            }
            bytes.extend_from_slice(&piece);
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
    async fn an_answer_is_found_by_what_was_asked() {
        let store = TestBucket::start().await;
        let picture =
            PictureResult::Picture { mime_type: MimeType::Jpeg, bytes: Bytes::from_static(b"\xFF\xD8\xFF and so on") };
        let refused = PictureResult::Refused { reason: "the file is damaged, or not image/png".to_owned() };

        assert_eq!(store.bucket.picture(&request()).await.unwrap(), None);
        for answer in [picture, refused] {
            store.bucket.put_picture(&request(), answer.clone()).await.unwrap();
            assert_eq!(store.bucket.picture(&request()).await.unwrap(), Some(answer));
        }

        let mut other = request();
        other.bounds.max_side = 100;
        assert_eq!(store.bucket.picture(&other).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_is_no_answer_or_too_large_is_not_taken_for_one() {
        let store = TestBucket::start().await;
        let place = request().answered_at().to_string();
        let too_large = [b"\xFF\xD8\xFF".to_vec(), vec![0; 10_000]].concat();
        for wrong in [b"<html>".to_vec(), Vec::new(), b"{}".to_vec(), too_large] {
            store.bucket.put_whole(&place, "image/png", wrong.clone().into()).await.unwrap();
            assert!(store.bucket.picture(&request()).await.is_err(), "{wrong:?}");
        }
    }
}
