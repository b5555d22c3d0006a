//! Behavior specific to Slack.

mod connecting;
mod files;
mod messages;

use crate::prelude::*;

fn to(channel: &str) -> Value {
    json!({ "channel": channel })
}
