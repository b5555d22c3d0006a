//! The requests and responses of the API, once: the server, the OpenAPI document and the client use
//! these types. Doc comments are descriptions of the document.
//!
//! A client ignores the fields that a later version of the service adds.

mod access;
mod connect_links;
mod connections;
mod error;
mod media;
mod posts;
mod profiles;
mod timestamp;
mod webhooks;

use serde::{Deserialize, Deserializer, Serializer};

pub use self::access::{
    AccessTokenBody, CodeExchange, DeviceAuthorization, DeviceCodeRequest, OAuthToken, TokenRequest, TokenUser, User,
};
pub use self::connect_links::{ConnectLink, NewConnectLink};
pub use self::connections::{
    Choice, ChoiceList, Connection, ConnectionDetails, ConnectionList, ConnectionRequest, ConnectionRequestStatus,
    MetaEntry, Platform, PlatformField, PlatformList, PlatformRule, RuleCondition,
};
pub use self::error::ErrorBody;
pub use self::media::{CreateMedium, FetchedMedium, MediumView, PresignedUpload};
pub use self::posts::{
    Attempt, AttemptList, Creator, DescribedMedia, ListPosts, NewPost, NewPostMedia, NewPostPlatform, NewThreadEntry,
    PageMeta, Post, PostChanges, PostList, PostMedia, PostPlatform, PostSegment, PostStatus, TargetStatus, ThreadEntry,
    Validation, Warning,
};
pub use self::profiles::{DeleteProfile, ListProfiles, NewProfile, Profile, ProfileChanges, ProfileList};
pub use self::timestamp::{PostTime, Timestamp};
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
