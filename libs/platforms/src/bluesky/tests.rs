//! Tests with a fake server that returns unusual responses.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::{get, post};
use chrono::TimeDelta;
use domain::connection::AccountInfo;
use domain::id::MediaId;
use domain::media::{Attachment, MimeType, PictureBounds};
use domain::options::Options;
use domain::post::SegmentKind;
use domain::testing::noon;
use domain::token::Pkce;
use egress::AddressPolicy;
use futures::{StreamExt, stream};
use http::StatusCode;
use secrecy::SecretString;
use serde_json::{Value, from_value, json};
use tokio::net::TcpListener;

use super::client::{Client, ScopeSet};
use super::oauth::Page;
use super::signing_key::SigningKey;
use super::*;
use crate::publish_request::{FittedPicture, MediaBytes, MediaReadError, MediaReader};

const DID: &str = "did:plc:ewvi7nxzyoun6zhxrhs64oiz";

struct Fixture {
    http: HttpClients,
    nonces: Nonces,
    session: Session,
    token: SecretString,
}

impl Fixture {
    async fn new(server: Router) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, server).await });
        let pds = Url::parse(&format!("http://{address}")).unwrap();
        let session = Session { did: DID.parse().unwrap(), pds, kind: Kind::AppPassword };
        let http = HttpClients::new(AddressPolicy::Also(vec![address]));
        Self { http, nonces: Nonces::default(), session, token: "token".into() }
    }

    fn pds(&self) -> Pds<'_> {
        Pds { http: &self.http, nonces: &self.nonces, session: &self.session, token: &self.token, now: noon() }
    }

    async fn step(
        &self,
        text: &str,
        media: &[Attachment],
        files: &CountingMediaReader,
        before: TimeDelta,
    ) -> Result<Step, AttemptError> {
        // A port without a listener.
        let nowhere = Url::parse(&format!("http://{}", SocketAddr::from(([127, 0, 0, 1], 1)))).unwrap();
        let directory = Directory::new(&self.http, &nowhere, &nowhere);
        let profile = AccountInfo {
            account_id: DID.to_owned(),
            username: None,
            display_name: None,
            avatar: None,
            profile_url: None,
        };
        let credentials = Credentials::new(self.token.clone());
        let request = PublishRequest {
            profile: &profile,
            credentials: &credentials,
            segment: SegmentKind::Post,
            reply_to: None,
            text,
            media,
            options: Options::NONE,
            reference: "1",
            progress: None,
            may_have_published: false,
            lost_window: None,
            publish_at: noon() + before,
            called_at: noon(),
            files,
            claims: &crate::recognition::NoOtherClaims,
            now: noon(),
        };
        let preparation = Preparation { directory: &directory, pds: self.pds(), video_service: None };
        preparation.step(&request).await
    }
}

#[derive(Default)]
struct CountingMediaReader(AtomicUsize);

#[async_trait::async_trait]
impl MediaReader for CountingMediaReader {
    async fn open(&self, _: &Attachment) -> Result<MediaBytes, MediaReadError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(stream::iter([Ok(bytes::Bytes::from_static(b"x"))]).boxed())
    }

    async fn fitted(&self, _: &Attachment, _: PictureBounds) -> Result<Option<FittedPicture>, MediaReadError> {
        Ok(Some(FittedPicture::Refused("one byte is no picture".to_owned())))
    }

    async fn ask_to_fit(&self, _: &Attachment, _: PictureBounds) -> Result<(), MediaReadError> {
        Ok(())
    }
}

fn file(mime_type: MimeType) -> Attachment {
    Attachment { media_id: MediaId::new(1).unwrap(), mime_type, size_bytes: 1, alt_text: None, facts: None }
}

#[tokio::test]
async fn failed_mention_look_up_does_not_delay_the_post() {
    let fixture = Fixture::new(Router::new()).await;
    let early =
        fixture.step("Hi @alice.test", &[], &CountingMediaReader::default(), TimeDelta::seconds(40)).await.unwrap_err();
    assert!(matches!(&early, AttemptError::RetryLater { reason, .. } if reason.contains("@alice.test")), "{early:?}");

    let late =
        fixture.step("Hi @alice.test", &[], &CountingMediaReader::default(), TimeDelta::seconds(20)).await.unwrap();

    let Step::Ready { progress: Some(progress) } = late else { panic!("{late:?}") };
    assert!(progress.contains("Hi @alice.test") && !progress.contains("facets"), "{progress}");
}

