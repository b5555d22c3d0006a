//! Connecting accounts: the steps of a connect flow, and the credentials that it stores, which are
//! opened for a call, refreshed before they expire, and revoked.
//!
//! The steps of a flow: `start` (at once at the platform, or with a form of ours), `submit` (the
//! form), `callback` (the platform's redirect, or the poll for an approval), `accounts` (store what
//! the platform returned). [`domain::connect_flow`] decides each transition. `link` starts flows
//! for the customer who has a connect link.

mod accounts;
mod callback;
mod config;
mod credentials;
mod error;
mod flow;
mod link;
mod plan_limit;
mod revoke;
mod start;
mod submit;

pub use accounts::AccountChoice;
pub use callback::{ApprovalPoll, CALLBACK_TIMEOUT, ReceivedCallback};
pub use credentials::{CallCredentials, CredentialService, OpenCredentials, StoredCredentials};
pub use error::ConnectingError;
pub use flow::{ConnectFlows, LoadedFlow};
pub use link::{LinkAccounts, LoadedLink, link_accounts_path};
pub use revoke::revoke_grant;
pub use start::StartedFlow;
pub use submit::{Choice, Selection, Submission};
