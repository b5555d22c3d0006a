//! `--watch`: waits until a post is published or has failed.

use std::time::Duration;

use chrono::{DateTime, Utc};
use client::{ApiResponse, Post, PostStatus};

use super::describe;
use crate::error::CliError;
use crate::output::{self, notice, plain};
use crate::posting::local;
use crate::session::Session;

/// The API allows sixty requests a minute.
const INTERVAL: Duration = Duration::from_secs(3);

/// The longest interval: the post may be changed while it waits for its time.
const LONGEST: Duration = Duration::from_mins(1);

/// A post that failed is an error, like a request that the service refused.
pub(crate) async fn watch(session: &Session, id: u64) -> Result<(), CliError> {
    last_status(session, id).await.map(drop)
}

/// Waits like [`watch`]. A post that was made a draft again is an error, too.
pub(crate) async fn watch_publication(session: &Session, id: u64) -> Result<(), CliError> {
    match last_status(session, id).await? {
        PostStatus::Published => Ok(()),
        other => Err(CliError::Refused(format!("post {id} was not published; it is {}", plain(other.as_str())))),
    }
}

/// A status that only a user changes.
async fn last_status(session: &Session, id: u64) -> Result<PostStatus, CliError> {
    let post = last_state(session, id).await.map_err(|failure| match failure {
        CliError::Refused(_) | CliError::NotSignedIn(_) => failure,
        other => CliError::Unknown(format!("{other}\nwatch again with `social posts show {id} --watch`")),
    })?;
    output::print_done(&if session.json { post.json } else { describe(&post.value, output::paint) })?;
    match post.value.status {
        PostStatus::Failed => {
            Err(CliError::Refused(format!("post {id} has failed; fix the cause, then run `social posts retry {id}`")))
        }
        status => Ok(status),
    }
}

async fn last_state(session: &Session, id: u64) -> Result<ApiResponse<Post>, CliError> {
    let mut noticed = String::new();
    loop {
        let post = session.client.show_post(id).await.map_err(CliError::about("post", id))?;
        let Some(wait) = wait(&post, Utc::now()) else { return Ok(post) };
        let at = post.scheduled_at.filter(|_| post.status == PostStatus::Scheduled);
        let at = at.map(|it| format!(" for {}", local(it.0))).unwrap_or_default();
        let state = format!("Post {id} is {}{at}", plain(post.status.as_str()));
        if state != noticed {
            notice(&state);
            noticed = state;
        }
        tokio::time::sleep(wait).await;
    }
}

/// `None` if only a user changes the post.
fn wait(post: &Post, now: DateTime<Utc>) -> Option<Duration> {
    match post.status {
        PostStatus::Publishing => Some(INTERVAL),
        PostStatus::Scheduled => {
            let rest = post.scheduled_at.and_then(|it| (it.0 - now).to_std().ok());
            Some(rest.unwrap_or_default().clamp(INTERVAL, LONGEST))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use chrono::TimeDelta;
    use serde_json::json;

    use super::*;

    #[test]
    fn waits_until_only_a_user_can_change_the_post() {
        let now = Utc::now();
        let waits = |status: &str, at: Option<TimeDelta>| {
            let post = json!({
                "id": 7, "revision": 1, "content": "Hello", "status": status,
                "scheduled_at": at.map(|it| (now + it).to_rfc3339()),
                "created_at": "2026-11-21T09:00:00.000Z", "updated_at": "2026-11-21T09:00:00.000Z",
                "creator": { "id": 1, "name": "Demo User" }, "platforms": [], "media": [], "thread": [],
                "external_id": null, "labels": [],
            });
            wait(&serde_json::from_value(post).unwrap(), now)
        };

        for status in ["draft", "published", "failed", "archived"] {
            assert_eq!(waits(status, None), None, "{status}");
        }
        assert_eq!(waits("publishing", Some(-TimeDelta::hours(1))), Some(INTERVAL));
        assert_eq!(waits("scheduled", Some(-TimeDelta::hours(1))), Some(INTERVAL), "it waits for a retry");
        assert_eq!(waits("scheduled", Some(TimeDelta::hours(1))), Some(LONGEST));
    }
}
