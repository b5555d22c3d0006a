//! Preparation: uploads files one by one, waits until the server has processed them, then reads the
//! account's listing.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::Attachment;
use domain::post::SegmentKind;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::account;
use super::api::Api;
use super::api::statuses::{Medium, UPLOAD, UPLOAD_AT_ONCE, Upload, Uploaded};
use super::errors::{failed_to_process_file, is_missing_scope, is_temporary, is_unknown_endpoint};
use super::grant::Grant;
use super::software::Software;
use crate::kit::{CallError, ErrorKind};
use crate::platform::Step;
use crate::publish_request::{MediaBytes, PublishRequest};
use crate::recognition::TimelineSnapshot;

const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(30);

const PROCESSING_WAIT: TimeDelta = TimeDelta::seconds(10);

/// How long before the due second the account's listing is read. Late, because everything published
/// in between has to be compared if a response is lost; early enough for a slow server.
pub(super) const LOOK_BACK: TimeDelta = TimeDelta::seconds(20);

const LOOK_BACK_AGAIN: TimeDelta = TimeDelta::seconds(5);

/// How long after its due second a post waits for the listing, if nothing else can distinguish it
/// from other posts after a lost response.
const MAX_WAIT: TimeDelta = TimeDelta::minutes(2);

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The files that are ready, in the order of the post.
    pub(super) media: Vec<Uploaded>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    processing: Option<Processing>,
    /// Whether the server has failed once to process the next file, or lost it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed_once: bool,
    /// The account's own visibility setting, on unknown software. It is sent along, because some
    /// servers (snac) do not apply it, and because it decides whether a lost post can be found in
    /// the listing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) own_visibility: Option<String>,
    /// The statuses of the account after all files were uploaded; the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<TimelineSnapshot>,
}

#[derive(Serialize, Deserialize)]
struct Processing {
    id: String,
    looks: u32,
}

pub(super) struct Preparation<'a> {
    pub(super) api: &'a Api,
    pub(super) grant: &'a Grant,
    pub(super) request: &'a PublishRequest<'a>,
}

