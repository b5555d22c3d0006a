//! The files of a post, read from our bucket for an adapter.

use cloud::bucket::Bucket;
use domain::id::UserId;
use domain::media::{Attachment, MediaPath};
use futures::StreamExt;
use platforms::{MediaBytes, MediaReader, MediaUnreadable};

pub(crate) struct Files<'a> {
    pub(crate) bucket: &'a Bucket,
    pub(crate) user: UserId,
}

#[async_trait::async_trait]
impl MediaReader for Files<'_> {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaUnreadable> {
        let path = MediaPath::new(self.user, attachment.media_id, attachment.mime_type);
        let unreadable = |it: &dyn std::fmt::Display| MediaUnreadable(it.to_string());
        let opened = self.bucket.open(&path.to_string()).await.map_err(|it| unreadable(&it))?;
        let opened = opened.ok_or_else(|| MediaUnreadable("it is not in the bucket".to_owned()))?;
        Ok(opened.map(move |it| it.map_err(|it| unreadable(&it))).boxed())
    }
}
