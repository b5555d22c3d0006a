//! Compares the client with the OpenAPI document: every operation has its function, and every type
//! matches its schema in both directions.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic here is the failing assertion")]

mod document {
    pub(crate) mod sample;
    pub(crate) mod server;
}

use client::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::document::sample::{Size, document, operations, samples};
use self::document::server::Server;

/// Reads every sample of a schema as `T` and writes it again. The type keeps what the schema has,
/// and adds nothing.
fn check_round_trip<T: Serialize + DeserializeOwned>(name: &str) {
    for sample in samples(name, Size::Full) {
        let read: T = serde_json::from_value(sample.clone()).unwrap_or_else(|it| panic!("{name}: {it}: {sample}"));
        assert_eq!(serde_json::to_value(&read).unwrap(), sample, "{name}");
    }
    for sample in samples(name, Size::Required) {
        let read: T = serde_json::from_value(sample.clone()).unwrap_or_else(|it| panic!("{name}: {it}: {sample}"));
        // An optional field may be written as null or left out.
        assert_eq!(without_nulls(serde_json::to_value(&read).unwrap()), sample, "{name}");
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().filter(|it| !it.1.is_null()).map(|(name, it)| (name, without_nulls(it))).collect()
        }
        Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

macro_rules! types {
    ($($name:ident),* $(,)?) => {
        #[test]
        fn every_type_matches_its_schema() {
            $(check_round_trip::<$name>(stringify!($name));)*
        }

        const TYPES: &[&str] = &[$(stringify!($name)),*];
    };
}

types!(
    AccessTokenBody,
    Attempt,
    AttemptList,
    Choice,
    ChoiceList,
    CodeExchange,
    ConnectLink,
    Connection,
    ConnectionDetails,
    ConnectionList,
    ConnectionRequest,
    ConnectionRequestStatus,
    CreateMedium,
    Creator,
    DescribedMedia,
    DeviceAuthorization,
    DeviceCodeRequest,
    FetchedMedium,
    MediumView,
    MetaEntry,
    NewConnectLink,
    NewPost,
    NewPostMedia,
    NewPostPlatform,
    NewProfile,
    NewThreadEntry,
    NewWebhook,
    OAuthToken,
    PageMeta,
    Platform,
    PlatformField,
    PlatformList,
    PlatformRule,
    Post,
    PostChanges,
    PostList,
    PostMedia,
    PostPlatform,
    PostSegment,
    PostTime,
    PresignedUpload,
    Profile,
    ProfileChanges,
    ProfileList,
    RuleCondition,
    ThreadEntry,
    TokenRequest,
    TokenUser,
    User,
    Validation,
    Warning,
    Webhook,
    WebhookAttempt,
    WebhookChanges,
    WebhookDeliveriesMeta,
    WebhookDelivery,
    WebhookDeliveryList,
    WebhookKey,
    WebhookList,
    WebhookWithSecret,
);

#[test]
fn every_schema_has_a_type() {
    // `ErrorResponse` contains the fields of errors. The values of one field are strings.
    let otherwise = ["Error", "MimeType", "Scope"];
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let missing: Vec<_> =
        schemas.keys().filter(|it| !TYPES.contains(&it.as_str()) && !otherwise.contains(&it.as_str())).collect();
    assert!(missing.is_empty(), "schemas without a type in the client: {missing:?}");
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_value(samples(name, Size::Full).remove(0)).unwrap()
}

#[tokio::test]
async fn every_operation_has_a_function() {
    let server = Server::start().await;
    let client = server.client();
    let key = IdempotencyKey::parse("a-key").unwrap();
    let text = || Some("a".to_owned());
    let posts = ListPosts {
        status: Some(PostStatus::Draft),
        profile_id: Some(1),
        external_id: text(),
        label: text(),
        per_page: Some(1),
        page: Some(1),
        sort: text(),
        direction: text(),
    };

    client.create_device_code(&read("DeviceCodeRequest")).await.unwrap();
    client.exchange_device_code(&"a".into()).await.unwrap();
    client.create_connect_link(&read("NewConnectLink")).await.unwrap();
    client.list_connections(&ListConnections { provider: text(), status: text(), profile_id: Some(1) }).await.unwrap();
    client.begin_connection("sandbox", Some(1)).await.unwrap();
    client.poll_connection("sandbox", "a").await.unwrap();
    client.delete_connection(1).await.unwrap();
    client.show_connection(1).await.unwrap();
    client.list_choices(1, "board", Some("a")).await.unwrap();
    client.create_medium(&read("CreateMedium"), Some(&key)).await.unwrap();
    client.list_platforms().await.unwrap();
    client.list_posts(&posts).await.unwrap();
    client.create_post(&read("NewPost"), Some(&key)).await.unwrap();
    client.validate_post(&read("NewPost")).await.unwrap();
    client.delete_post(1, Some(7)).await.unwrap();
    client.show_post(1).await.unwrap();
    client.change_post(1, &read("PostChanges"), Some(7)).await.unwrap();
    client.list_attempts(1, &ListAttempts { per_page: Some(1), page: Some(1) }).await.unwrap();
    let profiles = ListProfiles { external_id: text(), per_page: Some(1), page: Some(1) };
    client.list_profiles(&profiles).await.unwrap();
    client.create_profile(&read("NewProfile")).await.unwrap();
    client.delete_profile(1, true).await.unwrap();
    client.show_profile(1).await.unwrap();
    client.change_profile(1, &read("ProfileChanges")).await.unwrap();
    client.show_user().await.unwrap();
    client.list_webhooks().await.unwrap();
    client.create_webhook(&read("NewWebhook")).await.unwrap();
    client.show_webhook_key().await.unwrap();
    client.delete_webhook(1).await.unwrap();
    client.show_webhook(1).await.unwrap();
    client.change_webhook(1, &read("WebhookChanges")).await.unwrap();
    client.list_deliveries(1, &ListDeliveries { per_page: Some(1), before: text() }).await.unwrap();
    client.redeliver(1, "evt_a").await.unwrap();
    client.rotate_secret(1).await.unwrap();
    client.test_webhook(1).await.unwrap();

    let mut called = server.called();
    // The OAuth token operation takes a form, from programs that open a browser.
    let mut all: Vec<_> = operations().into_iter().map(|it| it.id).filter(|it| it != "oauth.token").collect();
    called.sort();
    all.sort();
    assert_eq!(called, all, "operations of the document, and those that were called");
}

#[tokio::test]
async fn response_json_is_kept_unchanged() {
    let server = Server::start().await;

    let post = server.client().show_post(7).await.unwrap();

    let sample = samples("Post", Size::Full).remove(0);
    assert_eq!(serde_json::from_str::<Value>(&post.json).unwrap(), sample);
    assert_eq!(json!(post.id), sample["id"]);
}

#[test]
fn debug_output_shows_no_secret() {
    let token: AccessTokenBody = read("AccessTokenBody");
    let webhook: WebhookWithSecret = read("WebhookWithSecret");
    let device: DeviceAuthorization = read("DeviceAuthorization");
    let link: ConnectLink = read("ConnectLink");
    for (printed, field) in [
        (format!("{token:?}"), "access_token"),
        (format!("{webhook:?}"), "secret"),
        (format!("{device:?}"), "device_code"),
        (format!("{link:?}"), "url"),
    ] {
        assert!(printed.contains(&format!("{field}: SecretBox")), "{printed}");
    }
}
