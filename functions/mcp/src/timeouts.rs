//! Time limits of the API calls for one message.

use std::time::Duration;

/// The API fetches a file within 25 s; the gateway waits for 30 s.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(26);

/// Covers all API calls for one message.
pub(crate) const MESSAGE_TIMEOUT: Duration = Duration::from_secs(28);

pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) const VERIFY_TIMEOUT: Duration = Duration::from_secs(8);
