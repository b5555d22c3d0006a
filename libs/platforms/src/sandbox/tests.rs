//! The adapter against a small server with the responses of the network.

mod fake_sandbox;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::body::Bytes;
use domain::delivery::{AttemptError, Resolution};
use domain::media::{Attachment, PictureBounds};
use domain::options::OptionValue;
use domain::post::SegmentKind;
use domain::testing::{a_connection, a_user, an_attachment, noon};
use futures::{StreamExt, stream};
use secrecy::ExposeSecret;
use serde_json::json;

use self::fake_sandbox::{FakeSandbox, adapter_at, adapter_with};
use super::*;
use crate::account::Credentials;
use crate::app::{AppCredentials, AppUnavailable};
use crate::connect_flow::{
    AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, FieldValues, RefreshError,
};
use crate::dependency_error::DependencyError;
use crate::platform::{Connect, Platform, Publish, Step};
use crate::publish_request::{FittedPicture, MediaBytes, MediaReadError, MediaReader, ReplyTo};

/// Files of a given size.
struct Files;

#[async_trait::async_trait]
impl MediaReader for Files {
    async fn open(&self, attachment: &Attachment) -> Result<MediaBytes, MediaReadError> {
        let size = usize::try_from(attachment.size_bytes).unwrap();
        Ok(stream::iter([Ok(Bytes::from(vec![1; size]))]).boxed())
    }

    async fn fitted(&self, _: &Attachment, _: PictureBounds) -> Result<Option<FittedPicture>, MediaReadError> {
        panic!("what does not say how long it is passes as it is")
    }

    async fn ask_to_fit(&self, _: &Attachment, _: PictureBounds) -> Result<(), MediaReadError> {
        panic!("what does not say how long it is passes as it is")
    }
}

struct Target {
    profile: AccountInfo,
    credentials: Credentials,
    media: Vec<Attachment>,
    options: Options,
    progress: Option<String>,
}

impl Target {
    fn new() -> Self {
        Self {
            profile: a_connection(&a_user()).profile,
            credentials: Credentials { refresh_token: Some("refresh".into()), ..Credentials::new("access".into()) },
            media: Vec::new(),
            options: Options::default(),
            progress: None,
        }
    }

    fn job(&self) -> PublishRequest<'_> {
        PublishRequest {
            profile: &self.profile,
            credentials: &self.credentials,
            segment: SegmentKind::Post,
            reply_to: None,
            text: "Hello",
            media: &self.media,
            options: &self.options,
            reference: "post-1",
            progress: self.progress.as_deref(),
            may_have_published: false,
            publish_at: noon(),
            called_at: noon(),
            files: &Files,
            claims: &crate::recognition::NoOtherClaims,
            now: noon(),
        }
    }
}

/// Credentials that change: a new pair after each refusal.
#[derive(Default)]
struct RotatingApp(AtomicU32);

#[async_trait::async_trait]
impl AppSource for RotatingApp {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        Ok(Arc::new(AppCredentials::new("us", &format!("secret-{}", self.0.load(Ordering::SeqCst)))))
    }

    fn report_refused(&self, _: &Arc<AppCredentials>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn request() -> AuthorizationRequest {
    AuthorizationRequest {
        state: "state+1".into(),
        urls: CallbackUrls::new("http://us", NAME),
        challenge: "challenge".to_owned(),
    }
}

fn callback(query: &[(&str, &str)]) -> Callback {
    Callback {
        arrived_at: CallbackUrls::new("http://us", NAME).redirect_uri,
        query: query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        verifier: "verifier".into(),
        urls: CallbackUrls::new("http://us", NAME),
        adapter_state: None,
    }
}

#[tokio::test]
async fn authorization_url_has_the_challenge() {
    let step = adapter_at("http://x/sandbox").authorize(&FieldValues::new(), &request(), noon()).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };

    assert_eq!(
        url,
        "http://x/sandbox/oauth/authorize?response_type=code&client_id=us\
         &redirect_uri=http%3A%2F%2Fus%2Fconnect%2Fcallback%2Fsandbox&state=state%2B1\
         &code_challenge=challenge&code_challenge_method=S256&scope=profile%20publish"
    );
}

