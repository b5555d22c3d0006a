//! The service with an embedded store and bucket.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use chrono::TimeDelta;
use cloud::testing::TestBucket;
use domain::access_token::AccessToken;
use domain::media::{FileAddress, FileKey, MediaLimits, MediaPath, MimeType, PublicFile};
use domain::plan::Plans;
use domain::profile::Profile;
use domain::scope::{Scope, Scopes};
use domain::testing::{a_profile, a_user, noon};
use domain::user::User;
use egress::AddressPolicy;
use egress::fetch::{FETCH_TIMEOUT, Fetcher};
use futures::{StreamExt, stream};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use reqwest::header::HeaderMap;
use secrecy::ExposeSecret;
use serde_json::Value;
use storage::{CreateUserOutcome, Identity, TokenGrant};
use tokio::net::TcpListener;
use tower::ServiceExt;

use super::{FILE_SECRET, MAX_BYTES, PNG};
use crate::App;

/// The service, one of its users, and a web server with images.
pub(super) struct Harness {
    pub(super) app: App,
    pub(super) router: Router,
    pub(super) s3: TestBucket,
    pub(super) user: User,
    pub(super) token: AccessToken,
    pub(super) web: String,
}

impl Harness {
    pub(super) async fn start() -> Self {
        Self::with_plans("{}").await
    }

    pub(super) async fn with_plans(plans: &str) -> Self {
        let (web, address) = serve_pictures().await;
        let api = api::testing::api().await;
        cloud::aws::install_tls();
        let s3 = TestBucket::start().await;
        let app = App {
            api: api.clone(),
            bucket: s3.bucket.clone(),
            fetcher: Fetcher::new(AddressPolicy::Also(vec![address]), FETCH_TIMEOUT),
            limits: MediaLimits { image: MAX_BYTES, ..MediaLimits::default() },
            plans: serde_json::from_str::<Plans>(plans).unwrap(),
            file_key: Some(FileKey::new(FILE_SECRET).unwrap()),
            max_file_bytes: MAX_BYTES,
        };
        let user = User { plan: Some("small".to_owned()), ..a_user() };
        let identity = Identity { issuer: "https://issuer.example".to_owned(), subject: "1".to_owned() };
        assert_eq!(api.store.join(&identity, &user).await.unwrap(), CreateUserOutcome::Ours);
        let token = AccessToken::mint(user.user_id);
        let grant =
            TokenGrant::made(user.user_id, Scopes::from_requested(&Scope::ALL), noon(), noon() + TimeDelta::days(180));
        api.store.put_token(&token.hash(), &grant).await.unwrap();
        Self { router: api::finish(crate::router(app.clone()), api), app, s3, user, token, web }
    }

    /// Limits the token to a new profile.
    pub(super) async fn limit_token(&self) -> Profile {
        let profile = a_profile(&self.user);
        self.app.api.store.create_profile(&profile, None).await.unwrap();
        let scopes = Scopes::from_requested(&[]);
        let made = TokenGrant::made(self.user.user_id, scopes, noon(), noon() + TimeDelta::days(180));
        let grant = TokenGrant { profile_id: Some(profile.profile_id), ..made };
        self.app.api.store.put_token(&self.token.hash(), &grant).await.unwrap();
        profile
    }

    pub(super) async fn post(&self, body: &Value) -> (StatusCode, Value) {
        let (status, _, body) = self.post_with(body, &[]).await;
        (status, body)
    }

    pub(super) async fn post_with(&self, body: &Value, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, Value) {
        let mut request = Request::post("/api/v1/media")
            .header("authorization", format!("Bearer {}", self.token.secret().expose_secret()))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (parts.status, parts.headers, serde_json::from_slice(&body).unwrap())
    }

    /// Sends a body in which only this field is wrong, and returns its error.
    pub(super) async fn fault(&self, field: &str, body: &Value) -> String {
        let (status, body) = self.post(body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
        let errors = body["errors"].as_object().unwrap();
        assert_eq!(errors.keys().collect::<Vec<_>>(), [field], "{body}");
        errors[field][0].as_str().unwrap().to_owned()
    }

    pub(super) async fn request(
        &self,
        method: &str,
        path: &str,
        range: Option<&str>,
    ) -> (StatusCode, HeaderMap, Bytes) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(range) = range {
            request = request.header("range", range);
        }
        let response = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        (parts.status, parts.headers, body.collect().await.unwrap().to_bytes())
    }

    /// The path of a file, valid for an hour.
    pub(super) fn file_path(&self, file: PublicFile) -> String {
        let address = FileAddress { file, expires_at: noon() + TimeDelta::hours(1) };
        address.path(self.app.file_key.as_ref().unwrap())
    }

    pub(super) async fn store(&self, media: u64, bytes: &'static [u8]) -> PublicFile {
        let media = domain::id::MediaId::new(media).unwrap();
        let file = MediaPath::new(self.user.user_id, media, MimeType::Png);
        self.app.bucket.put_whole(&file.to_string(), "image/png", bytes.into()).await.unwrap();
        PublicFile::Original(file)
    }

    pub(super) async fn assert_nothing_stored(&self) {
        assert_eq!(self.s3.files(), Vec::<String>::new());
        let later = noon() + TimeDelta::days(365);
        assert_eq!(self.app.api.store.unused_media(later, 10).await.unwrap(), []);
        assert_eq!(self.app.api.store.unverified_media(later, 10).await.unwrap(), []);
    }
}

async fn serve_pictures() -> (String, SocketAddr) {
    let router = Router::new()
        .route("/harbour.png", get(|| async { PNG }))
        .route("/page", get(|| async { "<!doctype html><title>Not a picture</title>" }))
        .route("/empty", get(|| async { "" }))
        .route("/large.png", get(|| async { [PNG, &[0; 1000]].concat() }))
        .route("/endless.png", get(endless_body));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), address)
}

/// An image without a length that never ends.
async fn endless_body() -> Body {
    let start = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(PNG))]);
    Body::from_stream(start.chain(stream::repeat_with(|| Ok(Bytes::from_static(&[0; 100])))))
}
