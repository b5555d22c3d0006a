//! Reads the files of a post from our bucket for an adapter, and has pictures resized.

use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cloud::bucket::Bucket;
use cloud::pictures::{PictureResult, Pictures};
use domain::id::UserId;
use domain::media::{Attachment, FileType, MediaPath, MimeType, PictureBounds, PictureRequest, PublicFile};
use futures::StreamExt;
use platforms::{FittedPicture, MediaBytes, MediaReadError, MediaReader, Picture};

use crate::FileAddresses;

/// How long a link to the bucket is valid: it is signed with the credentials of a function, which
/// expire after some hours.
const LINK_LIFETIME: Duration = Duration::from_hours(1);

pub(crate) struct Files<'a> {
    pub(crate) bucket: &'a Bucket,
    pub(crate) pictures: &'a dyn Pictures,
    pub(crate) addresses: Option<&'a FileAddresses>,
    pub(crate) user: UserId,
    /// When the URLs begin to be valid.
    pub(crate) now: DateTime<Utc>,
}

impl Files<'_> {
    fn path(&self, attachment: &Attachment) -> MediaPath {
        MediaPath::new(self.user, attachment.media_id, attachment.mime_type)
    }

    fn request(&self, attachment: &Attachment, bounds: PictureBounds) -> PictureRequest {
        PictureRequest { file: self.path(attachment), bounds }
    }

    /// Images need a URL of this service, because Meta refuses object storage without fetching.
    fn service_url(&self, file: PublicFile) -> Result<Option<String>, MediaReadError> {
        match self.addresses {
            Some(addresses) => Ok(addresses.url(file, self.now)),
            None if file.mime_type().file_type() == FileType::Video => Ok(None),
            None => Err(MediaReadError("the file has no public URL because FILE_SECRET is not set".to_owned())),
        }
    }
}

#[async_trait::async_trait]
impl MediaReader for Files<'_> {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaReadError> {
        let opened = self.bucket.open(&self.path(attachment).to_string()).await.map_err(unreadable)?;
        let opened = opened.ok_or_else(gone)?;
        Ok(opened.map(|it| it.map_err(unreadable)).boxed())
    }

    async fn open_range(&self, attachment: &Attachment, range: Range<u64>) -> Result<MediaBytes, MediaReadError> {
        let path = self.path(attachment).to_string();
        let opened = self.bucket.open_range(&path, range).await.map_err(unreadable)?.ok_or_else(gone)?;
        Ok(opened.map(|it| it.map_err(unreadable)).boxed())
    }

    async fn public_url(&self, attachment: &Attachment) -> Result<String, MediaReadError> {
        let path = self.path(attachment);
        match self.service_url(PublicFile::Original(path))? {
            Some(url) => Ok(url),
            None => self.bucket.presigned_get(&path.to_string(), LINK_LIFETIME).await.map_err(unreadable),
        }
    }

    async fn public_picture(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
        made: MimeType,
    ) -> Result<String, MediaReadError> {
        let file = PublicFile::Derived(self.request(attachment, bounds).answered_at(), made);
        self.service_url(file)?.ok_or_else(|| MediaReadError("the file is not an image".to_owned()))
    }

    async fn fitted(
        &self,
        attachment: &Attachment,
        bounds: PictureBounds,
    ) -> Result<Option<FittedPicture>, MediaReadError> {
        let result = self.bucket.picture(&self.request(attachment, bounds)).await.map_err(unreadable)?;
        Ok(result.map(|it| match it {
            PictureResult::Picture { mime_type, bytes } => FittedPicture::Picture(Picture { mime_type, bytes }),
            PictureResult::Refused { reason } => FittedPicture::Refused(reason),
        }))
    }

    async fn ask_to_fit(&self, attachment: &Attachment, bounds: PictureBounds) -> Result<(), MediaReadError> {
        // The pictures function may not list the bucket, so it cannot distinguish a missing file
        // from one that is unreadable now.
        let object = self.bucket.head(&self.path(attachment).to_string(), 1).await.map_err(unreadable)?;
        object.ok_or_else(gone)?;
        self.pictures.request_picture(&self.request(attachment, bounds)).await.map_err(unreadable)
    }
}

fn gone() -> MediaReadError {
    MediaReadError("the file is not in the bucket".to_owned())
}

