//! The people whom a post mentions.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use futures::{StreamExt, stream};

use super::facets::RichText;
use super::identity::{Directory, Unknown};
use super::names::{Did, Handle};
use crate::publish_request::PublishRequest;

/// For looking up all the people whom a post mentions.
const PEOPLE: Duration = Duration::from_secs(10);

/// From this long before the due second on, nobody is looked up again. It leaves
/// enough time for the last step, which fetches the card of the linked page.
pub(super) const NO_MORE_LOOK_UPS: TimeDelta = TimeDelta::seconds(30);

/// People who are looked up at a time.
const LOOK_UPS: usize = 8;

/// The DIDs of the people who are mentioned. When somebody cannot be looked up,
/// the step is tried again while there is time; after that the mention stays
/// plain text.
pub(super) async fn mentioned(
    directory: &Directory,
    job: &PublishRequest<'_>,
    text: &RichText,
) -> Result<HashMap<Handle, Did>, AttemptError> {
    let handles: HashSet<Handle> = text.mentions().cloned().collect();
    let look_up = async |handle: Handle| {
        let did = directory.did(&handle).await;
        (handle, did)
    };
    let looked_up: Vec<_> = stream::iter(handles.clone())
        .map(look_up)
        .buffer_unordered(LOOK_UPS)
        .take_until(Box::pin(tokio::time::sleep(PEOPLE)))
        .collect()
        .await;
    let mut unclear = handles;
    let mut people = HashMap::new();
    for (handle, did) in looked_up {
        if did != Err(Unknown::Unreachable) {
            unclear.remove(&handle);
        }
        people.extend(did.ok().map(|did| (handle, did)));
    }
    match unclear.iter().next() {
        Some(handle) if NO_MORE_LOOK_UPS < job.publish_at - job.now => {
            let reason = format!("@{} could not be looked up", handle.as_str());
            Err(AttemptError::RetryLater { retry_at: None, reason })
        }
        _ => Ok(people),
    }
}
