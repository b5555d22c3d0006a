//! The publishing quota of an account.

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

/// An exhausted quota.
struct UsedUp {
    total: u64,
    used: u64,
    frees_at: DateTime<Utc>,
}

/// Whether the account may publish one more post at the due time.
///
/// # Errors
/// `RetryLater` until the oldest counted post leaves the window.
pub(super) async fn check(of: &impl Containers, job: &PublishRequest<'_>) -> Result<(), AttemptError> {
    let found = used_up(of, job).await?;
    let Some(UsedUp { total, used, frees_at }) = found.filter(|it| job.publish_at < it.frees_at) else {
        return Ok(());
    };
    let title = of.graph().title();
    let reason = format!("the account has used {used} of the {total} posts that {title} allows within a day");
    Err(AttemptError::RetryLater { retry_at: Some(frees_at), reason })
}

/// When to retry after the publish call was refused because of the quota.
pub(super) async fn frees_at(of: &impl Containers, job: &PublishRequest<'_>) -> DateTime<Utc> {
    let found = used_up(of, job).await.ok().flatten();
    found.map_or(job.now + SHORTEST, |it| it.frees_at)
}

async fn used_up(of: &impl Containers, job: &PublishRequest<'_>) -> Result<Option<UsedUp>, CallError> {
    let path = format!("/{}/{}", job.profile.account_id, of.calls().limit);
    let read = of.graph().get::<List<Limit>>(Caller::of(job), &path, &[("fields", "quota_usage,config")]).await;
    let said = match read {
        Ok(read) => read.body,
        Err(error) => return Err(of.graph().confirmed(job, error).await),
    };
    let Some(Limit { quota_usage: used, config: Some(config) }) = said.data.into_iter().next() else { return Ok(None) };
    if used < config.quota_total {
        return Ok(None);
    }
    let window = config.quota_duration.map_or(DAY, |it| TimeDelta::seconds(it.into()));
    let counted = listing::since(of, job, of.calls().media, job.now - window).await?;
    let oldest = counted.posts.iter().filter_map(|it| it.at).min();
    let frees_at = oldest.map_or(job.now, |it| it + window).max(job.now + SHORTEST);
    Ok(Some(UsedUp { total: config.quota_total, used, frees_at }))
}