#[tokio::test]
async fn code_is_exchanged_for_the_selected_account() {
    let fake = FakeSandbox::default();
    fake.respond_with(
        200,
        json!({
            "access_token": "access", "refresh_token": "refresh", "expires_in": 3600, "scope": "profile publish",
        }),
    );

    let accounts = fake.adapter().await.complete(&callback(&[("code", "c1")]), noon()).await.unwrap();

    assert_eq!(accounts.len(), 1);
    assert_eq!(accounts[0].profile.account_id, "102");
    assert_eq!(accounts[0].scopes, ["profile", "publish"]);
    assert_eq!(accounts[0].credentials.expires_at, Some(noon() + TimeDelta::hours(1)));
    let sent = &fake.requests()[0];
    assert_eq!(sent["code_verifier"], "verifier");
    assert_eq!(sent["client_secret"], "our-secret");
    assert_eq!(sent["redirect_uri"], "http://us/connect/callback/sandbox");
}

#[tokio::test]
async fn a_connect_flow_ends_with_the_reason() {
    let fake = FakeSandbox::default();
    let adapter = fake.adapter().await;

    let denied = adapter.complete(&callback(&[("error", "access_denied")]), noon()).await;
    assert!(matches!(denied, Err(ConnectError::Denied)), "{denied:?}");
    assert!(fake.requests().is_empty());

    fake.respond_with(400, json!({"error": "invalid_grant", "error_description": "the code was used"}));
    let refused = adapter.complete(&callback(&[("code", "c1")]), noon()).await;
    assert_eq!(refused.unwrap_err().to_string(), "the account could not be connected: the code was used");

    fake.respond_with(500, json!({}));
    let broken = adapter.complete(&callback(&[("code", "c1")]), noon()).await;
    assert!(matches!(broken, Err(ConnectError::Unreachable)), "{broken:?}");
}

#[tokio::test]
async fn only_the_platform_ends_a_grant() {
    let fake = FakeSandbox::default();
    let adapter = fake.adapter().await;
    let credentials = Target::new().credentials;

    fake.respond_with(200, json!({"access_token": "new", "expires_in": 3600, "scope": "profile"}));
    let refreshed = adapter.refresh(&credentials, noon()).await.unwrap();
    assert_eq!(refreshed.access_token.expose_secret(), "new");
    assert_eq!(refreshed.refresh_token.unwrap().expose_secret(), "refresh", "the old one is kept");

    fake.respond_with(400, json!({"error": "invalid_grant"}));
    assert!(matches!(adapter.refresh(&credentials, noon()).await, Err(RefreshError::Gone(_))));

    for (status, error) in [(401, "invalid_client"), (400, "invalid_request"), (503, "server_error")] {
        fake.respond_with(status, json!({ "error": error }));
        let refused = adapter.refresh(&credentials, noon()).await;
        assert!(matches!(refused, Err(RefreshError::Unreachable(_))), "{error}: {refused:?}");
    }
    let unreachable = adapter_at("http://127.0.0.1:1/sandbox").refresh(&credentials, noon()).await;
    assert!(matches!(unreachable, Err(RefreshError::Unreachable(_))), "{unreachable:?}");
}

#[tokio::test]
async fn files_are_uploaded_one_per_step_and_shown_in_order() {
    let fake = FakeSandbox::default();
    let adapter = fake.adapter().await;
    let mut target = Target::new();
    target.media = vec![an_attachment(3), an_attachment(5)];
    assert_eq!(LEAD.before(&target.media), Some(TimeDelta::seconds(60)));

    fake.respond_with(201, json!({"id": "m1", "url": "http://x/m1"}));
    let Step::Again { progress, at } = adapter.prepare(&target.job()).await.unwrap() else { panic!("one is left") };
    assert_eq!(at, noon());
    target.progress = Some(progress);

    fake.respond_with(201, json!({"id": "m2", "url": "http://x/m2"}));
    let Step::Ready { progress } = adapter.prepare(&target.job()).await.unwrap() else { panic!("all are there") };
    target.progress = progress;
    let again = adapter.prepare(&target.job()).await.unwrap();
    assert_eq!(again, Step::Ready { progress: target.progress.clone() });

    fake.respond_with(201, json!({"id": "p1", "url": "http://x/p1"}));
    let published = adapter.publish(&target.job()).await.unwrap();
    assert_eq!(published, Published::new("p1", noon()).with_url(Some("http://x/p1".to_owned())));

    assert_eq!(
        fake.requests(),
        [
            json!({"type": "image/jpeg", "length": "3", "size": 3}),
            json!({"type": "image/jpeg", "length": "5", "size": 5}),
            json!({"text": "Hello", "media_ids": ["m1", "m2"], "reference": "post-1"}),
        ]
    );
}

#[tokio::test]
async fn a_post_without_files_needs_no_preparation() {
    let adapter = adapter_at("http://127.0.0.1:1/sandbox");
    let target = Target::new();
    assert_eq!(LEAD.before(&target.media), None);
    assert_eq!(adapter.prepare(&target.job()).await.unwrap(), Step::Ready { progress: None });
}

