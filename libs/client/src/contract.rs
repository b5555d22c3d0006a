//! The types of requests and responses, as in the OpenAPI document. A test compares each type with
//! its schema, in both directions.
//!
//! Fields that a later version of the service adds are ignored here; they are in
//! [`ApiResponse::json`](crate::ApiResponse::json).

mod access;
mod connections;
mod media;
mod posts;
mod webhooks;

use serde::{Deserialize, Deserializer, Serializer};

pub use self::access::{AccessTokenBody, DeviceAuthorization, DeviceCodeRequest, TokenRequest, TokenUser, User};
pub use self::connections::{
    Choice, ChoiceList, Connection, ConnectionDetails, ConnectionList, ConnectionRequest, ConnectionRequestStatus,
    MetaEntry, Platform, PlatformField, PlatformList, PlatformRule, RuleCondition,
};
pub use self::media::{CreateMedium, FetchedMedium, MediumView, PresignedUpload};
pub use self::posts::{
    Attempt, AttemptList, Creator, DescribedMedia, NewPost, NewPostMedia, NewPostPlatform, PageMeta, Post, PostChanges,
    PostList, PostMedia, PostPlatform, PostStatus, TargetStatus, Validation, Warning,
};
pub use self::webhooks::{
    DeliveryStatus, NewWebhook, Webhook, WebhookAttempt, WebhookChanges, WebhookDeliveriesMeta, WebhookDelivery,
    WebhookDeliveryList, WebhookKey, WebhookList, WebhookStatus, WebhookWithSecret,
};

/// Serializes a secret for the wire; `Debug` of a secret shows nothing.
fn exposed<S: Serializer>(secret: &secrecy::SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secrecy::ExposeSecret::expose_secret(secret))
}

/// Distinguishes a field that is `null` from one that is absent.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
