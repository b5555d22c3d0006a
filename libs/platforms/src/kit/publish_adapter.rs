//! What an adapter contributes to publishing. The kit has the rest of [`Publish`]: the loop over files and parts,
//! stored progress, fitted pictures, public URLs, the snapshot of a list, paging, claims, and timeouts.

mod look_up;
mod upload;

use std::future::ready;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, LookUpPolicy, Published, Resolution};
use domain::media::Attachment;
use domain::post::SegmentKind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::look_up::{ListedPost, LookUpMethod, PostPage, PostState};
use self::upload::Progressed;
pub(crate) use self::upload::{File, MediaSource, Part, UploadState, UploadStep};
use super::call_error::{CallError, Details, Effect, ErrorKind};
use crate::deadline;
use crate::picture::{self, PendingPicture, PictureState, Source};
use crate::platform::{FollowUp, Followed, Platform, Publish, Step};
use crate::publish_request::PublishRequest;
use crate::recognition::{PostMatch, TimelineSnapshot};

/// How long before the due second the account's newest posts are recorded. Late, because everything that is published
/// in between has to be compared when a response is lost.
const SNAPSHOT_LEAD: TimeDelta = TimeDelta::seconds(20);

/// How long after the due second a post waits for that snapshot.
const SNAPSHOT_TIMEOUT: TimeDelta = TimeDelta::minutes(2);

pub(crate) trait PublishAdapter: Platform {
    const TITLE: &'static str;

    /// How long a cut-off publish call may still take effect, and appear in lists.
    const SETTLE_TIME: TimeDelta = TimeDelta::seconds(60);

    const LOOK_UPS_ARE_BILLED: bool = false;

    /// Whether an account that may not read its list will never be able to, so that further
    /// look-ups are useless.
    const FORBIDDEN_LIST_IS_FINAL: bool = false;

    /// Whether a look-up may recognize a post by its content. False where a key or a reference identifies it: then no
    /// delivery claims its post.
    const RECOGNIZES: bool = true;

    /// Whether [`MediaSource::PublicUrl`] is used.
    const FETCHES_FILES: bool = false;

    type Uploaded: Serialize + DeserializeOwned + Clone + Send + Sync;

    fn media_source(&self, request: &PublishRequest<'_>, file: &Attachment) -> MediaSource;

    /// The first step of a file: the upload, or its beginning. Repeated after a crash.
    fn upload(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
    ) -> impl Future<Output = Result<UploadStep<Self::Uploaded>, CallError>> + Send;

    /// Sends one part of [`UploadStep::Parts`]. Returns what the platform returned for it, which
    /// may be empty.
    fn send_part(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
        part: Part,
    ) -> impl Future<Output = Result<String, CallError>> + Send {
        let _ = (request, file, state, part);
        ready(Err(not_implemented("sends no parts")))
    }

    /// Called once all parts have arrived.
    fn finish_upload(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
    ) -> impl Future<Output = Result<UploadStep<Self::Uploaded>, CallError>> + Send {
        let _ = (request, file, state);
        ready(Err(not_implemented("finishes no uploads")))
    }

    fn upload_status(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
    ) -> impl Future<Output = Result<UploadStep<Self::Uploaded>, CallError>> + Send {
        let _ = (request, file, state);
        ready(Err(not_implemented("processes no files")))
    }

    /// Prepares other parts of the post, such as a draft or the thumbnail of a link. Returns them, and how
    /// long the platform takes to process them. Called once after all files; a JSON value that is
    /// not null is [`Prepared::extra`] from then on.
    fn prepare_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Self::Uploaded>,
    ) -> impl Future<Output = Result<(Value, TimeDelta), CallError>> + Send {
        let _ = (request, prepared);
        ready(Ok((Value::Null, TimeDelta::zero())))
    }

