//! The first comment under a post.

use std::time::Duration;

use domain::delivery::AttemptError;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::caller::Caller;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::meta::Graph;
use crate::publish_request::PublishRequest;

const COMMENT: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
struct CreatedComment {
    #[serde(rename = "id")]
    _id: IgnoredAny,
}

pub(super) async fn add(
    graph: &Graph,
    request: &PublishRequest<'_>,
    post: &str,
    text: &str,
) -> Result<(), AttemptError> {
    let path = format!("/{post}/comments");
    let created = graph
        .post::<CreatedComment>(Effect::Public, Caller::for_request(request), &path, &[("message", text)], COMMENT)
        .await;
    created.map(drop).map_err(attempt_error)
}

/// A comment that is not permitted means nothing for the post; a post that is not found is not
/// available everywhere yet.
fn attempt_error(error: CallError) -> AttemptError {
    match error.kind {
        ErrorKind::Unauthorized => {
            let reason = format!(
                "Instagram does not permit comments: connect the account again and leave \"manage comments\" on ({})",
                error.message
            );
            AttemptError::Refused { reason }
        }
        _ if error.kind == ErrorKind::PreparationExpired || error.is_missing() => {
            AttemptError::RetryLater { retry_at: None, reason: error.message }
        }
        _ => error.into(),
    }
}
