//! The rules of the service as types and pure functions: posts, connections, media, scopes and
//! plans, and the transitions between their states. No I/O, no async. Read next: [`delivery`] and
//! [`post`].

pub mod access_token;
pub mod attempt;
pub mod backoff;
pub mod budget;
pub mod clock;
pub mod connect_flow;
pub mod connect_link;
pub mod connection;
pub mod credentials;
pub mod delivery;
pub mod device_grant;
pub mod erasure;
pub mod event;
pub mod failure;
pub mod id;
pub mod idempotency;
pub mod listing;
pub mod media;
pub mod name;
pub mod oauth;
pub mod options;
pub mod owner;
pub mod plan;
pub mod post;
pub mod profile;
pub mod published;
pub mod random;
pub mod rich_text;
mod roll_up;
pub mod rules;
pub mod schedule;
pub mod scope;
pub mod sealing;
pub mod suggestion;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod time_zone;
pub mod token;
pub mod top_level;
pub mod upload_day;
pub mod user;
pub mod validation_errors;
pub mod web_address;
pub mod webhook;
