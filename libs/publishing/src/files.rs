//! The files of a post, read from our bucket for an adapter, and pictures that
//! are made of them.

use std::ops::Range;
use std::time::Duration;

use cloud::bucket::Bucket;
use cloud::pictures::{Answer, Pictures};
use domain::id::UserId;
use domain::media::{Attachment, MediaPath, PictureBounds, PictureRequest};
use futures::StreamExt;
use platforms::{Fitted, LONGEST_PUBLIC, MediaBytes, MediaReader, MediaUnreadable, Picture};

pub(crate) struct Files<'a> {
    pub(crate) bucket: &'a Bucket,
    pub(crate) pictures: &'a dyn Pictures,
    pub(crate) user: UserId,
}

impl Files<'_> {
    fn path(&self, attachment: &Attachment) -> MediaPath {
        MediaPath::new(self.user, attachment.media_id, attachment.mime_type)
    }

    fn request(&self, attachment: &Attachment, bounds: PictureBounds) -> PictureRequest {
        PictureRequest { file: self.path(attachment), bounds }
    }
}

#[async_trait::async_trait]
impl MediaReader for Files<'_> {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaUnreadable> {
        let opened = self.bucket.open(&self.path(attachment).to_string()).await.map_err(unreadable)?;
        let opened = opened.ok_or_else(gone)?;
        Ok(opened.map(|it| it.map_err(unreadable)).boxed())
    }

    async fn open_range(&self, attachment: &Attachment, range: Range<u64>) -> Result<MediaBytes, MediaUnreadable> {
        let path = self.path(attachment).to_string();
        let opened = self.bucket.open_range(&path, range).await.map_err(unreadable)?.ok_or_else(gone)?;
        Ok(opened.map(|it| it.map_err(unreadable)).boxed())
    }

    async fn public_url(&self, attachment: &Attachment, lives: Duration) -> Result<String, MediaUnreadable> {
        let path = self.path(attachment).to_string();
        self.bucket.presigned_get(&path, lives.min(LONGEST_PUBLIC)).await.map_err(unreadable)
    }

    async fn public_picture(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
        lives: Duration,
    ) -> Result<String, MediaUnreadable> {
        let place = self.request(attachment, bounds).answered_at().to_string();
        self.bucket.presigned_get(&place, lives.min(LONGEST_PUBLIC)).await.map_err(unreadable)
    }

    async fn fitted(&self, attachment: &Attachment, bounds: PictureBounds) -> Result<Option<Fitted>, MediaUnreadable> {
        let answer = self.bucket.picture(&self.request(attachment, bounds)).await.map_err(unreadable)?;
        Ok(answer.map(|it| match it {
            Answer::Picture { mime_type, bytes } => Fitted::Picture(Picture { mime_type, bytes }),
            Answer::Refused { reason } => Fitted::Refused(reason),
        }))
    }

    async fn ask_to_fit(&self, attachment: &Attachment, bounds: PictureBounds) -> Result<(), MediaUnreadable> {
        // Whoever makes pictures may not list the bucket, and cannot tell a file
        // that is gone from one that cannot be read just now.
        let look = self.bucket.look(&self.path(attachment).to_string(), 1).await.map_err(unreadable)?;
        look.ok_or_else(gone)?;
        self.pictures.ask(&self.request(attachment, bounds)).await.map_err(unreadable)
    }
}

fn gone() -> MediaUnreadable {
    MediaUnreadable("it is not in the bucket".to_owned())
}

fn unreadable(error: impl std::fmt::Display) -> MediaUnreadable {
    MediaUnreadable(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use cloud::queue::QueueError;
    use cloud::testing::TestBucket;
    use domain::media::MimeType;
    use domain::testing::{a_user, an_attachment};
    use futures::stream;

    use super::*;

    /// What was asked for.
    #[derive(Default)]
    struct Asked(Mutex<Vec<PictureRequest>>);

    #[async_trait::async_trait]
    impl Pictures for Asked {
        async fn ask(&self, request: &PictureRequest) -> Result<(), QueueError> {
            self.0.lock().unwrap().push(*request);
            Ok(())
        }
    }

    const BOUNDS: PictureBounds = PictureBounds::new(100, 10);

    #[tokio::test]
    async fn a_picture_is_asked_for_and_found_by_its_owner_alone() {
        let (store, asked, file) = (TestBucket::start().await, Asked::default(), an_attachment(1));
        let (user, other) = (a_user().user_id, a_user().user_id);
        let of = |user| Files { bucket: &store.bucket, pictures: &asked, user };
        let pieces = stream::iter([Ok::<_, Infallible>("a file".into())]);
        store.bucket.put(&of(user).path(&file).to_string(), "image/png", pieces).await.unwrap();
        assert_eq!(of(user).fitted(&file, BOUNDS).await.unwrap(), None);

        of(user).ask_to_fit(&file, BOUNDS).await.unwrap();
        assert!(of(other).ask_to_fit(&file, BOUNDS).await.is_err());

        let request = asked.0.lock().unwrap().clone();
        let [request] = request[..] else { panic!("{request:?}") };
        assert_eq!((request.file, request.bounds), (of(user).path(&file), BOUNDS));
        let picture = Answer::Picture { mime_type: MimeType::Jpeg, bytes: b"\xFF\xD8\xFF"[..].into() };
        store.bucket.put_picture(&request, picture).await.unwrap();
        let found = of(user).fitted(&file, BOUNDS).await.unwrap();
        assert!(matches!(found, Some(Fitted::Picture(Picture { mime_type: MimeType::Jpeg, .. }))), "{found:?}");
        assert_eq!(of(other).fitted(&file, BOUNDS).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_part_of_a_file_is_read_and_its_public_address_ends_soon() {
        let (store, asked, file) = (TestBucket::start().await, Asked::default(), an_attachment(1));
        let files = Files { bucket: &store.bucket, pictures: &asked, user: a_user().user_id };
        let pieces = stream::iter([Ok::<_, Infallible>("a file".into())]);
        store.bucket.put(&files.path(&file).to_string(), "image/jpeg", pieces).await.unwrap();

        let part: Vec<_> = files.open_range(&file, 2..90).await.unwrap().map(Result::unwrap).collect().await;
        assert_eq!(part.concat(), b"file");

        let url = files.public_url(&file, Duration::from_hours(24)).await.unwrap();
        assert!(url.contains("X-Amz-Expires=3600"), "{url}");
        assert!(files.open_range(&an_attachment(1), 0..1).await.is_err());
    }

    #[tokio::test]
    async fn a_file_that_is_gone_is_not_asked_for() {
        let (store, asked) = (TestBucket::start().await, Asked::default());
        let files = Files { bucket: &store.bucket, pictures: &asked, user: a_user().user_id };

        let gone = files.ask_to_fit(&an_attachment(1), BOUNDS).await;

        assert!(gone.is_err_and(|it| it.to_string().contains("not in the bucket")));
        assert!(asked.0.lock().unwrap().is_empty());
    }
}
