//! Webhooks: endpoints of users that are told of their events, as the
//! specification Standard Webhooks wants it.
//!
//! An [`Endpoint`] is told of an event by a [`Notice`]: one event to one
//! endpoint, tried by a schedule until it is accepted.
//! Source: standard-webhooks/standard-webhooks, `spec/standard-webhooks.md` 1.0.0.

mod address;
mod answer;
mod endpoint;
mod kind;
mod message;
mod notice;
mod schedule;
mod secret;
mod secrets;
mod signing_key;

pub use address::{EndpointUrl, InvalidUrl};
pub use answer::{Answer, SHOWN_BYTES, shown};
pub use endpoint::{Creator, DISABLED_AFTER, DisabledReason, Endpoint, EndpointStatus, MAX_ENDPOINTS};
pub use kind::EventKind;
pub use message::{Message, MessageId};
pub use notice::{Attempt, KEPT_FOR, LEASE, MAX_WAITING, Notice, NoticeName, NoticeState};
pub use schedule::{CONNECT_TIME_OUT, PLANNED_AHEAD, TIME_OUT, TRIES};
pub use secret::Secret;
pub use secrets::{MAX_REPLACED, ROTATION, Replaced, Secrets};
pub use signing_key::SigningKey;
