//! What adapters have in common: what a response means, calls that state their effect, the loop over files.
//!
//! An adapter states as data what its platform's errors mean ([`ErrorTable`]), and with [`Effect`] what a call may
//! change. What follows for the delivery is decided here, once, for every platform: an adapter cannot treat a missing
//! response as a failure, nor a firewall's page as a refusal.
//!
//! [`OAuthAdapter`] gives `Platform` and `Connect` to a platform with OAuth 2, [`PublishAdapter`] gives `Publish` to any.

mod api_client;
mod call_error;
mod error_table;
mod oauth_adapter;
mod publish_adapter;

pub(crate) use self::api_client::{ApiClient, ApiResponse, Auth, Call};
pub(crate) use self::call_error::{CallError, Effect, ErrorKind};
pub(crate) use self::error_table::{ErrorRule, ErrorTable, Reset};
pub(crate) use self::oauth_adapter::{Grant, OAuthAdapter};
pub(crate) use self::publish_adapter::{
    File, ListedPost, LookUpMethod, MediaSource, Part, PostPage, PostState, Prepared, PreparedFile, PublishAdapter,
    UploadState, UploadStep,
};
