//! The files of a post in the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use domain::id::MediaId;
use domain::media::{Attachment, MimeType, PictureBounds};
use futures::{StreamExt, stream};
use platforms::{FittedPicture, MediaBytes, MediaReadError, MediaReader};
use tokio::sync::OnceCell;

use super::public_files::PublicFiles;
use crate::conformance::samples::{self, Sample};

pub struct TestFiles {
    files: BTreeMap<MediaId, Vec<u8>>,
    /// Files of which a fitted picture was requested.
    requested: Mutex<BTreeSet<MediaId>>,
    open: Arc<OpenCount>,
    /// Where platforms that fetch files find them.
    public: OnceCell<PublicFiles>,
    tunnel: Tunnel,
}

/// How platforms reach the server of the files.
#[derive(Clone, Debug, Default)]
pub struct Tunnel {
    /// Where the server listens on loopback; 0 takes a free port.
    pub port: u16,
    /// The public URL that leads to this port; `None` where the platform is on this machine.
    pub url: Option<String>,
}

#[derive(Default)]
struct OpenCount {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct OpenGuard(Arc<OpenCount>);

impl OpenGuard {
    fn one_of(open: &Arc<OpenCount>) -> Self {
        let now = open.now.fetch_add(1, Ordering::SeqCst) + 1;
        open.most.fetch_max(now, Ordering::SeqCst);
        Self(Arc::clone(open))
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl TestFiles {
    pub fn new(media: &[Sample], tunnel: Tunnel) -> Self {
        let files = media.iter().map(|it| (it.attachment.media_id, it.bytes.clone())).collect();
        Self { files, requested: Mutex::default(), open: Arc::default(), public: OnceCell::new(), tunnel }
    }

    pub(super) fn max_open(&self) -> usize {
        self.open.most.load(Ordering::SeqCst)
    }

    async fn publish(&self, mime_type: MimeType, bytes: impl Into<Bytes>) -> String {
        let public = self.public.get_or_init(|| PublicFiles::start(self.tunnel.port)).await;
        public.add(self.tunnel.url.as_deref(), mime_type, bytes)
    }

    fn file(&self, attachment: &Attachment) -> Result<&Vec<u8>, MediaReadError> {
        self.files.get(&attachment.media_id).ok_or_else(|| MediaReadError("it is not there".to_owned()))
    }
}

#[async_trait]
impl MediaReader for TestFiles {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaReadError> {
        // In pieces, like from a bucket.
        let pieces: Vec<_> = self.file(attachment)?.chunks(700).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
        let opened = OpenGuard::one_of(&self.open);
        let is_open = move |it| {
            let _ = &opened;
            it
        };
        Ok(stream::iter(pieces).map(is_open).boxed())
    }

    async fn public_url(&self, attachment: &Attachment) -> Result<String, MediaReadError> {
        Ok(self.publish(attachment.mime_type, self.file(attachment)?.clone()).await)
    }

    async fn public_picture(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
        made: MimeType,
    ) -> Result<String, MediaReadError> {
        match self.fitted(attachment, bounds).await? {
            Some(FittedPicture::Picture(it)) if it.mime_type == made => Ok(self.publish(it.mime_type, it.bytes).await),
            _ => Err(MediaReadError("there is no such picture".to_owned())),
        }
    }

    async fn fitted(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
    ) -> Result<Option<FittedPicture>, MediaReadError> {
        let is_requested = self.requested.lock().unwrap().contains(&attachment.media_id);
        Ok(if is_requested { Some(samples::fitted(self.file(attachment)?, bounds)) } else { None })
    }

    async fn ask_to_fit(&self, attachment: &Attachment, _: PictureBounds) -> Result<(), MediaReadError> {
        self.requested.lock().unwrap().insert(attachment.media_id);
        Ok(())
    }
}
