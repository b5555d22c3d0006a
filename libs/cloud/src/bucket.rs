//! The media bucket.
//!
//! Users upload directly, with a presigned URL for one file of one type. Files that the service
//! fetches for them are streamed in parts. A stored file is never changed.

mod parts;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{Builder, RequestChecksumCalculation, ResponseChecksumValidation};
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::operation::head_object::HeadObjectError;
use aws_sdk_s3::presigning::PresigningConfig;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::config::{ConfigError, optional, required};
use crate::error_chain::chain;

pub use self::parts::PutError;

/// Timeout of one attempt of a call; a part of a file is a few megabytes.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketConfig {
    pub name: String,
    /// The URL of an S3-compatible store other than AWS; the bucket is then part of the path.
    pub endpoint: Option<String>,
    /// The URL of that store for users, if it differs.
    pub public_endpoint: Option<String>,
}

impl BucketConfig {
    /// Reads `MEDIA_BUCKET`; for object storage outside AWS also `MEDIA_ENDPOINT`, and
    /// `MEDIA_PUBLIC_ENDPOINT` if users reach it at another URL.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            name: required("MEDIA_BUCKET")?,
            endpoint: optional("MEDIA_ENDPOINT"),
            public_endpoint: optional("MEDIA_PUBLIC_ENDPOINT"),
        })
    }
}

/// The message is for the log.
#[derive(Clone, Debug, thiserror::Error)]
#[error("S3: {0}")]
pub struct BucketError(String);

impl BucketError {
    pub(crate) fn new(error: impl std::error::Error) -> Self {
        Self(chain(&error))
    }