impl Preparation<'_> {
    pub(super) async fn step(&self) -> Result<Step, AttemptError> {
        let request = self.request;
        let progress = Progress::load(request).unwrap_or_default();
        match (&progress.processing, request.media.get(progress.media.len())) {
            (_, None) if progress.before.is_some() => Ok(Step::Ready { progress: progress.store() }),
            (_, None) => self.take_snapshot(progress).await,
            (None, Some(next)) => self.upload(progress, next).await,
            (Some(Processing { id, looks }), Some(_)) => {
                let (id, looks) = (id.clone(), *looks);
                self.check(progress, id, looks).await
            }
        }
    }

    async fn upload(&self, mut progress: Progress, file: &Attachment) -> Result<Step, AttemptError> {
        let Self { api, grant, request } = *self;
        let token = &request.credentials.access_token;
        let upload = async |path| {
            Ok::<_, AttemptError>(api.upload(grant, token, path, file, self.open(file).await?, request.now).await)
        };
        let uploaded = if grant.software.uploads_in_background() {
            match upload(UPLOAD).await? {
                Err(error) if is_unknown_endpoint(&error) => upload(UPLOAD_AT_ONCE).await?,
                uploaded => uploaded,
            }
        } else {
            upload(UPLOAD_AT_ONCE).await?
        };
        match uploaded {
            Ok(Upload::Ready(file)) => Ok(progress.with(file).continue_with_next_file(request)),
            Ok(Upload::Processing(id)) => {
                progress.processing = Some(Processing { id, looks: 0 });
                Ok(progress.again(request.now + poll_interval(0)))
            }
            Err(error) if failed_to_process_file(&error) && !progress.failed_once => {
                progress.failed_once = true;
                Ok(progress.again(request.now + PROCESSING_WAIT))
            }
            Err(error) if failed_to_process_file(&error) => {
                Err(AttemptError::Refused { reason: message_for_file(request, &progress, &error.message) })
            }
            Err(error) => Err(error_for_file(error, request, &progress)),
        }
    }

    async fn check(&self, mut progress: Progress, id: String, looks: u32) -> Result<Step, AttemptError> {
        let Self { api, grant, request } = *self;
        match api.medium(grant, &request.credentials.access_token, &id, request.now).await {
            Ok(Medium::Ready(file)) => Ok(progress.with(file).continue_with_next_file(request)),
            Ok(Medium::Processing) => {
                let looks = looks.saturating_add(1);
                progress.processing = Some(Processing { id, looks });
                Ok(progress.again(request.now + poll_interval(looks)))
            }
            // Processing failed, but may succeed the second time.
            Err(error) if error.is_status(StatusCode::UNPROCESSABLE_ENTITY) && !progress.failed_once => {
                (progress.processing, progress.failed_once) = (None, true);
                Ok(progress.again(request.now + PROCESSING_WAIT))
            }
            // Only this file is uploaded again. If the others are gone as well, the refusal of
            // their status shows it.
            Ok(Medium::Unknown) if !progress.failed_once => {
                (progress.processing, progress.failed_once) = (None, true);
                Ok(progress.again(request.now))
            }
            Ok(Medium::Unknown) => Err(AttemptError::PreparationExpired {
                reason: message_for_file(
                    request,
                    &progress,
                    "the file is no longer on the \
                                                                                        server",
                ),
            }),
            Err(error) => Err(error_for_file(error, request, &progress)),
        }
    }

    /// Reads the account's listing before the publish call. A status that is listed later is then
    /// known to be newer.
    async fn take_snapshot(&self, mut progress: Progress) -> Result<Step, AttemptError> {
        let Self { grant, request, .. } = *self;
        progress.before = Some(match self.read_account().await {
            Ok((own_visibility, before)) => {
                progress.own_visibility = own_visibility;
                before
            }
            Err(error) if error.kind == ErrorKind::Unauthorized && !is_missing_scope(&error) => {
                return Err(error.into());
            }
            // A listing that cannot be read does not delay a post for long. On servers with
            // idempotency keys the post is not delayed at all, because the key can decide the
            // outcome of a call. On others it waits for `MAX_WAIT`: a server that cannot list
            // statuses would probably not accept one either.
            Err(error) => {
                let max_wait = if grant.software.keeps_keys() { TimeDelta::zero() } else { MAX_WAIT };
                match is_temporary(&error) {
                    true if request.now < request.publish_at => {
                        let at = (request.now + LOOK_BACK_AGAIN).min(request.publish_at);
                        return Ok(progress.again(at));
                    }
                    true if request.now < request.publish_at + max_wait => return Err(error.into()),
                    _ => TimelineSnapshot::Unreadable,
                }
            }
        });
        Ok(Step::Ready { progress: progress.store() })
    }

    async fn read_account(&self) -> Result<(Option<String>, TimelineSnapshot), CallError> {
        let Self { api, grant, request } = *self;
        let token = &request.credentials.access_token;
        let needs_visibility = grant.software == Software::Other && request.options.text("visibility").is_none();
        let own = if needs_visibility { api.me(&grant.server, token).await?.own_visibility() } else { None };
        let before = match account::id_on_server(request.profile) {
            // A reply is newer than the status that it follows.
            Some(_) if request.segment != SegmentKind::Post => TimelineSnapshot::Showed(Vec::new()),
            Some(account) => {
                TimelineSnapshot::from_posts(&api.statuses(grant, token, account, None, request.now).await?)
            }
            None => TimelineSnapshot::Unreadable,
        };
        Ok((own.map(str::to_owned), before))
    }

    async fn open(&self, file: &Attachment) -> Result<MediaBytes, AttemptError> {
        let opened = self.request.files.open(file).await;
        opened.map_err(|error| AttemptError::RetryLater { retry_at: None, reason: error.to_string() })
    }
}

impl Progress {
    /// The stored state; `None` if a version with another form wrote it.
    pub(super) fn load(request: &PublishRequest<'_>) -> Option<Self> {
        request.progress.map_or_else(|| Some(Self::default()), |it| serde_json::from_str(it).ok())
    }

    fn store(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    fn with(self, file: Uploaded) -> Self {
        let Self { mut media, own_visibility, before, .. } = self;
        media.push(file);
        Self { media, processing: None, failed_once: false, own_visibility, before }
    }

    /// Ends a step with a file that is ready. The next step follows at once, or shortly before the
    /// due second if only the listing remains.
    fn continue_with_next_file(self, request: &PublishRequest<'_>) -> Step {
        let is_all = self.media.len() == request.media.len();
        let at = if is_all { (request.publish_at - LOOK_BACK).max(request.now) } else { request.now };
        self.again(at)
    }

    fn again(self, at: DateTime<Utc>) -> Step {
        Step::Again { progress: self.store().unwrap_or_default(), at }
    }
}

fn poll_interval(looks: u32) -> TimeDelta {
    TimeDelta::seconds(1 << looks.min(5)).min(LONGEST_WAIT)
}

fn message_for_file(request: &PublishRequest<'_>, progress: &Progress, reason: &str) -> String {
    format!("file {} of {}: {reason}", progress.media.len() + 1, request.media.len())
}

fn error_for_file(error: CallError, request: &PublishRequest<'_>, progress: &Progress) -> AttemptError {
    match error.into() {
        AttemptError::Refused { reason } => {
            AttemptError::Refused { reason: message_for_file(request, progress, &reason) }
        }
        other => other,
    }
}