    /// The publish call, for each kind of segment that the platform has. It may make no other call that changes
    /// something.
    fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Self::Uploaded>,
    ) -> impl Future<Output = Result<Published, CallError>> + Send;

    fn look_up_method(&self, request: &PublishRequest<'_>) -> LookUpMethod;

    /// The outcome for the post with our reference, or that of [`Self::prepare_post`]; for
    /// [`LookUpMethod::Reference`] and [`LookUpMethod::Draft`].
    fn find_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Self::Uploaded>,
    ) -> impl Future<Output = Result<Resolution, CallError>> + Send {
        let _ = (request, prepared);
        ready(Err(not_implemented("finds no single post")))
    }

    /// The outcome of a publish call that returned [`CallError::accepted`] with this reference. After
    /// [`Resolution::NotPublished`], everything is prepared again.
    fn find_accepted(
        &self,
        request: &PublishRequest<'_>,
        reference: &Value,
    ) -> impl Future<Output = Result<Resolution, CallError>> + Send {
        let _ = (request, reference);
        ready(Err(not_implemented("accepts no posts for later")))
    }

    /// A page of the account's posts, newest first; for [`LookUpMethod::List`]. `since` is a little before the publish
    /// call; `None` asks for the newest posts before it.
    fn list_posts(
        &self,
        request: &PublishRequest<'_>,
        since: Option<DateTime<Utc>>,
        page: Option<&str>,
    ) -> impl Future<Output = Result<PostPage, CallError>> + Send {
        let _ = (request, since, page);
        ready(Err(not_implemented("lists no posts")))
    }

    fn compare(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Self::Uploaded>,
        listed: &ListedPost,
    ) -> PostMatch {
        let _ = (request, prepared, listed);
        PostMatch::Possible
    }

    fn follow_ups(&self, request: &PublishRequest<'_>) -> Vec<&'static str> {
        let _ = request;
        Vec::new()
    }

    fn follow_up(
        &self,
        request: &PublishRequest<'_>,
        follow_up: &FollowUp<'_>,
    ) -> impl Future<Output = Result<Followed, AttemptError>> + Send {
        let _ = (request, follow_up);
        ready(Ok(Followed::Done))
    }

    /// The last resort where nothing can be read.
    fn without_look_up(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, Self::Uploaded>,
        since: DateTime<Utc>,
        advice: String,
    ) -> impl Future<Output = Resolution> + Send {
        let _ = (request, prepared, since);
        ready(Resolution::Undeterminable { advice })
    }
}

fn not_implemented(action: &str) -> CallError {
    CallError::new(ErrorKind::NotSent, Effect::Private, format!("the adapter {action}"))
}

pub(crate) struct Prepared<'a, U> {
    pub(crate) files: Vec<PreparedFile<'a, U>>,
    pub(crate) extra: &'a Value,
}

pub(crate) struct PreparedFile<'a, U> {
    pub(crate) attachment: &'a Attachment,
    pub(crate) uploaded: &'a U,
    /// For [`MediaSource::PublicUrl`]: where the platform can fetch it for an hour at least.
    pub(crate) url: Option<String>,
}

/// Stored between the steps, so that a step that is repeated after a crash repeats one call, not all of them.
#[derive(Serialize, Deserialize)]
#[serde(bound = "U: Serialize + DeserializeOwned", default)]
struct Progress<U> {
    /// In the order of the post.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<Ready<U>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<PendingPicture>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upload: Option<UploadState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<TimelineSnapshot>,
    /// The reference of [`CallError::accepted`].
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<Value>,
}

#[derive(Serialize, Deserialize)]
struct Ready<U> {
    uploaded: U,
    /// For [`MediaSource::PublicUrl`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
}

impl<U> Default for Progress<U> {
    fn default() -> Self {
        Self { files: Vec::new(), picture: None, upload: None, extra: None, snapshot: None, accepted: None }
    }
}

impl<U: Serialize + DeserializeOwned> Progress<U> {
    fn store(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.extra.is_none() && self.snapshot.is_none()
    }

    fn again(&self, at: DateTime<Utc>) -> Step {
        Step::Again { progress: self.store(), at }
    }
}

