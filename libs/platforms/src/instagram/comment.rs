//! The first comment under a post.

use std::time::Duration;

use domain::delivery::Setback;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::caller::Caller;
use crate::job::Job;
use crate::meta::{Blame, Failure, Graph};

/// For the call.
const COMMENT: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
struct Made {
    #[serde(rename = "id")]
    _id: IgnoredAny,
}

/// Adds a comment to the post with this id.
pub(super) async fn add(graph: &Graph, job: &Job<'_>, post: &str, text: &str) -> Result<(), Setback> {
    let path = format!("/{post}/comments");
    let made = graph.post::<Made>(Caller::of(job), &path, &[("message", text)], COMMENT).await;
    made.map(drop).map_err(|it| setback(it, job))
}

/// That comments are not permitted says nothing of posts; a post that is not found is not
/// known everywhere yet.
fn setback(failure: Failure, job: &Job<'_>) -> Setback {
    match failure.blame() {
        Some(Blame::Grant) => {
            let reason = format!(
                "Instagram does not permit comments: connect the account again and leave \"manage comments\" switched \
                 on ({})",
                failure.into_words()
            );
            Setback::Refused { reason }
        }
        Some(Blame::Gone) => Setback::Busy { retry_at: None, reason: failure.into_words() },
        _ => failure.of_the_public_call(job.now),
    }
}
