//! The accounts that a post mentions.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use futures::{StreamExt, stream};

use super::facets::RichText;
use super::identity::{Directory, IdentityError};
use super::names::{Did, Handle};
use crate::publish_request::PublishRequest;

const PEOPLE: Duration = Duration::from_secs(10);

/// In this time before the due second, no account is looked up again. It leaves enough time for the
/// last step, which fetches the card of the linked page.
pub(super) const NO_MORE_LOOK_UPS: TimeDelta = TimeDelta::seconds(30);

const LOOK_UPS: usize = 8;

/// If an account cannot be looked up, the step is retried while there is time; after that the
/// mention stays plain text.
pub(super) async fn mentioned(
    directory: &Directory,
    request: &PublishRequest<'_>,
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
    let mut dids = HashMap::new();
    for (handle, did) in looked_up {
        if did != Err(IdentityError::Unreachable) {
            unclear.remove(&handle);
        }
        dids.extend(did.ok().map(|did| (handle, did)));
    }
    match unclear.iter().next() {
        Some(handle) if NO_MORE_LOOK_UPS < request.publish_at - request.now => {
            let reason = format!("@{} could not be looked up", handle.as_str());
            Err(AttemptError::RetryLater { retry_at: None, reason })
        }
        _ => Ok(dids),
    }
}
