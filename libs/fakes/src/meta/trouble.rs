//! Meta's responses to calls with an injected fault.

use chrono::TimeDelta;

use super::error::GraphError;
use crate::conformance::fake_platform::{Call, InjectedFault};

/// JSON pointers to the messages of errors.
pub const MESSAGES: &[&str] =
    &["/error/message", "/error/error_user_title", "/error/error_user_msg", "/error_message", "/error_description"];

pub fn respond(call: Call, fault: InjectedFault) -> GraphError {
    match (call, fault) {
        // Meta sends the duration in minutes.
        (_, InjectedFault::RateLimited { retry_after }) => GraphError::limited(minutes(retry_after)),
        (_, InjectedFault::Unavailable) => GraphError::unavailable(),
        (Call::Exchange, InjectedFault::Refused) => {
            GraphError::new(100, "This authorization code has been used.").subcode(36_009)
        }
        (Call::Refresh, InjectedFault::Refused) => GraphError::removed_app(),
        (_, InjectedFault::Refused) => GraphError::param("Param text is not a valid text for this account"),
        _ => GraphError::unknown(),
    }
}

/// A duration in minutes, rounded up.
pub fn minutes(wait: TimeDelta) -> i64 {
    (wait.num_seconds() + 59) / 60
}
