use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use serde::Deserialize;

use super::{Containers, listing};
use crate::caller::Caller;
use crate::kit::CallError;
use crate::meta::list::List;
use crate::publish_request::PublishRequest;

/// The window in which posts are counted, unless Meta states another one.
const DAY: TimeDelta = TimeDelta::days(1);

/// The shortest pause before an exhausted quota is read again: deleted posts count, and are in no
/// list.
const SHORTEST: TimeDelta = TimeDelta::minutes(15);

#[derive(Deserialize)]
struct Limit {
    quota_usage: u64,
    config: Option<Config>,
}

#[derive(Deserialize)]
struct Config {
    quota_total: u64,
    /// In seconds.
    quota_duration: Option<u32>,
}

struct ExhaustedQuota {
    total: u64,
    used: u64,
    frees_at: DateTime<Utc>,
}

/// `RetryLater` until the oldest counted post leaves the window.
pub(super) async fn check(platform: &impl Containers, request: &PublishRequest<'_>) -> Result<(), AttemptError> {
    let exhausted = exhausted_quota(platform, request).await?;
    let Some(ExhaustedQuota { total, used, frees_at }) = exhausted.filter(|it| request.publish_at < it.frees_at) else {
        return Ok(());
    };
    let title = platform.graph().title();
    let reason = format!("the account has used {used} of the {total} posts that {title} allows within a day");
    Err(AttemptError::RetryLater { retry_at: Some(frees_at), reason })
}

/// When to retry after the publish call was refused because of the quota.
pub(super) async fn frees_at(platform: &impl Containers, request: &PublishRequest<'_>) -> DateTime<Utc> {
    let found = exhausted_quota(platform, request).await.ok().flatten();
    found.map_or(request.now + SHORTEST, |it| it.frees_at)
}

async fn exhausted_quota(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
) -> Result<Option<ExhaustedQuota>, CallError> {
    let path = format!("/{}/{}", request.profile.account_id, platform.calls().limit);
    let response = platform
        .graph()
        .get::<List<Limit>>(Caller::for_request(request), &path, &[("fields", "quota_usage,config")])
        .await;
    let limits = match response {
        Ok(response) => response.body,
        Err(error) => return Err(platform.graph().confirmed(request, error).await),
    };
    let Some(Limit { quota_usage: used, config: Some(config) }) = limits.data.into_iter().next() else {
        return Ok(None);
    };
    if used < config.quota_total {
        return Ok(None);
    }
    let window = config.quota_duration.map_or(DAY, |it| TimeDelta::seconds(it.into()));
    let listing =
        listing::since(platform, request, (&request.profile.account_id, platform.calls().media), request.now - window)
            .await?;
    let oldest = listing.posts.iter().filter_map(|it| it.at).min();
    let frees_at = oldest.map_or(request.now, |it| it + window).max(request.now + SHORTEST);
    Ok(Some(ExhaustedQuota { total: config.quota_total, used, frees_at }))
}
