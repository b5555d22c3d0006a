//! Social platforms: the traits that each implements, the registry, and one
//! module per platform. An adapter is asked, answers, and remembers nothing;
//! it neither waits nor retries.

mod account;
mod answer;
mod app;
mod bluesky;
mod budget;
mod caller;
mod choices;
#[cfg(feature = "conformance")]
pub mod conformance;
mod discord;
mod discreet;
mod entity;
mod facebook;
mod handoff;
mod html;
mod http_clients;
mod instagram;
mod job;
mod kit;
mod known;
mod lead;
mod link_card;
mod linkedin;
mod mastodon;
mod matrix;
mod meta;
mod multipart;
mod no_answer;
mod not_now;
mod notice;
pub mod oauth2;
mod picture;
mod pinterest;
mod platform;
pub mod recognition;
#[cfg(feature = "conformance")]
pub mod recorder;
#[cfg(any(test, feature = "conformance"))]
mod recording;
#[cfg(any(test, feature = "conformance"))]
pub mod recordings;
mod registry;
mod renewal;
mod sandbox;
mod setup;
mod slack;
mod telegram;
mod threads;
mod vault;
mod watch;
mod wordpress;
mod x;

pub use account::{About, Account, Credentials, UnreadableCredentials};
pub use app::{AppCredentials, AppSource, BadFurther, Further, Withheld};
pub use choices::{Choice, Choosing, MAX_CHOICES};
pub use handoff::{
    Answers, Approval, AuthorizationRequest, Awaited, Callback, Departure, Field, HandOffRefusal, Instructions,
    OurAddresses, RefreshRefusal,
};
pub use job::{Fitted, Job, MediaBytes, MediaReader, MediaUnreadable, Picture};
pub use known::{Access, Known};
pub use lead::Lead;
pub use not_now::NotNow;
pub use notice::{NoNotice, Notice};
pub use platform::{Connect, FollowUp, Followed, Platform, Publish, STEP_LIMIT, Step};
pub use registry::{Leads, Part, Registry, budgets, known, vocabulary};
pub use renewal::Renewal;
pub use setup::{PlatformSettings, Setup, SetupError};
pub use vault::{Keeping, Kept, MemoryVault, Vault};