    pub(crate) fn with_message(message: String) -> Self {
        Self(message)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresignedPut {
    pub url: String,
    /// Headers that the PUT request must send, because they are part of the signature.
    pub headers: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHead {
    pub size_bytes: u64,
    /// At most as many as requested.
    pub first_bytes: Bytes,
}

pub type ByteChunks = BoxStream<'static, Result<Bytes, BucketError>>;

#[derive(Clone, Debug)]
pub struct Bucket {
    client: Client,
    /// Only signs URLs; sends no request.
    links: Client,
    name: String,
}

impl Bucket {
    pub fn new(sdk: &SdkConfig, config: &BucketConfig) -> Self {
        let client = |endpoint: Option<&String>| {
            let mut builder = Builder::from(sdk)
                // By default, a presigned upload would require a checksum of bytes that only
                // the user's client has. Our own uploads are covered by the signature.
                .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
                .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
                .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build())
                .force_path_style(endpoint.is_some() || sdk.endpoint_url().is_some());
            builder.set_endpoint_url(endpoint.cloned().or_else(|| sdk.endpoint_url().map(str::to_owned)));
            Client::from_conf(builder.build())
        };
        let endpoint = config.endpoint.as_ref();
        Self {
            client: client(endpoint),
            links: client(config.public_endpoint.as_ref().or(endpoint)),
            name: config.name.clone(),
        }
    }

    /// A URL for one upload, of exactly `size_bytes` if given. The store refuses the upload if
    /// the key exists, so that a file cannot change after it was verified.
    pub async fn presigned_put(
        &self,
        key: &str,
        content_type: &str,
        size_bytes: Option<u64>,
        valid_for: Duration,
    ) -> Result<PresignedPut, BucketError> {
        let length = size_bytes.map(i64::try_from).transpose().map_err(BucketError::new)?;
        let request = self
            .links
            .put_object()
            .bucket(&self.name)
            .key(key)
            .content_type(content_type)
            .set_content_length(length)
            .if_none_match("*")
            .presigned(PresigningConfig::expires_in(valid_for).map_err(BucketError::new)?)
            .await
            .map_err(BucketError::new)?;
        let headers = request.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(PresignedPut { headers: headers.collect(), url: request.uri().to_owned() })
    }

    /// Anyone can read the file with the URL.
    pub async fn presigned_get(&self, key: &str, valid_for: Duration) -> Result<String, BucketError> {
        let request = self
            .links
            .get_object()
            .bucket(&self.name)
            .key(key)
            .presigned(PresigningConfig::expires_in(valid_for).map_err(BucketError::new)?)
            .await
            .map_err(BucketError::new)?;
        Ok(request.uri().to_owned())
    }

    /// One call. `None` if the file does not exist. A `first_bytes` of 0 counts as 1.
    pub async fn head(&self, key: &str, first_bytes: usize) -> Result<Option<FileHead>, BucketError> {
        let last = first_bytes.max(1) - 1;
        let object = self.client.get_object().bucket(&self.name).key(key).range(format!("bytes=0-{last}")).send().await;
        let object = match object {
            Ok(object) => object,
            Err(error) if error.as_service_error().is_some_and(GetObjectError::is_no_such_key) => {
                return Ok(None);
            }
            // The file is empty.
            Err(error) if is_out_of_range(&error) => {
                return Ok(Some(FileHead { size_bytes: 0, first_bytes: Bytes::new() }));
            }
            Err(error) => return Err(BucketError::new(error)),
        };
        let range = object.content_range().and_then(|it| it.rsplit('/').next()?.parse().ok());
        let size_bytes = range.ok_or_else(|| BucketError(format!("S3 returned no size for {key}")))?;
        let first_bytes = object.body.collect().await.map_err(BucketError::new)?.into_bytes();
        Ok(Some(FileHead { size_bytes, first_bytes }))
    }

    /// `None` if the file does not exist.
    pub async fn open(&self, key: &str) -> Result<Option<ByteChunks>, BucketError> {
        Box::pin(self.get(key, None)).await
    }

    /// The part of a range that exists, as a stream; `None` if the file does not exist.
    pub async fn open_range(&self, key: &str, range: Range<u64>) -> Result<Option<ByteChunks>, BucketError> {
        if range.is_empty() {
            return Ok(Some(futures::stream::empty().boxed()));
        }
        Box::pin(self.get(key, Some(format!("bytes={}-{}", range.start, range.end - 1)))).await
    }

    async fn get(&self, key: &str, range: Option<String>) -> Result<Option<ByteChunks>, BucketError> {
        let object = match self.client.get_object().bucket(&self.name).key(key).set_range(range).send().await {
            Ok(object) => object,
            Err(error) if error.as_service_error().is_some_and(GetObjectError::is_no_such_key) => {
                return Ok(None);
            }
            Err(error) if is_out_of_range(&error) => return Ok(Some(futures::stream::empty().boxed())),
            Err(error) => return Err(BucketError::new(error)),
        };
        let pieces = futures::stream::try_unfold(object.body, |mut body| async move {
            Ok(body.try_next().await.map_err(BucketError::new)?.map(|piece| (piece, body)))
        });
        Ok(Some(pieces.boxed()))
    }

    /// `None` if the file does not exist.
    pub async fn content_type(&self, key: &str) -> Result<Option<String>, BucketError> {
        match self.client.head_object().bucket(&self.name).key(key).send().await {
            Ok(object) => Ok(Some(object.content_type.unwrap_or_else(|| "application/octet-stream".to_owned()))),
            Err(error) if error.as_service_error().is_some_and(HeadObjectError::is_not_found) => Ok(None),
            Err(error) => Err(BucketError::new(error)),
        }
    }

    /// Up to 1,000 keys.
    pub async fn list(&self, prefix: &str) -> Result<Vec<String>, BucketError> {
        let listed = self.client.list_objects_v2().bucket(&self.name).prefix(prefix).send().await;
        let objects = listed.map_err(BucketError::new)?.contents.unwrap_or_default();
        Ok(objects.into_iter().filter_map(|it| it.key).collect())
    }

    /// In bytes, starting with the key `first`.
    pub async fn sizes(&self, prefix: &str, first: &str) -> Result<HashMap<String, u64>, BucketError> {
        // A listing starts after a key. This key sorts before `first`, because keys are ASCII.
        let before = first.get(..first.len().saturating_sub(1)).unwrap_or_default();
        let before = Some(before.to_owned()).filter(|it| !it.is_empty());
        let request = self.client.list_objects_v2().bucket(&self.name).prefix(prefix).set_start_after(before);
        let mut pages = request.into_paginator().send();
        let mut sizes = HashMap::new();
        while let Some(page) = pages.try_next().await.map_err(BucketError::new)? {
            let files = page.contents.unwrap_or_default().into_iter();
            sizes.extend(files.filter_map(|it| Some((it.key?, u64::try_from(it.size?).ok()?))));
        }
        Ok(sizes)
    }

    /// Succeeds if the file does not exist.
    pub async fn delete(&self, key: &str) -> Result<(), BucketError> {
        self.client.delete_object().bucket(&self.name).key(key).send().await.map_err(BucketError::new)?;
        Ok(())
    }
}

fn is_out_of_range(error: &SdkError<GetObjectError>) -> bool {
    error.raw_response().is_some_and(|it| it.status().as_u16() == 416)
}