#[tokio::test]
async fn reply_names_the_segment_before_it() {
    let fake = FakeSandbox::default();
    let adapter = fake.adapter().await;
    let target = Target::new();
    let (root, parent) = (Published::new("p1", noon()), Published::new("p2", noon()));
    let reply_to = Some(ReplyTo { root: &root, parent: &parent });
    let reply = PublishRequest { segment: SegmentKind::Reply, reply_to, ..target.job() };
    fake.respond_with(201, json!({"id": "p3", "url": "http://x/p3"}));

    adapter.publish(&reply).await.unwrap();

    let expected = json!({"text": "Hello", "media_ids": [], "reference": "post-1", "in_reply_to": "p2"});
    assert_eq!(fake.requests(), [expected]);
}

#[tokio::test]
async fn comment_is_on_the_first_segment_and_looked_up_there() {
    let fake = FakeSandbox::default();
    let adapter = fake.adapter().await;
    let mut target = Target::new();
    let text = |it: &str| OptionValue::Text(it.to_owned());
    let options = [("first_comment", text("More")), ("visibility", text("unlisted"))];
    target.options = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    fake.respond_with(201, json!({"id": "p 1/2", "url": "http://x/p1"}));
    let root = adapter.publish(&target.job()).await.unwrap();
    let parent = Published::new("p2", noon());
    let reply_to = Some(ReplyTo { root: &root, parent: &parent });
    let comment = || PublishRequest {
        segment: SegmentKind::Comment,
        reply_to,
        text: "More",
        options: Options::NONE,
        ..target.job()
    };
    fake.respond_with(201, json!({"id": "c1"}));

    let published = adapter.publish(&comment()).await.unwrap();

    assert_eq!(published, Published::new("c1", noon()));
    assert_eq!(
        fake.requests(),
        [
            json!({"text": "Hello", "media_ids": [], "options": {"visibility": "unlisted"}, "reference": "post-1"}),
            json!({"text": "More", "reference": "post-1", "post": "p 1/2"}),
        ]
    );

    fake.respond_to_look_up(200, json!([{"id": "c1", "posted_at": "2026-11-21T12:00:00Z"}]));
    assert_eq!(adapter.look_up(&comment(), noon()).await, Resolution::Found(published));
    fake.respond_to_look_up(200, json!([]));
    assert_eq!(adapter.look_up(&comment(), noon()).await, Resolution::NotPublished);
    fake.respond_with(429, json!({"error": "any", "message": "slow down"}));
    let limited = adapter.publish(&comment()).await;
    assert!(matches!(limited, Err(AttemptError::RetryLater { retry_at: Some(_), .. })), "{limited:?}");
    fake.cut_responses();
    let cut = adapter.publish(&comment()).await;
    assert!(matches!(cut, Err(AttemptError::Unknown { .. })), "{cut:?}");
}

#[tokio::test]
async fn response_is_classified_by_status_and_code() {
    let fake = FakeSandbox::default();
    let adapter = fake.adapter().await;
    let target = Target::new();
    let error_body = |message: &str| json!({"error": "any", "message": message});

    fake.respond_with(422, error_body("no such thing"));
    let refused = adapter.publish(&target.job()).await;
    assert_eq!(refused, Err(AttemptError::Refused { reason: "no such thing".to_owned() }));

    fake.respond_with(401, error_body("revoked"));
    let unauthorized = adapter.publish(&target.job()).await;
    assert_eq!(unauthorized, Err(AttemptError::Unauthorized { reason: "revoked".to_owned() }));

    fake.respond_with(429, error_body("slow down"));
    let limited = adapter.publish(&target.job()).await;
    let retry_at = Some(noon() + TimeDelta::seconds(30));
    assert_eq!(limited, Err(AttemptError::RetryLater { retry_at, reason: "slow down".to_owned() }));

    fake.respond_with(500, error_body("oops"));
    let unknown = adapter.publish(&target.job()).await;
    assert_eq!(unknown, Err(AttemptError::Unknown { may_still_run: true, retry_at, reason: "oops".to_owned() }));

    fake.respond_with(201, json!("not an object"));
    let broken = adapter.publish(&target.job()).await;
    assert!(matches!(broken, Err(AttemptError::Unknown { may_still_run: true, .. })), "{broken:?}");

    fake.cut_responses();
    let cut = adapter.publish(&target.job()).await;
    assert!(matches!(cut, Err(AttemptError::Unknown { may_still_run: true, .. })), "{cut:?}");

    let unreachable = adapter_at("http://127.0.0.1:1/sandbox").publish(&target.job()).await;
    assert!(matches!(unreachable, Err(AttemptError::RetryLater { retry_at: None, .. })), "{unreachable:?}");
}

