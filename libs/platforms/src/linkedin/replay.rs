//! Repeats a publish call with an unknown outcome, to find out whether it took effect.
//!
//! Facts: LinkedIn refuses a second post with the same content within a short time, and names the
//! existing post. This is not guaranteed: a repeated call may create a second post. So the operator
//! decides whether it is made, and it is made once and within minutes. Source: the fact sheet,
//! "Exactly-once".

use chrono::TimeDelta;
use domain::delivery::Resolution;

use super::api::Api;
use super::errors::duplicate_of;
use super::look_up::{published, resolve_duplicate};
use super::{SETTLE_TIME, post};
use crate::kit::{Auth, Prepared};
use crate::publish_request::PublishRequest;

/// How soon after the certain end of the first call the repeat has to be made: shorter than the
/// lease of a worker and the pause between two look-ups, so that no second repeat follows a worker
/// that dies in the repeat.
const REPEATED_WITHIN: TimeDelta = TimeDelta::seconds(60);

/// Repeats the call once the first one can no longer take effect. `advice` is for the user if it is
/// too late for that.
pub(super) async fn once(
    api: &Api,
    request: &PublishRequest<'_>,
    prepared: &Prepared<'_, String>,
    advice: String,
) -> Resolution {
    let settled_at = request.settled_at(SETTLE_TIME);
    if request.now < settled_at {
        let reason = "the same post is sent once more as soon as the first call can no longer take effect";
        return Resolution::Pending { reason: reason.to_owned() };
    }
    let Ok(post) = post::body(request, prepared) else { return Resolution::NotPublished };
    if settled_at + REPEATED_WITHIN <= request.now {
        return Resolution::Undeterminable { advice };
    }
    let repeated = match api.create_post(Auth::post(request), &request.profile.account_id, &post).await {
        Ok(urn) => Ok(published(urn, request.now)),
        Err(error) => resolve_duplicate(request, error).await,
    };
    match repeated {
        Ok(published) => Resolution::Found(published),
        // It is the duplicate of another post, and so was the first call.
        Err(error) if duplicate_of(&error).is_some() => Resolution::Refused { reason: error.message },
        Err(error) => error.resolution(),
    }
}
