//! What goes over the wire, as the API's document describes it. A test holds
//! each type against its schema there, in both directions.
//!
//! Fields that a later version of the service adds are passed over here; they
//! are in [`Answer::json`](crate::Answer::json).

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
    Creator, DescribedMedia, NewPost, NewPostMedia, NewPostPlatform, PageMeta, Post, PostChanges, PostList, PostMedia,
    PostPlatform, PostStatus, TargetStatus, Validation, Warning,
};
pub use self::webhooks::{
    DeliveryStatus, NewWebhook, Webhook, WebhookAttempt, WebhookChanges, WebhookDeliveriesMeta, WebhookDelivery,
    WebhookDeliveryList, WebhookKey, WebhookList, WebhookStatus, WebhookWithSecret,
};

/// Writes a secret. It is for the wire alone: `Debug` of a secret shows nothing.
fn exposed<S: Serializer>(secret: &secrecy::SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secrecy::ExposeSecret::expose_secret(secret))
}

/// Reads a field that is there: its `null` is a value too.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