#[tokio::test]
async fn refused_picture_is_named_by_its_position() {
    let fixture = Fixture::new(Router::new()).await;
    let step = fixture.step("", &[file(MimeType::Png)], &CountingMediaReader::default(), TimeDelta::minutes(2)).await;
    let refused = "file 1 of 1 (image/png): one byte is no picture".to_owned();
    assert_eq!(step, Err(AttemptError::Refused { reason: refused }));
}

#[tokio::test]
async fn unreachable_server_receives_no_file() {
    let answered = || async { (StatusCode::SERVICE_UNAVAILABLE, r#"{"error":"NotEnoughResources"}"#) };
    let server = Router::new().route("/xrpc/com.atproto.server.getSession", get(answered));
    let files = CountingMediaReader::default();
    let attempt_error =
        Fixture::new(server).await.step("", &[file(MimeType::Mp4)], &files, TimeDelta::minutes(2)).await;
    assert!(matches!(attempt_error, Err(AttemptError::RetryLater { .. })), "{attempt_error:?}");
    assert_eq!(files.0.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn published_post_has_the_uri_of_its_record() {
    for (uri_in_response, is_taken) in [
        (format!("at://{DID}/app.bsky.feed.post/3kabc"), true),
        (format!("at://{DID}/app.bsky.feed.post/another"), false),
        ("x".repeat(100_000), false),
    ] {
        let response = json!({"uri": uri_in_response, "cid": "bafyrei"}).to_string();
        let server = Router::new().route("/xrpc/com.atproto.repo.putRecord", post(|| async { response }));
        let fixture = Fixture::new(server).await;
        let post: record::Post = from_value(json!({"rkey": "3kabc", "record": {}})).unwrap();

        match record::put(&fixture.pds(), &post).await {
            Ok(Stored::Public(published)) => {
                assert!(is_taken);
                assert_eq!(published.platform_post_id, uri_in_response);
                assert_eq!(published.handle.as_deref(), Some("bafyrei"));
            }
            Err(AttemptError::Unknown { .. }) => assert!(!is_taken),
            _ => panic!("{uri_in_response}"),
        }
    }
}

#[tokio::test]
async fn page_of_an_intermediary_does_not_reject_a_password() {
    for (body, is_wrong) in [(r#"{"error":"AuthenticationRequired"}"#, true), ("<html>Members only</html>", false)] {
        let answered = move || async move { (StatusCode::UNAUTHORIZED, body) };
        let fixture = Fixture::new(Router::new().route("/xrpc/com.atproto.server.createSession", post(answered))).await;
        let did = DID.parse().unwrap();
        let signed_in = app_password::sign_in(&fixture.http, &fixture.session.pds, &did, &"abcd".into()).await;
        match signed_in {
            Err(ConnectError::Field { .. }) => assert!(is_wrong, "{body}"),
            Err(ConnectError::Unreachable) => assert!(!is_wrong, "{body}"),
            Err(other) => panic!("{body}: {other:?}"),
            Ok(_) => panic!("{body}"),
        }
    }
}

fn grant(fixture: &Fixture, page: &str) -> Grant {
    let at = |path: &str| fixture.session.pds.join(path).unwrap();
    let server: Value = json!({
        "issuer": fixture.session.pds.origin().ascii_serialization(),
        "authorization_endpoint": page,
        "pushed_authorization_request_endpoint": at("/par"),
        "token_endpoint": at("/token"),
    });
    let key = SigningKey::generate().unwrap();
    Grant {
        server: from_value(server).unwrap(),
        client: Client::for_loopback("http://127.0.0.1/", ScopeSet::Posts),
        key,
    }
}

#[tokio::test]
async fn authorization_page_at_a_forbidden_address_is_refused() {
    let pushed = || async { r#"{"request_uri":"urn:one"}"# };
    let fixture = Fixture::new(Router::new().route("/par", post(pushed))).await;
    let urls = CallbackUrls::new("http://127.0.0.1:8080", NAME);
    let request = AuthorizationRequest { state: "state".into(), urls, challenge: Pkce::random().challenge };
    for (page, is_taken) in [
        ("https://auth.example/authorize", true),
        ("http://auth.example/authorize", false),
        ("https://10.0.0.1/authorize", false),
        ("https://me:secret@auth.example/authorize", false),
        ("javascript:alert(1)", false),
        ("file:///etc/passwd", false),
    ] {
        let grant = grant(&fixture, page);
        let authorization = Authorization { http: &fixture.http, nonces: &fixture.nonces, grant: &grant, now: noon() };
        let outcome = authorization.push(&request, None).await;
        match outcome {
            Ok(Page::At(url)) => assert!(is_taken && url.as_str().starts_with(page), "{page}"),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => {
                assert!(!is_taken && matches!(refusal, ConnectError::Field { .. }), "{page}: {refusal:?}");
            }
        }
    }
}
