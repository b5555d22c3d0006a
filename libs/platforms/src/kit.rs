//! What adapters have in common: what a response means, calls that state their effect, the loop over files.
//!
//! An adapter says with data what its platform's errors are ([`ErrorTable`]) and with [`Effect`] what a call may
//! change. What follows for the delivery is decided here, once, for every platform: an adapter cannot take silence for
//! a failure, nor a firewall's page for a refusal.

mod api_client;
mod call_error;
mod error_table;

pub(crate) use self::api_client::{ApiClient, ApiResponse, Auth, Call};
pub(crate) use self::call_error::{CallError, Effect, ErrorKind};
pub(crate) use self::error_table::{ErrorRule, ErrorTable, Reset};
