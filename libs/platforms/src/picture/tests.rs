//! Which pictures are requested, and which files are sent unchanged.

use std::io::Cursor;
use std::sync::Mutex;

use bytes::Bytes;
use domain::connection::AccountInfo;
use domain::id::MediaId;
use domain::media::{Borders, MimeType, Ratio};
use domain::options::Options;
use domain::post::SegmentKind;

use domain::testing::noon;
use futures::stream;
use image::{ImageFormat, Rgb, RgbImage};

use super::*;
use crate::account::Credentials;
use crate::publish_request::{MediaBytes, MediaReader};
use crate::recognition::NoOtherClaims;

const BOUNDS: PictureBounds = PictureBounds::new(20_000, 100);

struct Fixture {
    bytes: Vec<u8>,
    bounds: PictureBounds,
    answer: Mutex<Option<FittedPicture>>,
    asked: Mutex<u32>,
}

impl Fixture {
    fn with(bytes: Vec<u8>) -> Self {
        Self { bytes, bounds: BOUNDS, answer: Mutex::default(), asked: Mutex::default() }
    }

    fn asked(&self) -> u32 {
        *self.asked.lock().unwrap()
    }

    /// Looks for this file, so many seconds after noon.
    async fn check(
        &self,
        mime_type: MimeType,
        pending: Option<PendingPicture>,
        seconds: i64,
    ) -> Result<PictureState, AttemptError> {
        let file = self.file(mime_type);
        let (profile, credentials) = an_account();
        let request = request(&profile, &credentials, std::slice::from_ref(&file), self, seconds);
        fitted(&request, &file, self.bounds, pending).await
    }

    fn file(&self, mime_type: MimeType) -> Attachment {
        Attachment {
            media_id: MediaId::new(1).unwrap(),
            mime_type,
            size_bytes: self.bytes.len() as u64,
            alt_text: None,
            facts: None,
        }
    }
}

#[async_trait::async_trait]
impl MediaReader for Fixture {
    async fn open(&self, _: &Attachment) -> Result<MediaBytes, MediaReadError> {
        let pieces: Vec<_> = self.bytes.chunks(70).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
        Ok(stream::iter(pieces).boxed())
    }

    async fn fitted(&self, _: &Attachment, bounds: PictureBounds) -> Result<Option<FittedPicture>, MediaReadError> {
        assert_eq!(bounds, self.bounds);
        Ok(self.answer.lock().unwrap().clone())
    }

    async fn ask_to_fit(&self, _: &Attachment, bounds: PictureBounds) -> Result<(), MediaReadError> {
        assert_eq!(bounds, self.bounds);
        *self.asked.lock().unwrap() += 1;
        Ok(())
    }
}

fn an_account() -> (AccountInfo, Credentials) {
    let profile =
        AccountInfo { account_id: "1".to_owned(), username: None, display_name: None, avatar: None, profile_url: None };
    (profile, Credentials::new("token".into()))
}

fn request<'a>(
    profile: &'a AccountInfo,
    credentials: &'a Credentials,
    media: &'a [Attachment],
    files: &'a Fixture,
    seconds: i64,
) -> PublishRequest<'a> {
    PublishRequest {
        profile,
        credentials,
        segment: SegmentKind::Post,
        reply_to: None,
        text: "",
        media,
        options: Options::NONE,
        reference: "1",
        progress: None,
        may_have_published: false,
        lost_window: None,
        publish_at: noon() + TimeDelta::minutes(2),
        called_at: noon(),
        files,
        claims: &NoOtherClaims,
        now: noon() + TimeDelta::seconds(seconds),
    }
}

fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    RgbImage::from_pixel(width, height, Rgb([9, 99, 199])).write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

#[tokio::test]
async fn fitting_picture_without_metadata_is_sent_unchanged() {
    for (mime, format) in [(MimeType::Png, ImageFormat::Png), (MimeType::Jpeg, ImageFormat::Jpeg)] {
        let fixture = Fixture::with(picture(100, 60, format));

        let Ok(PictureState::Ready((passed, size))) = fixture.check(mime, None, 0).await else { panic!("{mime:?}") };

        assert_eq!((passed.mime_type, &passed.bytes[..], size), (mime, &fixture.bytes[..], (100, 60)));
        assert_eq!(fixture.asked(), 0);
    }
}

