//! The bucket of pictures and videos.
//!
//! Users upload by themselves, through a link that is good for one file of one
//! type; what we fetch for them is streamed in parts. A file is never changed
//! once it is there.

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
use aws_sdk_s3::presigning::PresigningConfig;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::error_chain::chain;

pub use self::parts::PutError;

/// How long one attempt of a call may take: a part of a file is a few megabytes.
const ATTEMPT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketSettings {
    pub name: String,
    /// The URL of a store other than AWS; the bucket is then a part of the path.
    pub endpoint: Option<String>,
    /// That store's URL as users reach it, where it is another for them.
    pub public_endpoint: Option<String>,
}

/// The store failed, in words for the log.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the media bucket: {0}")]
pub struct BucketError(String);

impl BucketError {
    pub(crate) fn new(error: impl std::error::Error) -> Self {
        Self(chain(&error))
    }

    pub(crate) fn said(words: String) -> Self {
        Self(words)
    }
}

/// One upload that a user may make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresignedPut {
    pub url: String,
    /// What the PUT must send beside the bytes: they are part of the signature.
    pub headers: BTreeMap<String, String>,
}

/// What a look at a file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Of the whole file.
    pub size_bytes: u64,
    /// As many as were asked for, or all when there are fewer.
    pub first_bytes: Bytes,
}

/// A file, or a part of one, as it comes.
pub type Pieces = BoxStream<'static, Result<Bytes, BucketError>>;

/// The bucket of pictures and videos.
#[derive(Clone, Debug)]
pub struct Bucket {
    client: Client,
    /// Signs links; does not send anything.
    links: Client,
    name: String,
}

impl Bucket {
    /// A bucket, reached with the SDK's settings.
    pub fn new(sdk: &SdkConfig, settings: &BucketSettings) -> Self {
        let client = |endpoint: Option<&String>| {
            let mut builder = Builder::from(sdk)
                // A link for an upload would otherwise demand a checksum of
                // bytes that only the user's client has. What we send ourselves
                // is covered by the signature.
                .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
                .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
                .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).build())
                .force_path_style(endpoint.is_some() || sdk.endpoint_url().is_some());
            builder.set_endpoint_url(endpoint.cloned().or_else(|| sdk.endpoint_url().map(str::to_owned)));
            Client::from_conf(builder.build())
        };
        let endpoint = settings.endpoint.as_ref();
        Self {
            client: client(endpoint),
            links: client(settings.public_endpoint.as_ref().or(endpoint)),
            name: settings.name.clone(),
        }
    }

    /// A link for one upload, of exactly `size_bytes` where they are given. The
    /// store refuses it if there is a file of that key already, so that a file
    /// cannot change after it was verified.
    pub async fn presigned_put(
        &self,
        key: &str,
        content_type: &str,
        size_bytes: Option<u64>,
        good_for: Duration,
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
            .presigned(PresigningConfig::expires_in(good_for).map_err(BucketError::new)?)
            .await
            .map_err(BucketError::new)?;
        let headers = request.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(PresignedPut { headers: headers.collect(), url: request.uri().to_owned() })
    }

    /// A link under which anybody can read a file.
    pub async fn presigned_get(&self, key: &str, good_for: Duration) -> Result<String, BucketError> {
        let request = self
            .links
            .get_object()
            .bucket(&self.name)
            .key(key)
            .presigned(PresigningConfig::expires_in(good_for).map_err(BucketError::new)?)
            .await
            .map_err(BucketError::new)?;
        Ok(request.uri().to_owned())
    }

    /// A file's size and first bytes, in one call; `None` when it is not
    /// there. `first_bytes` is at least 1.
    pub async fn look(&self, key: &str, first_bytes: usize) -> Result<Option<Look>, BucketError> {
        let last = first_bytes.max(1) - 1;
        let object = self.client.get_object().bucket(&self.name).key(key).range(format!("bytes=0-{last}")).send().await;
        let object = match object {
            Ok(object) => object,
            Err(error) if error.as_service_error().is_some_and(GetObjectError::is_no_such_key) => {
                return Ok(None);
            }
            // So the file is empty.
            Err(error) if is_out_of_range(&error) => {
                return Ok(Some(Look { size_bytes: 0, first_bytes: Bytes::new() }));
            }
            Err(error) => return Err(BucketError::new(error)),
        };
        let range = object.content_range().and_then(|it| it.rsplit('/').next()?.parse().ok());
        let size_bytes = range.ok_or_else(|| BucketError(format!("no size of {key}")))?;
        let first_bytes = object.body.collect().await.map_err(BucketError::new)?.into_bytes();
        Ok(Some(Look { size_bytes, first_bytes }))
    }

    /// A file, piece by piece; `None` when it is not there.
    pub async fn open(&self, key: &str) -> Result<Option<Pieces>, BucketError> {
        Box::pin(self.get(key, None)).await
    }

    /// A part of a file, likewise: all of it that there is.
    pub async fn open_range(&self, key: &str, range: Range<u64>) -> Result<Option<Pieces>, BucketError> {
        if range.is_empty() {
            return Ok(Some(futures::stream::empty().boxed()));
        }
        Box::pin(self.get(key, Some(format!("bytes={}-{}", range.start, range.end - 1)))).await
    }

    async fn get(&self, key: &str, range: Option<String>) -> Result<Option<Pieces>, BucketError> {
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

    /// The keys of up to a thousand files that start with this.
    pub async fn list(&self, prefix: &str) -> Result<Vec<String>, BucketError> {
        let listed = self.client.list_objects_v2().bucket(&self.name).prefix(prefix).send().await;
        let objects = listed.map_err(BucketError::new)?.contents.unwrap_or_default();
        Ok(objects.into_iter().filter_map(|it| it.key).collect())
    }

    /// The files whose keys start with `prefix`, from the key `first` on, with their sizes in bytes.
    pub async fn sizes(&self, prefix: &str, first: &str) -> Result<HashMap<String, u64>, BucketError> {
        // The listing starts after a key. This one is just before the first, because keys are ASCII.
        let before = first.get(..first.len().saturating_sub(1)).unwrap_or_default();
        let request = self.client.list_objects_v2().bucket(&self.name).prefix(prefix).start_after(before);
        let mut pages = request.into_paginator().send();
        let mut sizes = HashMap::new();
        while let Some(page) = pages.try_next().await.map_err(BucketError::new)? {
            let files = page.contents.unwrap_or_default().into_iter();
            sizes.extend(files.filter_map(|it| Some((it.key?, u64::try_from(it.size?).ok()?))));
        }
        Ok(sizes)
    }

    /// Deletes a file; one that is not there is as good as deleted.
    pub async fn delete(&self, key: &str) -> Result<(), BucketError> {
        self.client.delete_object().bucket(&self.name).key(key).send().await.map_err(BucketError::new)?;
        Ok(())
    }
}

/// Whether a range has no byte in the file.
fn is_out_of_range(error: &SdkError<GetObjectError>) -> bool {
    error.raw_response().is_some_and(|it| it.status().as_u16() == 416)
}
