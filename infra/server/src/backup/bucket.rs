//! A backup in an S3 bucket, uploaded while it is written.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::str::FromStr;

use bytes::Bytes;
use cloud::aws;
use cloud::bucket::{Bucket, BucketConfig};
use domain::clock::Clock;
use futures::stream;
use tokio::sync::mpsc;

use super::{back_up, file_name};
use crate::error::ServerError;
use crate::sealing_key::SealingKey;

const CHUNK_BYTES: usize = 1024 * 1024;

/// `s3://BUCKET` or `s3://BUCKET/PREFIX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketTarget {
    bucket: String,
    /// Empty, or with a slash at its end.
    prefix: String,
}

impl FromStr for BucketTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.strip_prefix("s3://").ok_or("does not begin with s3://")?;
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if bucket.is_empty() {
            return Err("has no bucket".to_owned());
        }
        let prefix = prefix.trim_end_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Self { bucket: bucket.to_owned(), prefix })
    }
}

/// Uses the credentials of `AWS_ACCESS_KEY_ID`, and returns the URL of the backup. An upload that
/// fails leaves no object.
pub async fn back_up_to_bucket(
    data: &Path,
    key: SealingKey,
    target: &BucketTarget,
    clock: &Clock,
) -> Result<String, ServerError> {
    let BucketTarget { bucket, prefix } = target;
    let object = format!("{prefix}{}", file_name(clock));
    let url = format!("s3://{bucket}/{object}");
    let config = BucketConfig { name: bucket.clone(), ..BucketConfig::default() };
    let bucket = Bucket::new(&aws::config()?, &config);
    let (sender, receiver) = mpsc::channel(4);
    let (data, clock) = (data.to_owned(), clock.clone());
    let writing = tokio::task::spawn_blocking(move || {
        let output = BufWriter::with_capacity(CHUNK_BYTES, ChunkWriter(sender.clone()));
        let written = back_up(&data, &key, output, &clock).and_then(|mut output| Ok(output.flush()?));
        if written.is_err() {
            // Aborts the upload. If that has failed already, there is nothing to abort.
            let _ = sender.blocking_send(Err(std::io::Error::other("the backup failed")));
        }
        written
    });
    let chunks = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    let uploaded = bucket.put(&object, "application/octet-stream", chunks).await;
    let written = match writing.await {
        Ok(written) => written,
        // The upload ended as if the backup were complete.
        Err(panicked) => {
            bucket.delete(&object).await.map_err(|source| ServerError::Upload { url, source })?;
            return Err(std::io::Error::other(panicked).into());
        }
    };
    // The cause: a failed upload ends the writer, too.
    if let Err(cloud::bucket::PutError::Bucket(source)) = uploaded {
        return Err(ServerError::Upload { url, source });
    }
    written.map(|()| url)
}

struct ChunkWriter(mpsc::Sender<std::io::Result<Bytes>>);

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let ended = |_| std::io::Error::other("the upload has failed");
        self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes))).map_err(ended)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_ends_with_a_slash() {
        let parsed = |text: &str| text.parse::<BucketTarget>().map(|it| (it.bucket, it.prefix));
        assert_eq!(parsed("s3://backups"), Ok(("backups".to_owned(), String::new())));
        assert_eq!(parsed("s3://backups/social/"), Ok(("backups".to_owned(), "social/".to_owned())));
        assert!(parsed("s3:///social").is_err());
        assert!(parsed("backups").is_err());
    }
}
