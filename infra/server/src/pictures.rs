//! Resizing of pictures and inspection of documents in this process: a fair queue, as in a deployment,
//! and workers that open one file at a time.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ::pictures::MessageReceipt;
use async_trait::async_trait;
use cloud::bucket::Bucket;
use cloud::pictures::Pictures;
use cloud::queue::QueueError;
use domain::id::UserId;
use domain::media::{DocumentRequest, FileRequest, PictureRequest};
use domain::token::random_hex;
use tokio::sync::Notify;

use crate::s3;

/// A picture needs up to 600 MB for a short time.
const WORKERS: usize = 2;

/// For a request whose worker died. In a deployment, this is the visibility timeout of its message.
const COMES_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Retention of derived files, like the rule of the bucket in `template.yaml`.
pub const KEPT: Duration = Duration::from_hours(3 * 24);

/// A queue that serves first the user who has waited longest since being served.
#[derive(Clone, Default)]
pub(crate) struct LocalPictures {
    waiting: Arc<Mutex<RequestQueue>>,
    arrived: Arc<Notify>,
}

#[derive(Default)]
struct RequestQueue {
    requests: VecDeque<QueuedRequest>,
    /// When each user was last served, as the number of requests until then.
    served: HashMap<UserId, u64>,
    count: u64,
}

#[derive(Clone, Debug)]
struct QueuedRequest {
    request: FileRequest,
    coming: MessageReceipt,
}

impl RequestQueue {
    /// Oldest first, of the user who has waited longest since being served.
    fn take(&mut self) -> Option<QueuedRequest> {
        let last = |it: &QueuedRequest| self.served.get(&it.request.file().user()).copied().unwrap_or_default();
        let (next, _) = self.requests.iter().enumerate().min_by_key(|(_, it)| last(it))?;
        let brought = self.requests.remove(next)?;
        self.count += 1;
        self.served.insert(brought.request.file().user(), self.count);
        if self.requests.is_empty() {
            self.served.clear();
        }
        Some(brought)
    }
}

#[async_trait]
impl Pictures for LocalPictures {
    async fn request_picture(&self, request: &PictureRequest) -> Result<(), QueueError> {
        self.request(FileRequest::Picture(*request));
        Ok(())
    }

    async fn request_inspection(&self, request: &DocumentRequest) -> Result<(), QueueError> {
        self.request(FileRequest::Document(*request));
        Ok(())
    }
}

impl LocalPictures {
    /// The workers run as long as the process.
    pub(crate) fn working(bucket: &Bucket) -> Arc<Self> {
        let all = Arc::new(Self::default());
        for _ in 0..WORKERS {
            let (pictures, bucket) = (Arc::clone(&all), bucket.clone());
            tokio::spawn(async move {
                loop {
                    let brought = pictures.next().await;
                    pictures.respond(&bucket, brought).await;
                }
            });
        }
        all
    }

    async fn respond(&self, bucket: &Bucket, queued: QueuedRequest) {
        let (bucket, mut again) = (bucket.clone(), queued.clone());
        again.coming.received += 1;
        // A separate task, which isolates panics like the separate process in a deployment.
        let result = tokio::spawn(async move { ::pictures::respond(&bucket, &queued.request, &queued.coming).await });
        match result.await {
            Ok(Ok(())) => {}
            // The caller retries.
            Ok(Err(error)) => tracing::error!(%error, "a file could not be opened"),
            Err(error) => {
                tracing::error!(%error, "the task that opens a file panicked");
                let pictures = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(COMES_AGAIN_AFTER).await;
                    pictures.enqueue(again);
                });
            }
        }
    }

    fn request(&self, request: FileRequest) {
        let message = random_hex();
        self.enqueue(QueuedRequest { request, coming: MessageReceipt { message, received: 1 } });
    }

    fn enqueue(&self, queued: QueuedRequest) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).requests.push_back(queued);
        self.arrived.notify_one();
    }

    async fn next(&self) -> QueuedRequest {
        loop {
            let arrived = self.arrived.notified();
            let taken = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
            match taken {
                Some(brought) => {
                    // One notification may have been for several requests that arrived at once.
                    self.arrived.notify_one();
                    return brought;
                }
                None => arrived.await,
            }
        }
    }
}

/// Deletes files that were derived longer than [`KEPT`] ago from the media store in this folder.
pub(crate) fn remove_old(files: &Path, now: SystemTime) -> std::io::Result<()> {
    let derived = files.join(s3::BUCKET).join("derived");
    if !derived.exists() {
        return Ok(());
    }
    for user in std::fs::read_dir(derived)? {
        for file in std::fs::read_dir(user?.path())? {
            let file = file?;
            let written = file.metadata()?.modified()?;
            if now.duration_since(written).is_ok_and(|age| KEPT < age) {
                std::fs::remove_file(file.path())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::media::{MediaPath, PictureBounds};

    use super::*;

    fn request(path: &str) -> PictureRequest {
        let bounds = PictureBounds::new(1, 1);
        PictureRequest { file: MediaPath::parse(path).unwrap(), bounds }
    }

    #[tokio::test]
    async fn users_with_few_pictures_are_served_fairly() {
        let pictures = LocalPictures::default();
        for number in 1..=5 {
            pictures.request_picture(&request(&format!("media/7/{number}.png"))).await.unwrap();
        }
        pictures.next().await;
        pictures.request_picture(&request("media/8/1.png")).await.unwrap();
        pictures.request_picture(&request("media/9/1.png")).await.unwrap();
        pictures.request_picture(&request("media/8/2.png")).await.unwrap();

        let mut served = Vec::new();
        for _ in 0..7 {
            served.push(pictures.next().await.request.file().to_string());
        }
        assert_eq!(served[..4], ["media/8/1.png", "media/9/1.png", "media/7/2.png", "media/8/2.png"]);
        assert_eq!(served[4..], ["media/7/3.png", "media/7/4.png", "media/7/5.png"]);
    }

    #[test]
    fn old_derived_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let derived = folder.path().join(s3::BUCKET).join("derived");
        let (files, now) = (folder.path(), SystemTime::now());
        remove_old(files, now).unwrap();
        std::fs::create_dir_all(derived.join("7")).unwrap();
        std::fs::write(derived.join("7/old"), b"x").unwrap();

        remove_old(files, now + KEPT / 2).unwrap();
        assert!(derived.join("7/old").exists());
        remove_old(files, now + KEPT + Duration::from_mins(1)).unwrap();
        assert!(!derived.join("7/old").exists());
    }
}