#[tokio::test]
async fn lost_response_is_looked_up_by_reference() {
    let fake = FakeSandbox::default();
    let adapter = fake.adapter().await;
    let target = Target::new();

    fake.respond_to_look_up(
        200,
        json!([{
            "id": "7", "url": "http://x/7", "text": "Hello", "reference": "post-1",
            "posted_at": "2026-11-21T12:00:01.500Z",
        }]),
    );
    let found = adapter.look_up(&target.job(), noon()).await;
    let published = Published::new("7", noon() + TimeDelta::milliseconds(1500)).with_url(Some("http://x/7".to_owned()));
    assert_eq!(found, Resolution::Found(published));

    fake.respond_to_look_up(200, json!([]));
    assert_eq!(adapter.look_up(&target.job(), noon()).await, Resolution::NotPublished);

    fake.respond_to_look_up(401, json!({"error": "any"}));
    let unauthorized = adapter.look_up(&target.job(), noon()).await;
    assert!(matches!(unauthorized, Resolution::Unauthorized { .. }), "{unauthorized:?}");

    for status in [403, 429, 500] {
        fake.respond_to_look_up(status, json!({"error": "any"}));
        let resolution = adapter.look_up(&target.job(), noon()).await;
        assert!(matches!(resolution, Resolution::Pending { .. }), "{status}: {resolution:?}");
    }
    let unreachable = adapter_at("http://127.0.0.1:1/sandbox").look_up(&target.job(), noon()).await;
    assert!(matches!(unreachable, Resolution::Pending { .. }), "{unreachable:?}");
}

#[tokio::test]
async fn revocation_sends_the_longest_lived_token() {
    let fake = FakeSandbox::default();
    fake.respond_with(200, json!({}));

    fake.adapter().await.revoke(&Target::new().credentials, noon()).await.unwrap();

    assert_eq!(fake.requests()[0]["token"], "refresh");
    assert_eq!(fake.requests()[0]["client_id"], "us");
}

#[tokio::test]
async fn refused_client_credentials_are_reloaded() {
    let fake = FakeSandbox::default();
    let adapter = adapter_with(&fake.run().await, Arc::new(RotatingApp::default()));
    let credentials = Target::new().credentials;
    fake.respond_with(401, json!({"error": "invalid_client", "error_description": "wrong secret"}));

    let authorized = adapter.complete(&callback(&[("code", "c1")]), noon()).await;
    assert!(matches!(authorized, Err(ConnectError::Unreachable)), "{authorized:?}");
    let refreshed = adapter.refresh(&credentials, noon()).await;
    assert!(matches!(refreshed, Err(RefreshError::Unreachable(_))), "{refreshed:?}");
    let revoked = adapter.revoke(&credentials, noon()).await;
    assert!(matches!(revoked, Err(AttemptError::RetryLater { .. })), "{revoked:?}");

    let sent: Vec<_> = fake.requests().iter().map(|it| it["client_secret"].clone()).collect();
    assert_eq!(sent, ["secret-0", "secret-1", "secret-2"]);
}

#[tokio::test]
async fn missing_client_credentials_are_temporary_and_call_nothing() {
    let fake = FakeSandbox::default();
    let adapter = adapter_with(&fake.run().await, Arc::new(AppUnavailable));
    let target = Target::new();

    let begun = adapter.authorize(&FieldValues::new(), &request(), noon()).await;
    assert!(matches!(begun, Err(ConnectError::Unreachable)), "{begun:?}");
    let authorized = adapter.complete(&callback(&[("code", "c1")]), noon()).await;
    assert!(matches!(authorized, Err(ConnectError::Unreachable)), "{authorized:?}");
    let refreshed = adapter.refresh(&target.credentials, noon()).await;
    assert_eq!(refreshed.unwrap_err(), RefreshError::Unreachable("this service has a temporary problem".to_owned()));
    let revoked = adapter.revoke(&target.credentials, noon()).await;
    assert!(matches!(revoked, Err(AttemptError::RetryLater { retry_at: None, .. })), "{revoked:?}");
    assert!(fake.requests().is_empty(), "{:?}", fake.requests());

    // Calls with an account's own token need neither.
    fake.respond_with(201, json!({"id": "p1", "url": "http://x/p1"}));
    adapter.publish(&target.job()).await.unwrap();
}
