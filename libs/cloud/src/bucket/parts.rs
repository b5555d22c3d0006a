//! Uploads of files whose length is unknown, with at most two parts in memory.

use std::future::ready;
use std::pin::pin;

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use bytes::{Bytes, BytesMut};
use futures::stream::{self, Stream, StreamExt, TryStreamExt};

use super::{Bucket, BucketError};

/// Size of a part; the last may be smaller. S3 requires at least 5 MiB and at most 10,000 parts.
const PART_BYTES: usize = 8 << 20;

/// Parts in memory: one is sent while the next is filled.
const PARTS_AT_ONCE: usize = 2;

#[derive(Debug, thiserror::Error)]
pub enum PutError<E> {
    #[error("source of the file: {0}")]
    Source(E),
    #[error(transparent)]
    Bucket(#[from] BucketError),
}

impl Bucket {
    /// Returns the size in bytes. After an error, nothing is left in the bucket, unless aborting
    /// the upload failed too.
    pub async fn put<E: Send>(
        &self,
        key: &str,
        content_type: &str,
        bytes: impl Stream<Item = Result<Bytes, E>> + Send,
    ) -> Result<u64, PutError<E>> {
        let mut parts = pin!(into_parts(bytes).map_err(PutError::Source));
        let first = parts.try_next().await?.unwrap_or_default();
        if first.len() < PART_BYTES {
            return Ok(self.put_whole(key, content_type, first).await?);
        }
        let id = self.begin(key, content_type).await?;
        let upload = Upload { bucket: self.clone(), key: key.to_owned(), id };
        let parts = stream::once(ready(Ok(first))).chain(parts);
        match upload.send(parts).await {
            Ok(size_bytes) => Ok(size_bytes),
            Err(error) => {
                upload.abort().await;
                Err(error)
            }
        }
    }

    /// Returns the number of bytes.
    pub async fn put_whole(&self, key: &str, content_type: &str, bytes: Bytes) -> Result<u64, BucketError> {
        let size_bytes = bytes.len() as u64;
        let request = self.client.put_object().bucket(&self.name).key(key).content_type(content_type);
        request.body(ByteStream::from(bytes)).send().await.map_err(BucketError::new)?;
        Ok(size_bytes)
    }

    async fn begin(&self, key: &str, content_type: &str) -> Result<String, BucketError> {
        let request = self.client.create_multipart_upload().bucket(&self.name).key(key).content_type(content_type);
        let created = request.send().await.map_err(BucketError::new)?;
        created.upload_id.ok_or_else(|| BucketError("upload without an id".to_owned()))
    }
}

#[derive(Clone)]
struct Upload {
    bucket: Bucket,
    key: String,
    id: String,
}

impl Upload {
    async fn send<E: Send>(
        &self,
        parts: impl Stream<Item = Result<Bytes, PutError<E>>> + Send,
    ) -> Result<u64, PutError<E>> {
        let sending = parts.zip(stream::iter(1..)).map(|(part, number)| {
            // A clone, because the compiler cannot infer the lifetime of a borrow in the stream.
            let upload = self.clone();
            async move { upload.send_part(number, part?).await.map_err(PutError::Bucket) }
        });
        let mut sent = pin!(sending.buffered(PARTS_AT_ONCE));
        let mut size_bytes = 0;
        let mut completed = CompletedMultipartUpload::builder();
        while let Some((part, part_bytes)) = sent.try_next().await? {
            completed = completed.parts(part);
            size_bytes += part_bytes;
        }
        let client = &self.bucket.client;
        let request = client.complete_multipart_upload().bucket(&self.bucket.name).key(&self.key);
        let request = request.upload_id(&self.id).multipart_upload(completed.build());
        request.send().await.map_err(BucketError::new)?;
        Ok(size_bytes)
    }

    async fn send_part(self, number: i32, bytes: Bytes) -> Result<(CompletedPart, u64), BucketError> {
        let part_bytes = bytes.len() as u64;
        let request = self.bucket.client.upload_part().bucket(&self.bucket.name).key(&self.key);
        let request = request.upload_id(&self.id).part_number(number).body(ByteStream::from(bytes));
        let sent = request.send().await.map_err(BucketError::new)?;
        Ok((CompletedPart::builder().part_number(number).set_e_tag(sent.e_tag).build(), part_bytes))
    }

    /// Removes the parts, which cost money while they exist. If this fails, the bucket's
    /// lifecycle rule removes them later.
    async fn abort(&self) {
        let request = self.bucket.client.abort_multipart_upload().bucket(&self.bucket.name).key(&self.key);
        if let Err(error) = request.upload_id(&self.id).send().await {
            let error = BucketError::new(error);
            tracing::warn!(%error, "upload not aborted; its parts are left in the bucket");
        }
    }
}

/// Each part has [`PART_BYTES`]; the last may be shorter.
fn into_parts<E>(bytes: impl Stream<Item = Result<Bytes, E>> + Send) -> impl Stream<Item = Result<Bytes, E>> + Send
where
    E: Send,
{
    stream::try_unfold((Box::pin(bytes), BytesMut::new()), |(mut bytes, mut part)| async move {
        while part.len() < PART_BYTES {
            match bytes.try_next().await? {
                Some(chunk) => part.extend_from_slice(&chunk),
                None if part.is_empty() => return Ok(None),
                None => return Ok(Some((part.freeze(), (bytes, BytesMut::new())))),
            }
        }
        let rest = part.split_off(PART_BYTES);
        Ok(Some((part.freeze(), (bytes, rest))))
    })
}
