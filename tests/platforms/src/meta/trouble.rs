//! What Meta answers where a test has ordered a trouble.

use chrono::TimeDelta;
use platforms::conformance::network::{Call, Trouble};

use super::error::GraphError;

/// Where errors have messages.
pub const MESSAGES: &[&str] =
    &["/error/message", "/error/error_user_title", "/error/error_user_msg", "/error_message", "/error_description"];

/// The answer to a call that is not carried out.
pub fn answer(call: Call, trouble: Trouble) -> GraphError {
    match (call, trouble) {
        // Minutes is all that is said.
        (_, Trouble::Limited { retry_after }) => GraphError::limited(minutes(retry_after)),
        (_, Trouble::Unavailable) => GraphError::unavailable(),
        (Call::Exchange, Trouble::Unwanted) => {
            GraphError::new(100, "This authorization code has been used.").subcode(36_009)
        }
        (Call::Refresh, Trouble::Unwanted) => GraphError::removed_app(),
        (_, Trouble::Unwanted) => GraphError::param("Param text is not a valid text for this account"),
        _ => GraphError::unknown(),
    }
}

/// So many minutes, rounded up.
pub fn minutes(wait: TimeDelta) -> i64 {
    (wait.num_seconds() + 59) / 60
}