#[async_trait::async_trait]
impl<A: PublishAdapter> Publish for A {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        deadline::step(A::TITLE, request, next_step(self, request)).await
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let progress: Progress<A::Uploaded> = request.progress();
        if progress.accepted.is_some() {
            // The preparation is used up, and a look-up of another call would find the outcome of that one.
            return Err(AttemptError::PreparationExpired {
                reason: format!("{} accepted the post earlier, and did not publish it", A::TITLE),
            });
        }
        let prepared = prepared(self, request, &progress, true).await?;
        let created = self.create_post(request, &prepared).await;
        drop(prepared);
        match created {
            Err(CallError { details: Details::Accepted(reference), message: reason, .. }) => {
                let progress = Some(Progress { accepted: Some(reference), ..progress }.store());
                Err(AttemptError::Accepted { progress, reason })
            }
            created => Ok(created?),
        }
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        let stored = request.progress.map(serde_json::from_str::<Progress<A::Uploaded>>).transpose();
        let Ok(progress) = stored.map(Option::unwrap_or_default) else {
            return Resolution::Pending { reason: "the stored progress of the post could not be read".to_owned() };
        };
        if progress.files.len() != request.media.len() {
            // The publish call comes after all files.
            return request.never_made();
        }
        let looked_up = async {
            if let Some(reference) = &progress.accepted {
                return self.find_accepted(request, reference).await.unwrap_or_else(CallError::resolution);
            }
            let prepared = match prepared(self, request, &progress, false).await {
                Ok(prepared) => prepared,
                Err(error) => return Resolution::Pending { reason: error.into_reason() },
            };
            look_up::resolve(self, request, &prepared, progress.snapshot.as_ref(), since).await
        };
        deadline::look_up(A::TITLE, request, looked_up).await
    }

    fn follow_ups(&self, request: &PublishRequest<'_>) -> Vec<&'static str> {
        PublishAdapter::follow_ups(self, request)
    }

    async fn follow_up(
        &self,
        request: &PublishRequest<'_>,
        follow_up: &FollowUp<'_>,
    ) -> Result<Followed, AttemptError> {
        PublishAdapter::follow_up(self, request, follow_up).await
    }

    fn recognizes_own_posts(&self) -> bool {
        A::RECOGNIZES
    }

    fn fetches_files(&self) -> bool {
        A::FETCHES_FILES
    }

    fn settle_time(&self) -> TimeDelta {
        A::SETTLE_TIME
    }

    fn look_up_policy(&self) -> LookUpPolicy {
        LookUpPolicy { settle_time: A::SETTLE_TIME, is_billed: A::LOOK_UPS_ARE_BILLED }
    }
}

async fn prepared<'a, A: PublishAdapter>(
    adapter: &A,
    request: &PublishRequest<'a>,
    progress: &'a Progress<A::Uploaded>,
    needs_urls: bool,
) -> Result<Prepared<'a, A::Uploaded>, AttemptError> {
    if progress.files.len() != request.media.len() {
        return Err(AttemptError::PreparationExpired { reason: "not every file is uploaded".to_owned() });
    }
    let mut files = Vec::new();
    for (attachment, Ready { uploaded, source }) in request.media.iter().zip(&progress.files) {
        let url = match (adapter.media_source(request, attachment), source) {
            (MediaSource::PublicUrl(bounds), Some(source)) if needs_urls => {
                Some(picture::public_url(request, attachment, bounds, *source).await?)
            }
            _ => None,
        };
        files.push(PreparedFile { attachment, uploaded, url });
    }
    Ok(Prepared { files, extra: progress.extra.as_ref().unwrap_or(&Value::Null) })
}

async fn next_step<A: PublishAdapter>(adapter: &A, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
    let mut progress: Progress<A::Uploaded> = request.progress();
    if let Some(attachment) = request.media.get(progress.files.len()) {
        let label = request.place(attachment);
        let stepped = file_step(adapter, request, attachment, &mut progress).await;
        let at = stepped.map_err(|it| it.map_reason(|reason| format!("{label}: {reason}")))?;
        if let Some(at) = at.or_else(|| (progress.files.len() < request.media.len()).then_some(request.now)) {
            return Ok(progress.again(at));
        }
    }
    if progress.extra.is_none() {
        let files = prepared(adapter, request, &progress, false).await?;
        let (extra, processing) = adapter.prepare_post(request, &files).await?;
        let is_extra = !extra.is_null();
        progress.extra = is_extra.then_some(extra);
        if is_extra && TimeDelta::zero() < processing {
            return Ok(progress.again(request.now + processing));
        }
    }
    let is_post = request.segment == SegmentKind::Post;
    if is_post && adapter.look_up_method(request).needs_snapshot() && progress.snapshot.is_none() {
        let at = request.publish_at - SNAPSHOT_LEAD;
        if request.now < at {
            return Ok(progress.again(at));
        }
        progress.snapshot = Some(snapshot(adapter, request).await?);
    }
    Ok(Step::Ready { progress: if progress.is_empty() { None } else { Some(progress.store()) } })
}

