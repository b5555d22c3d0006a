//! What became of a call whose answer was lost.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Published, Resolution};

use super::api::{Api, Bot, Sharing};
use super::{Progress, channel};
use crate::job::Job;

/// How far our clock and Slack's may be apart.
const CLOCKS_DIFFER: TimeDelta = TimeDelta::minutes(15);

/// The most pages of a channel that are read at one look.
const MAX_PAGES: usize = 5;

/// Asks whether the public call took effect.
pub(super) async fn resolve(api: &Api, job: &Job<'_>, since: DateTime<Utc>) -> Resolution {
    // Without a channel or one of its files, the call was never made.
    let Ok(channel) = channel(job) else { return Resolution::NotThere };
    let Progress { files } = Progress::of(job);
    if files.len() != job.media.len() {
        return Resolution::NotThere;
    }
    match files.first() {
        Some(file) => of_files(api, job, channel, file).await,
        None => of_message(api, job, channel, since).await,
    }
}

/// Files that were uploaded and not shared are not known to Slack. One that is known
/// and not in the channel is still on its way: Slack looks through files first.
async fn of_files(api: &Api, job: &Job<'_>, channel: &str, file: &str) -> Resolution {
    match api.sharing(Bot::of(job), file, channel).await {
        Ok(Sharing::Shared { ts }) => {
            let at = at(&ts).unwrap_or(job.now);
            Resolution::Public(Published::new(file.to_owned(), at).seen_at(link(job, channel, &ts)))
        }
        Ok(Sharing::NotYet) => {
            Resolution::Unclear { reason: "Slack has the files, and does not show them in the channel yet".to_owned() }
        }
        Err(failure) if failure.is_of_no_file() => Resolution::NotThere,
        Err(failure) => failure.resolution(),
    }
}

/// Reads what was posted in the channel around the calls.
async fn of_message(api: &Api, job: &Job<'_>, channel: &str, since: DateTime<Utc>) -> Resolution {
    let around = (since - CLOCKS_DIFFER, job.called_at + CLOCKS_DIFFER);
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = match api.history(Bot::of(job), channel, around, cursor.as_deref()).await {
            Ok(page) => page,
            Err(failure) => return failure.resolution(),
        };
        if let Some(found) = page.with_reference(job.reference) {
            return Resolution::Public(message(job, channel, found));
        }
        match page.next() {
            Ok(None) => return Resolution::NotThere,
            Ok(next) => cursor = next,
            Err(failure) => return failure.resolution(),
        }
    }
    Resolution::Unclear { reason: "the channel has had too many messages since to find it; look there".to_owned() }
}

/// A message that is public, known by its channel and time.
pub(super) fn message(job: &Job<'_>, channel: &str, ts: &str) -> Published {
    let at = at(ts).unwrap_or(job.now);
    Published::new(format!("{channel}:{ts}"), at).seen_at(link(job, channel, ts))
}

/// Where people see a message: below the address of their workspace.
pub(super) fn link(job: &Job<'_>, channel: &str, ts: &str) -> Option<String> {
    let workspace = job.profile.profile_url.as_deref()?.trim_end_matches('/');
    Some(format!("{workspace}/archives/{channel}/p{}", ts.replace('.', "")))
}

/// When a message was posted, by Slack's clock.
fn at(ts: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(ts.split('.').next()?.parse().ok()?, 0)
}