#[tokio::test]
async fn large_picture_or_metadata_requests_a_fitted_one() {
    let exif = b"\xFF\xE1\0\x10Exif\0\0MM\0\x2A\0\0\0\x08";
    let plain = picture(10, 10, ImageFormat::Jpeg);
    let with_metadata = [&plain[..2], &exif[..], &plain[2..]].concat();
    let broken = picture(10, 10, ImageFormat::Png)[..60].to_vec();
    for (mime, bytes) in [
        (MimeType::Png, picture(101, 60, ImageFormat::Png)),
        (MimeType::Png, [picture(10, 10, ImageFormat::Png), vec![0; 20_000]].concat()),
        (MimeType::Jpeg, with_metadata),
        (MimeType::Png, broken),
        (MimeType::Webp, picture(10, 10, ImageFormat::WebP)),
    ] {
        let fixture = Fixture::with(bytes);
        assert!(matches!(fixture.check(mime, None, 0).await, Ok(PictureState::Again(..))), "{mime:?}");
        assert_eq!(fixture.asked(), 1, "{mime:?}");
    }
}

#[tokio::test]
async fn other_format_or_ratio_requests_a_fitted_picture() {
    let square = Borders { min: Ratio::hundredths(100), max: Ratio::hundredths(100) };
    for (format, mime, width, bounds, is_requested) in [
        (ImageFormat::Jpeg, MimeType::Jpeg, 10, BOUNDS.jpeg(), false),
        (ImageFormat::Png, MimeType::Png, 10, BOUNDS.jpeg(), true),
        (ImageFormat::Png, MimeType::Png, 10, BOUNDS.with_borders(square), false),
        (ImageFormat::Png, MimeType::Png, 11, BOUNDS.with_borders(square), true),
    ] {
        let fixture = Fixture { bounds, ..Fixture::with(picture(width, 10, format)) };
        let looked = fixture.check(mime, None, 0).await.unwrap();
        assert_eq!(matches!(looked, PictureState::Again(..)), is_requested, "{mime:?} {width} {bounds:?}");
    }
}

#[tokio::test]
async fn picture_is_polled_less_often_and_requested_again_late() {
    let fixture = Fixture::with(picture(10, 10, ImageFormat::WebP));
    let (mut pending, mut seconds, mut waits) = (None, 0, Vec::new());
    while seconds < 6 * 60 {
        let Ok(PictureState::Again(next, at)) = fixture.check(MimeType::Webp, pending, seconds).await else { panic!() };
        let stored = serde_json::to_string(&next).unwrap();
        pending = Some(serde_json::from_str(&stored).unwrap());
        let wait = (at - noon()).num_seconds() - seconds;
        waits.push(wait);
        seconds += wait;
        assert_eq!(fixture.asked(), if seconds - wait < 5 * 60 { 1 } else { 2 }, "{seconds}");
    }
    assert_eq!(waits[..6], [1, 1, 1, 1, 2, 3]);
    assert_eq!(waits.last(), Some(&30));

    let made = Picture { mime_type: MimeType::Png, bytes: picture(10, 10, ImageFormat::Png).into() };
    *fixture.answer.lock().unwrap() = Some(FittedPicture::Picture(made.clone()));
    let Ok(PictureState::Ready((found, size))) = fixture.check(MimeType::Webp, pending, seconds).await else {
        panic!()
    };
    assert_eq!((found, size), (made, (10, 10)));
}

#[tokio::test]
async fn refusal_names_the_file() {
    let fixture = Fixture::with(picture(10, 10, ImageFormat::WebP));
    *fixture.answer.lock().unwrap() = Some(FittedPicture::Refused("the file is damaged".to_owned()));
    let refused = fixture.check(MimeType::Webp, None, 0).await.err();
    let reason = "file 1 of 1 (image/webp): the file is damaged".to_owned();
    assert_eq!(refused, Some(AttemptError::Refused { reason }));
}

#[tokio::test]
async fn picture_header_states_its_size() {
    for (bytes, expected) in [
        (picture(101, 10, ImageFormat::Png), true),
        (picture(100, 10, ImageFormat::Png), false),
        (b"no picture".to_vec(), false),
        (vec![0; 200_000], false),
    ] {
        let fixture = Fixture::with(bytes);
        let file = fixture.file(MimeType::Png);
        let (profile, credentials) = an_account();
        let request = request(&profile, &credentials, std::slice::from_ref(&file), &fixture, 0);
        assert_eq!(is_longer(&request, &file, 100).await, Ok(expected));
    }
}