/// The ids of the account's newest posts. A post that the account shows later is newer.
async fn snapshot<A: PublishAdapter>(
    adapter: &A,
    request: &PublishRequest<'_>,
) -> Result<TimelineSnapshot, AttemptError> {
    match adapter.list_posts(request, None, None).await {
        Ok(page) => Ok(TimelineSnapshot::from_posts(&page.posts)),
        Err(error) if error.kind == ErrorKind::Forbidden => Ok(TimelineSnapshot::Unreadable),
        Err(error) => match error.into() {
            AttemptError::RetryLater { .. } if request.publish_at + SNAPSHOT_TIMEOUT <= request.now => {
                Ok(TimelineSnapshot::Unreadable)
            }
            // A limit on reading the list must not delay the post.
            AttemptError::RetryLater { retry_at, reason } => Err(AttemptError::RetryLater {
                retry_at: retry_at.map(|it| it.min(request.publish_at + SNAPSHOT_TIMEOUT)),
                reason,
            }),
            setback => Err(setback),
        },
    }
}

/// One step of one file. Returns when the next step is due, `None` once the file is ready.
async fn file_step<A: PublishAdapter>(
    adapter: &A,
    request: &PublishRequest<'_>,
    attachment: &Attachment,
    progress: &mut Progress<A::Uploaded>,
) -> Result<Option<DateTime<Utc>>, AttemptError> {
    let media_source = adapter.media_source(request, attachment);
    let (mut fitted, mut source) = (None, None);
    // An upload in parts, or one that is being processed, has its bytes already.
    let bounds =
        if progress.upload.is_some() { None } else { bounds(request, attachment, media_source, progress).await? };
    match (media_source, bounds) {
        (MediaSource::PublicUrl(bounds), _) => {
            match picture::source(request, attachment, bounds, progress.picture).await? {
                PictureState::Ready(ready) => source = Some(ready),
                PictureState::Again(pending, at) => {
                    progress.picture = Some(pending);
                    return Ok(Some(at));
                }
            }
        }
        (_, Some(bounds)) => match picture::fitted(request, attachment, bounds, progress.picture).await? {
            PictureState::Ready((picture, _)) => fitted = Some(picture),
            PictureState::Again(pending, at) => {
                progress.picture = Some(pending);
                return Ok(Some(at));
            }
        },
        (_, None) => {}
    }
    let file = File { attachment, picture: fitted };
    match upload::step(adapter, request, &file, progress.upload.take()).await? {
        Progressed::Uploaded(uploaded) => {
            progress.picture = None;
            progress.files.push(Ready { uploaded, source });
            Ok(None)
        }
        Progressed::At(state, at) => {
            progress.upload = Some(state);
            Ok(Some(at))
        }
    }
}

/// The bounds for a fitted picture; `None` if the original is sent.
async fn bounds<U>(
    request: &PublishRequest<'_>,
    attachment: &Attachment,
    source: MediaSource,
    progress: &Progress<U>,
) -> Result<Option<domain::media::PictureBounds>, AttemptError> {
    Ok(match source {
        MediaSource::Original | MediaSource::PublicUrl(_) => None,
        MediaSource::Fitted(bounds) => Some(bounds),
        MediaSource::FittedIfLarger(bounds) => {
            let is_larger = progress.picture.is_some()
                || bounds.max_bytes < attachment.size_bytes
                || picture::is_longer(request, attachment, bounds.max_side).await?;
            is_larger.then_some(bounds)
        }
    })
}

#[cfg(test)]
mod tests;
