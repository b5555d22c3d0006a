use domain::connection::AccountInfo;
use domain::id::MediaId;
use domain::media::{MimeType, PictureBounds};
use domain::options::Options;
use domain::post::SegmentKind;
use domain::testing::noon;
use egress::AddressPolicy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::account::Credentials;
use crate::publish_request::{FittedPicture, MediaBytes, MediaReadError, MediaReader};
use crate::recognition::NoOtherClaims;

struct FilesAtUrl(Option<String>);

#[async_trait::async_trait]
impl MediaReader for FilesAtUrl {
    async fn open(&self, _: &Attachment) -> Result<MediaBytes, MediaReadError> {
        Err(MediaReadError("nobody reads it".to_owned()))
    }

    async fn public_url(&self, _: &Attachment) -> Result<String, MediaReadError> {
        self.0.clone().ok_or_else(|| MediaReadError("the bucket is not to be had".to_owned()))
    }

    async fn fitted(&self, _: &Attachment, _: PictureBounds) -> Result<Option<FittedPicture>, MediaReadError> {
        Ok(None)
    }

    async fn ask_to_fit(&self, _: &Attachment, _: PictureBounds) -> Result<(), MediaReadError> {
        Ok(())
    }
}

async fn check_file(url: Option<String>) -> Result<String, AttemptError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let media_id = MediaId::new(1).unwrap();
    let file = Attachment { media_id, mime_type: MimeType::Mp4, size_bytes: 9, alt_text: None, facts: None };
    let profile =
        AccountInfo { account_id: "1".to_owned(), username: None, display_name: None, avatar: None, profile_url: None };
    let (credentials, files) = (Credentials::new("token".into()), FilesAtUrl(url));
    let request = PublishRequest {
        profile: &profile,
        credentials: &credentials,
        segment: SegmentKind::Post,
        reply_to: None,
        text: "",
        media: std::slice::from_ref(&file),
        options: Options::NONE,
        reference: "1",
        progress: None,
        may_have_published: false,
        lost_window: None,
        publish_at: noon(),
        called_at: noon(),
        files: &files,
        claims: &NoOtherClaims,
        now: noon(),
    };
    address(&HttpClients::new(AddressPolicy::PublicOnly), &request, &file).await
}

/// The URL of a server that sends this response once.
async fn serve_once(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        let request_head = String::from_utf8_lossy(&request).to_ascii_lowercase();
        assert!(
            request_head.starts_with("get ") && request_head.contains("range: bytes=0-0"),
            "one byte is enough: {request_head}"
        );
        assert!(!request_head.contains("authorization"), "anybody may read it: {request_head}");
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
        stream.write_all(response.as_bytes()).await.unwrap();
    });
    format!("http://{address}/files/A-MAC/1790000000/7/42.mp4")
}

#[tokio::test]
async fn readable_url_is_passed_to_meta() {
    for status in ["200 OK", "206 Partial Content"] {
        let url = serve_once(status).await;
        assert_eq!(check_file(Some(url.clone())).await, Ok(url));
    }
}

/// It is retried, because the operator may correct it.
#[tokio::test]
async fn unreadable_url_is_not_passed_to_meta_and_its_mac_not_shown() {
    for status in ["403 Forbidden", "404 Not Found", "302 Found"] {
        let error = check_file(Some(serve_once(status).await)).await.unwrap_err();
        let AttemptError::RetryLater { retry_at: None, reason } = &error else { panic!("{error:?}") };
        for part in ["file 1 of 1 (video/mp4)", "127.0.0.1", "operator", &status[..3]] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
        assert!(!reason.contains("A-MAC"), "{reason}");
    }
    let error = check_file(Some("http://127.0.0.1:1/film.mp4".to_owned())).await.unwrap_err();
    assert!(
        matches!(&error, AttemptError::RetryLater { reason, .. } if reason.contains("could not be reached")),
        "{error:?}"
    );
}

#[tokio::test]
async fn file_without_url_waits() {
    let error = check_file(None).await.unwrap_err();
    let expected =
        "file 1 of 1 (video/mp4): the file has no public URL: the file could not be read: the bucket is not to be had";
    assert_eq!(error, AttemptError::RetryLater { retry_at: None, reason: expected.to_owned() });
}
