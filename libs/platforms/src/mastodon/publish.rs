use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Published, Resolution};
use http::StatusCode;

use super::Mastodon;
use super::api::statuses::{Medium, NewStatus};
use super::errors::{ERRORS, WHO, WITHOUT_LOOK_UP, is_final};
use super::grant::Grant;
use super::look_up::{ListingError, StatusTimeline};
use super::preparation::{Preparation, Progress};
use super::software::Software;
use crate::deadline::Deadline;
use crate::kit::{CallError, ErrorKind};
use crate::platform::{Publish, STEP_LIMIT, Step};
use crate::publish_request::PublishRequest;
use crate::recognition::{Listed, Recognition};
use crate::transport_error::TransportError;

/// Servers and the proxies in front of them end a request after a minute at most.
const SETTLE_TIME: TimeDelta = TimeDelta::seconds(90);

/// How long after a publish call its idempotency key is certainly remembered: an hour, minus the
/// difference of two clocks.
const KEY_LIFETIME: TimeDelta = TimeDelta::minutes(55);

const UNREADABLE_LISTING: &str = "the server does not let this service read the account's posts";

/// User message: a post that looks the same is not treated as ours while the idempotency key can
/// still decide.
const UNLISTED: &str = "its server may not list posts that are not public";

const AWAITING_KEY_CHECK: &str =
    "the account has a post with the same text, and it is not known yet whether it is this one";

/// The timeout for reading the account's statuses. The rest of [`STEP_LIMIT`] is enough for the
/// publish call, which may have to be repeated.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(20);