fn unreadable(error: impl std::fmt::Display) -> MediaReadError {
    MediaReadError(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use chrono::TimeDelta;
    use cloud::queue::QueueError;
    use cloud::testing::TestBucket;
    use domain::media::{DocumentRequest, FileAddress, FileKey};
    use domain::testing::{a_user, an_attachment, noon};
    use futures::stream;

    use super::*;

    #[derive(Default)]
    struct RecordingPictures(Mutex<Vec<PictureRequest>>);

    #[async_trait::async_trait]
    impl Pictures for RecordingPictures {
        async fn request_picture(&self, request: &PictureRequest) -> Result<(), QueueError> {
            self.0.lock().unwrap().push(*request);
            Ok(())
        }

        async fn request_inspection(&self, _: &DocumentRequest) -> Result<(), QueueError> {
            unreachable!("documents are inspected when a post is scheduled")
        }
    }

    const BOUNDS: PictureBounds = PictureBounds::new(100, 10);

    fn files_of<'a>(store: &'a TestBucket, asked: &'a RecordingPictures) -> Files<'a> {
        Files { bucket: &store.bucket, pictures: asked, addresses: None, user: a_user().user_id, now: noon() }
    }

    #[tokio::test]
    async fn picture_is_requested_and_read_only_for_its_owner() {
        let (store, asked, file) = (TestBucket::start().await, RecordingPictures::default(), an_attachment(1));
        let (user, other) = (a_user().user_id, a_user().user_id);
        let files_for = |user| Files { user, ..files_of(&store, &asked) };
        let pieces = stream::iter([Ok::<_, Infallible>("a file".into())]);
        store.bucket.put(&files_for(user).path(&file).to_string(), "image/png", pieces).await.unwrap();
        assert_eq!(files_for(user).fitted(&file, BOUNDS).await.unwrap(), None);

        files_for(user).ask_to_fit(&file, BOUNDS).await.unwrap();
        assert!(files_for(other).ask_to_fit(&file, BOUNDS).await.is_err());

        let request = asked.0.lock().unwrap().clone();
        let [request] = request[..] else { panic!("{request:?}") };
        assert_eq!((request.file, request.bounds), (files_for(user).path(&file), BOUNDS));
        let picture = PictureResult::Picture { mime_type: MimeType::Jpeg, bytes: b"\xFF\xD8\xFF"[..].into() };
        store.bucket.put_picture(&request, picture).await.unwrap();
        let found = files_for(user).fitted(&file, BOUNDS).await.unwrap();
        assert!(matches!(found, Some(FittedPicture::Picture(Picture { mime_type: MimeType::Jpeg, .. }))), "{found:?}");
        assert_eq!(files_for(other).fitted(&file, BOUNDS).await.unwrap(), None);
    }

    #[tokio::test]
    async fn range_of_a_file_is_read() {
        let (store, asked, file) = (TestBucket::start().await, RecordingPictures::default(), an_attachment(1));
        let files = files_of(&store, &asked);
        let pieces = stream::iter([Ok::<_, Infallible>("a file".into())]);
        store.bucket.put(&files.path(&file).to_string(), "image/jpeg", pieces).await.unwrap();

        let part: Vec<_> = files.open_range(&file, 2..90).await.unwrap().map(Result::unwrap).collect().await;
        assert_eq!(part.concat(), b"file");
        assert!(files.open_range(&an_attachment(1), 0..1).await.is_err());
    }

    fn addresses(serves_videos: bool) -> FileAddresses {
        FileAddresses { origin: "https://social.example".to_owned(), key: FileKey::random(), serves_videos }
    }

    fn video() -> Attachment {
        Attachment { mime_type: MimeType::Mp4, ..an_attachment(1) }
    }

    #[tokio::test]
    async fn picture_urls_of_the_service_are_valid_for_a_day() {
        let (store, asked, file, own) =
            (TestBucket::start().await, RecordingPictures::default(), an_attachment(1), addresses(false));
        let files = Files { addresses: Some(&own), ..files_of(&store, &asked) };

        let original = files.public_url(&file).await.unwrap();
        let made = files.public_picture(&file, BOUNDS, MimeType::Jpeg).await.unwrap();

        for (url, key) in
            [(original, files.path(&file).to_string()), (made, files.request(&file, BOUNDS).answered_at().to_string())]
        {
            let path = url.strip_prefix("https://social.example").unwrap();
            let opened = FileAddress::verify(path, &own.key, noon()).unwrap();
            assert_eq!(opened.file.bucket_key(), key);
            assert_eq!(opened.expires_at, noon() + TimeDelta::hours(24));
        }
    }

    #[tokio::test]
    async fn video_gets_a_service_url_or_a_bucket_link() {
        let (store, asked) = (TestBucket::start().await, RecordingPictures::default());
        for (own, serves) in [(None, false), (Some(addresses(false)), false), (Some(addresses(true)), true)] {
            let files = Files { addresses: own.as_ref(), ..files_of(&store, &asked) };

            let url = files.public_url(&video()).await.unwrap();

            assert_eq!(url.starts_with("https://social.example/files/"), serves, "{url}");
            assert_eq!(url.contains("X-Amz-Expires=3600"), !serves, "{url}");
        }
    }

    #[tokio::test]
    async fn picture_has_no_url_without_a_file_secret() {
        let (store, asked, file) = (TestBucket::start().await, RecordingPictures::default(), an_attachment(1));
        let files = files_of(&store, &asked);

        for refused in [files.public_url(&file).await, files.public_picture(&file, BOUNDS, MimeType::Png).await] {
            assert!(refused.unwrap_err().to_string().contains("FILE_SECRET"));
        }
    }

    #[tokio::test]
    async fn missing_file_is_not_requested() {
        let (store, asked) = (TestBucket::start().await, RecordingPictures::default());
        let files = files_of(&store, &asked);

        let gone = files.ask_to_fit(&an_attachment(1), BOUNDS).await;

        assert!(gone.is_err_and(|it| it.to_string().contains("not in the bucket")));
        assert!(asked.0.lock().unwrap().is_empty());
    }
}
