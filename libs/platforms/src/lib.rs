//! Social platforms: the traits that adapters implement (`platform.rs`), what adapters share
//! (`kit.rs`), the registry, and one module per platform. An adapter keeps no state, and neither
//! waits nor retries.

mod account;
mod app;
mod article_html;
mod bluesky;
mod budget;
mod caller;
mod choices;
mod connect_flow;
mod creator_info;
mod deadline;
mod deauthorization;
mod dependency_error;
mod discord;
mod entity;
mod facebook;
mod ghost;
mod google;
mod google_business;
mod html;
mod http_clients;
mod instagram;
mod kit;
mod last_call;
mod lead_times;
mod link_card;
mod linkedin;
mod mastodon;
mod matrix;
mod meta;
mod multipart;
mod named_site;
pub mod oauth2;
mod picture;
mod pinterest;
mod platform;
mod platform_info;
mod publish_request;
pub mod recognition;
#[cfg(feature = "testing")]
pub mod recorder;
#[cfg(any(test, feature = "testing"))]
mod recording;
#[cfg(any(test, feature = "testing"))]
pub mod recordings;
mod redaction;
mod refresh_policy;
mod registry;
mod response;
mod sandbox;
mod setup;
mod slack;
mod telegram;
mod threads;
mod tiktok;
mod transport_error;
mod vault;
mod wordpress;
mod x;
mod youtube;

pub use account::{Account, AccountDetails, Credentials, UnreadableCredentials};
pub use app::{AppCredentials, AppSource, AppUnavailable, ExtraSecrets, InvalidExtraSecrets};
pub use choices::{Choice, ChoicesRequest, MAX_CHOICES};
pub use connect_flow::{
    Approval, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, Field, FieldValues,
    Instructions, PendingApproval, RefreshError,
};
pub use creator_info::CreatorInfo;
pub use deauthorization::{DeauthorizationCallback, InvalidCallback};
pub use dependency_error::DependencyError;
pub use last_call::with_last_call;
pub use lead_times::LeadTimes;
pub use platform::{Connect, FollowUp, Followed, Platform, Publish, STEP_LIMIT, Step};
pub use platform_info::{Access, PlatformInfo};
pub use publish_request::{FittedPicture, MediaBytes, MediaReadError, MediaReader, Picture, PublishRequest, ReplyTo};
pub use refresh_policy::RefreshPolicy;
pub use registry::{
    Capability, LeadTimesByPlatform, Registry, budgets, default_settings, permissions, platform_infos, vocabulary,
};
pub use setup::{PlatformSettings, Setup, SetupError};
pub use vault::{MemoryVault, Retention, Vault, VaultSecret};