#[async_trait::async_trait]
impl Publish for Mastodon {
    /// A file is not public until a status shows it.
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let grant = Grant::load(request.credentials)?;
        let preparation = Preparation { api: &self.api, grant: &grant, request };
        let step = Deadline::begin(request.now).within(STEP_LIMIT, preparation.step()).await;
        step.unwrap_or_else(|| {
            Err(AttemptError::RetryLater { retry_at: None, reason: TransportError::Late.message(WHO) })
        })
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let deadline = Deadline::begin(request.now);
        let grant = Grant::load(request.credentials)?;
        let progress = Progress::load(request).unwrap_or_default();
        if progress.media.len() != request.media.len() {
            return Err(AttemptError::PreparationExpired { reason: "not all files are uploaded".to_owned() });
        }
        // The account was reconnected after the preparation, and its server has other software now.
        if progress.before.is_none() && !grant.software.keeps_keys() {
            return Err(AttemptError::PreparationExpired {
                reason: "the account's earlier posts were not read".to_owned(),
            });
        }
        match self.post(request, &grant, &progress).await {
            Ok(published) => Ok(published),
            Err(error) if is_about_parent(request, &error) && !request.may_have_published => Err(error.into()),
            Err(error) if !progress.media.is_empty() && is_final(&error) => {
                let reason = error.message.clone();
                let outcome =
                    deadline.within(STEP_LIMIT, self.explain_refusal(request, &grant, &progress, error, &deadline));
                outcome.await.unwrap_or(Err(AttemptError::RetryLater { retry_at: None, reason }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// First reads the account's statuses, replies included, back to those from before the call. If
    /// that does not decide, the same call is made again while the server still remembers its
    /// idempotency key: if the first call created a status, the repeat returns that status. The
    /// repeat waits until the first call can no longer be running, because not every server notices
    /// that two concurrent calls have one key.
    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        let grant = match Grant::load(request.credentials) {
            Ok(grant) => grant,
            Err(unreadable) => return Resolution::Unauthorized { reason: unreadable.to_string() },
        };
        let deadline = Deadline::begin(request.now);
        let Some(progress) = Progress::load(request) else {
            return Resolution::Pending { reason: "the stored preparation cannot be read".to_owned() };
        };
        if progress.media.len() != request.media.len() {
            // The publish call comes after all files.
            return request.never_made();
        }
        let has_key = request.may_repeat() && grant.software.keeps_keys() && request.now < since + KEY_LIFETIME;
        let looked = deadline.within(LOOK_UP_TIMEOUT, self.look_up(request, &grant, &progress, &deadline)).await;
        let late = || Err(ListingError::Passing { reason: TransportError::Late.message(WHO) });
        let pending_reason = match looked.unwrap_or_else(late) {
            Ok(Recognition::Public(published)) => return Resolution::Found(published),
            Ok(Recognition::NotPublished) if may_be_unlisted(request, &grant, &progress) => {
                return Resolution::Undeterminable { advice: UNLISTED.to_owned() };
            }
            Ok(Recognition::NotPublished) => return Resolution::NotFound,
            Ok(Recognition::Candidate(_)) if has_key => AWAITING_KEY_CHECK.to_owned(),
            Ok(Recognition::Candidate(published)) => return Resolution::Candidate(published),
            Err(ListingError::Disconnected { reason }) => return Resolution::Unauthorized { reason },
            Err(ListingError::Forbidden) if has_key => UNREADABLE_LISTING.to_owned(),
            Err(ListingError::Forbidden) => {
                return Resolution::Undeterminable { advice: UNREADABLE_LISTING.to_owned() };
            }
            Ok(Recognition::Pending { reason }) | Err(ListingError::Passing { reason }) => reason,
        };
        if !has_key || request.now < request.settled_at(SETTLE_TIME) {
            return Resolution::Pending { reason: pending_reason };
        }
        match self.post(request, &grant, &progress).await {
            Ok(published) => Resolution::Found(published),
            // The server looks for the parent before it checks the key.
            Err(error) if is_about_parent(request, &error) => Resolution::Pending { reason: error.message },
            // The server checks the key first. That it refused the request shows that the first
            // call created nothing.
            Err(error) if is_final(&error) => Resolution::NotPublished,
            Err(error) => error.resolution(),
        }
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLE_TIME
    }
}

/// The visibility of a post; `None` leaves it to the server.
fn visibility<'a>(request: &PublishRequest<'a>, progress: &'a Progress) -> Option<&'a str> {
    request.options.text("visibility").or(progress.own_visibility.as_deref())
}

fn is_about_parent(request: &PublishRequest<'_>, error: &CallError) -> bool {
    request.reply_to.is_some() && error.is_status(StatusCode::NOT_FOUND)
}

/// Whether the listing may lack an existing post: snac lists only public posts, even for their
/// owner.
fn may_be_unlisted(request: &PublishRequest<'_>, grant: &Grant, progress: &Progress) -> bool {
    grant.software == Software::Other && visibility(request, progress) != Some("public")
}

impl Mastodon {
    async fn post(
        &self,
        request: &PublishRequest<'_>,
        grant: &Grant,
        progress: &Progress,
    ) -> Result<Published, CallError> {
        let warning = request.options.text("content_warning");
        let keeps_warning = warning.is_none() || !grant.software.drops_warnings();
        let status = NewStatus {
            status: request.text,
            in_reply_to_id: request.reply_to.map(|it| it.parent.platform_post_id.as_str()),
            media_ids: progress.media.iter().map(|it| it.id.as_str()).collect(),
            visibility: visibility(request, progress),
            spoiler_text: warning,
            sensitive: if keeps_warning { request.options.flag("sensitive") } else { Some(true) },
            language: request.options.text("language"),
            content_type: grant.software.content_type(),
        };
        let key = grant.software.keeps_keys().then_some(request.reference);
        let errors = if may_be_unlisted(request, grant, progress) { &WITHOUT_LOOK_UP } else { &ERRORS };
        let status_response =
            self.api.post(grant, &request.credentials.access_token, &status, key, errors, request.now).await?;
        let at = status_response.created_at().unwrap_or(request.now);
        let url = status_response.url();
        Ok(Published::new(status_response.id, at).with_url(url))
    }

    /// The meaning of a refused status with files: it may be about the files, and then they are
    /// uploaded again. Servers translate the message, so each file is checked instead.
    async fn explain_refusal(
        &self,
        request: &PublishRequest<'_>,
        grant: &Grant,
        progress: &Progress,
        refused: CallError,
        deadline: &Deadline,
    ) -> Result<Published, AttemptError> {
        let busy = |reason: String| Err(AttemptError::RetryLater { retry_at: None, reason });
        // A file that a status already shows is refused as well. Only our own earlier attempt can
        // have used it, so that status is looked for first.
        match self.look_up(request, grant, progress, deadline).await {
            Ok(Recognition::Public(published)) => return Ok(published),
            // A post that only looks the same does not show that this one was created.
            Ok(Recognition::Candidate(_) | Recognition::NotPublished) | Err(ListingError::Forbidden) => {}
            Err(ListingError::Disconnected { reason }) => return Err(AttemptError::Unauthorized { reason }),
            Ok(Recognition::Pending { reason }) | Err(ListingError::Passing { reason }) => return busy(reason),
        }
        if refused.is_status(StatusCode::NOT_FOUND) && !is_about_parent(request, &refused) {
            return Err(AttemptError::PreparationExpired { reason: refused.message });
        }
        let mut is_unknown = false;
        for file in &progress.media {
            match self.api.medium(grant, &request.credentials.access_token, &file.id, request.now).await {
                Ok(Medium::Ready(_)) => {}
                Ok(Medium::Processing) => return busy(refused.message),
                Ok(Medium::Unknown) => is_unknown = true,
                Err(error) if is_final(&error) => {}
                Err(error) if error.kind == ErrorKind::Unauthorized => {
                    return Err(error.into());
                }
                // It is unknown whether the file is the cause. The next attempt will be refused
                // again, and the files checked once more.
                Err(error) => return busy(error.message),
            }
        }
        if is_unknown {
            return Err(AttemptError::PreparationExpired { reason: refused.message });
        }
        Err(refused.into())
    }

    async fn look_up(
        &self,
        request: &PublishRequest<'_>,
        grant: &Grant,
        progress: &Progress,
        deadline: &Deadline,
    ) -> Result<Recognition, ListingError> {
        StatusTimeline { api: &self.api, grant, request, progress, watch: deadline }.look_up().await
    }
}
