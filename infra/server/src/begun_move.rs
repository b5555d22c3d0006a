//! The mark of a data folder that is moved to a stack.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A move that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunMove {
    /// The ARN of the stack. It changes when a stack of this name is created again.
    pub stack: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub since: DateTime<Utc>,
    pub has_ended: bool,
}
