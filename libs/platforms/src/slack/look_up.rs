use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Published, Resolution};

use super::api::{Api, Bot, ShareStatus};
use super::errors::is_missing_file;
use super::{Progress, channel, thread};
use crate::publish_request::PublishRequest;

/// How long Slack may take to show files that it accepted. It takes seconds; large files are
/// processed first.
const SHARE_TIMEOUT: TimeDelta = TimeDelta::minutes(5);

const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(15);

const MAX_PAGES: usize = 5;

/// The bot may read channels but no threads, or the first message of the thread was deleted.
const UNREADABLE_THREAD: &[&str] = &["not_allowed_token_type", "thread_not_found"];

pub(super) async fn resolve(api: &Api, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
    // Without a channel, the call was never made.
    let Ok(channel) = channel(request) else { return Resolution::NotPublished };
    let progress = Progress::load(request);
    if progress.files.len() != request.media.len() {
        return request.never_made();
    }
    match progress.files.first() {
        Some(file) => look_up_files(api, request, channel, (file, &progress)).await,
        None => look_up_message(api, request, channel, since).await,
    }
}

/// Slack does not know files that were uploaded but not shared. A file that is known but not in the
/// channel will still appear, or is lost.
async fn look_up_files(
    api: &Api,
    request: &PublishRequest<'_>,
    channel: &str,
    (first, progress): (&str, &Progress),
) -> Resolution {
    match api.share_status(Bot::new(request), first, channel).await {
        Ok(ShareStatus::Shared { ts }) => Resolution::Found(shared(request, channel, first, &ts)),
        Ok(ShareStatus::NotYet) if request.now < request.called_at + SHARE_TIMEOUT => {
            Resolution::Pending { reason: super::NOT_SHOWN_YET.to_owned() }
        }
        Ok(ShareStatus::NotYet) => withdraw_upload(api, request, progress).await,
        // Our own deletions come later.
        Err(error) if error.has_code(&["file_deleted"]) && request.now < request.called_at + SHARE_TIMEOUT => {
            let reason = "the file was deleted in Slack soon after it was sent; it is not sent again";
            Resolution::Refused { reason: reason.to_owned() }
        }
        Err(error) if is_missing_file(&error) => Resolution::NotPublished,
        Err(error) => error.resolution(),
    }
}

/// Ends a share that does not appear. Slack may accept files and never show them
/// (slackapi/python-slack-sdk, issues 1575 and 1818). Deleted files cannot appear next to those of
/// another call. The first file is deleted last, because look-ups ask for it.
async fn withdraw_upload(api: &Api, request: &PublishRequest<'_>, progress: &Progress) -> Resolution {
    for file in progress.files.iter().rev() {
        match api.delete(Bot::new(request), file).await {
            Ok(()) => {}
            Err(error) if is_missing_file(&error) => {}
            Err(error) => return error.with_message(|it| format!("{}: {it}", super::NOT_SHOWN_YET)).resolution(),
        }
    }
    if !progress.is_again {
        // Not `Absent`: the files are uploaded again without alt texts because this outcome
        // stays unknown.
        return Resolution::NotFound;
    }
    let reason = "Slack accepted the files twice but never showed them in the channel; the uploaded files are deleted";
    Resolution::Refused { reason: reason.to_owned() }
}

async fn look_up_message(api: &Api, request: &PublishRequest<'_>, channel: &str, since: DateTime<Utc>) -> Resolution {
    // Without the first message of its thread, the call was never made.
    let Ok(thread) = thread(request) else { return Resolution::NotPublished };
    let around = (since - MAX_CLOCK_SKEW, request.called_at + MAX_CLOCK_SKEW);
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = match api.history(Bot::new(request), (channel, thread), around, cursor.as_deref()).await {
            Ok(page) => page,
            // The connection is valid: only this list is closed to the bot, or gone.
            Err(error) if thread.is_some() && error.has_code(UNREADABLE_THREAD) => {
                return Resolution::Undeterminable { advice: error.message };
            }
            Err(error) => return error.resolution(),
        };
        if let Some(found) = page.find_by_reference(request.reference) {
            return Resolution::Found(message(request, channel, found));
        }
        match page.next() {
            Ok(None) => return Resolution::NotFound,
            Ok(next) => cursor = next,
            Err(error) => return error.resolution(),
        }
    }
    Resolution::Pending {
        reason: "the channel has had too many messages since then for the post to be found; look in the channel"
            .to_owned(),
    }
}

/// A public message, identified by its channel and timestamp.
pub(super) fn message(request: &PublishRequest<'_>, channel: &str, ts: &str) -> Published {
    published(request, channel, format!("{channel}:{ts}"), ts)
}

/// A public message with files, identified by the first one, which has its id before the call.
pub(super) fn shared(request: &PublishRequest<'_>, channel: &str, first: &str, ts: &str) -> Published {
    published(request, channel, first.to_owned(), ts)
}

fn published(request: &PublishRequest<'_>, channel: &str, id: String, ts: &str) -> Published {
    let at = at(ts).unwrap_or(request.now);
    Published::new(id, at).with_url(link(request, channel, ts)).with_handle(ts)
}

/// The link to a message, under the workspace's URL. That of a reply also names its thread.
fn link(request: &PublishRequest<'_>, channel: &str, ts: &str) -> Option<String> {
    let workspace = request.profile.profile_url.as_deref()?.trim_end_matches('/');
    let thread = thread(request).ok().flatten();
    let thread = thread.map(|it| format!("?thread_ts={it}&cid={channel}")).unwrap_or_default();
    Some(format!("{workspace}/archives/{channel}/p{}{thread}", ts.replace('.', "")))
}

/// When a message was posted, by Slack's clock.
fn at(ts: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(ts.split('.').next()?.parse().ok()?, 0)
}
