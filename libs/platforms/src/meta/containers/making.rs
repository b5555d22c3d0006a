//! Creates the container of a post, one step at a time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::{Attachment, FileType};
use domain::post::SegmentKind;
use serde::Deserialize;
use url::Url;

use super::container_status::{self, ContainerReport, ContainerStatus, FailedContainer, FailureCause};
use super::{Containers, CreatedContainer, Form, Pause, Progress, quota};
use crate::caller::Caller;
use crate::deadline;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::meta::fetch;
use crate::meta::graph::WithUsage;
use crate::meta::id::GraphId;
use crate::picture::{self, PictureState};
use crate::platform::Step;
use crate::publish_request::PublishRequest;
use crate::redaction::redact_message;

/// Long, because Meta may fetch the file during the call.
const MAKE: Duration = Duration::from_secs(30);

/// The pause before the status of a container is read first; later pauses are longer.
const FIRST_LOOK: TimeDelta = TimeDelta::seconds(2);

const LONGEST_PAUSE: TimeDelta = TimeDelta::seconds(30);

/// Videos take minutes.
const PROCESSING_LIMIT: TimeDelta = TimeDelta::minutes(30);

/// How many containers may fail for a temporary reason other than [`FailureCause::Fetch`].
const MOST_LOST: u32 = 3;

/// The pause after a container failed, which doubles from one to the next where Meta could not fetch a file.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(20);

/// The longest pause. Hosts that Meta refuses one day it accepts the next.
const LONGEST_FETCH_PAUSE: TimeDelta = TimeDelta::minutes(30);

#[derive(Deserialize)]
struct NewContainer {
    id: GraphId,
    uri: Option<Url>,
}

enum PreparationStep {
    /// Another step, not before this time.
    At(DateTime<Utc>),
    /// Only the publish call.
    Nothing,
    /// The container of the reply, once the post before it is public.
    Parent,
}

enum ContainerStep<T> {
    To(T),
    /// Not ready; when to read the status again.
    Later(DateTime<Utc>),
    Nothing(FailedContainer),
}

enum Source {
    /// From this URL, which was just read successfully from here.
    Url(String),
    Bytes,
    /// The picture is being fitted; when to look again.
    NotYet(DateTime<Utc>),
}

impl Source {
    fn url(&self) -> Option<&str> {
        if let Self::Url(url) = self { Some(url) } else { None }
    }
}

pub(crate) async fn prepare(platform: &impl Containers, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
    deadline::step(platform.graph().title(), request, step(platform, request)).await
}

async fn step(platform: &impl Containers, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
    let mut progress = Progress::current(request);
    let next = next(platform, request, &mut progress).await?;
    let progress = progress.store();
    Ok(match next {
        PreparationStep::At(at) => Step::Again { progress, at },
        PreparationStep::Nothing => Step::Ready { progress: Some(progress) },
        PreparationStep::Parent => Step::NeedsParent { progress: Some(progress) },
    })
}

async fn next(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    progress: &mut Progress,
) -> Result<PreparationStep, AttemptError> {
    if let Some(Pause { until, why: reason }) = progress.pause.take()
        && request.now < until
    {
        return Err(AttemptError::RetryLater { retry_at: Some(until), reason });
    }
    if !progress.may_publish {
        // Replies have a quota of their own, which is larger than a day of threads.
        if request.segment == SegmentKind::Post {
            quota::check(platform, request).await?;
        }
        progress.may_publish = true;
        return Ok(PreparationStep::At(request.now));
    }
    if let Some(container) = &mut progress.whole {
        if container.is_ready {
            return Ok(PreparationStep::Nothing);
        }
        let file = if let [file] = request.media { Some(file) } else { None };
        return match check_status(platform, request, container, file).await? {
            ContainerStep::To(()) => Ok(PreparationStep::Nothing),
            ContainerStep::Later(at) => Ok(PreparationStep::At(at)),
            // An item of the carousel may be what has expired.
            ContainerStep::Nothing(lost) => start_again(request, progress, 0, lost),
        };
    }
    match request.media {
        [] => whole(platform, request, progress, Form::Text).await,
        [file] => match source(platform, request, file, progress).await? {
            Source::NotYet(at) => Ok(PreparationStep::At(at)),
            source => whole(platform, request, progress, Form::Single(file, source.url())).await,
        },
        files => carousel(platform, request, progress, files).await,
    }
}

async fn carousel(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    progress: &mut Progress,
    files: &[Attachment],
) -> Result<PreparationStep, AttemptError> {
    let item_count = progress.items.len();
    if let Some(file) = files.get(item_count) {
        let source = match source(platform, request, file, progress).await? {
            Source::NotYet(at) => return Ok(PreparationStep::At(at)),
            source => source,
        };
        return match create_container(platform, request, Form::Item(file, source.url())).await? {
            ContainerStep::To((item, next_step_at)) => {
                progress.items.push(item);
                Ok(PreparationStep::At(if item_count + 1 == files.len() { next_step_at } else { request.now }))
            }
            ContainerStep::Later(at) => Ok(PreparationStep::At(at)),
            ContainerStep::Nothing(lost) => start_again(request, progress, item_count, lost),
        };
    }
    let Some(index) = progress.items.iter().position(|it| !it.is_ready) else {
        let ids: Vec<_> = progress.items.iter().map(|it| it.id.clone()).collect();
        return whole(platform, request, progress, Form::Carousel(&ids)).await;
    };
    match check_status(platform, request, &mut progress.items[index], files.get(index)).await? {
        ContainerStep::To(()) => Ok(PreparationStep::At(request.now)),
        ContainerStep::Later(at) => Ok(PreparationStep::At(at)),
        ContainerStep::Nothing(lost) => start_again(request, progress, index, lost),
    }
}

async fn whole(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    progress: &mut Progress,
    form: Form<'_>,
) -> Result<PreparationStep, AttemptError> {
    if platform.has_replies() && request.segment == SegmentKind::Reply && request.reply_to.is_none() {
        return Ok(PreparationStep::Parent);
    }
    match create_container(platform, request, form).await? {
        ContainerStep::To((container, next_step_at)) => {
            progress.whole = Some(container);
            Ok(PreparationStep::At(next_step_at))
        }
        ContainerStep::Later(at) => Ok(PreparationStep::At(at)),
        ContainerStep::Nothing(lost) => start_again(request, progress, 0, lost),
    }
}

/// Creates the failed containers again, after a pause in which the user reads the reason. Items
/// before this one are kept, because their order is that of the post.
fn start_again(
    request: &PublishRequest<'_>,
    progress: &mut Progress,
    kept_items: usize,
    lost: FailedContainer,
) -> Result<PreparationStep, AttemptError> {
    let FailedContainer { why: reason, cause } = lost;
    progress.whole = None;
    progress.items.truncate(kept_items);
    let pause = if cause == FailureCause::Fetch {
        progress.unfetched += 1;
        (FIRST_PAUSE * (1 << (progress.unfetched - 1).min(10))).min(LONGEST_FETCH_PAUSE)
    } else {
        progress.lost += 1;
        if MOST_LOST <= progress.lost {
            return Err(AttemptError::Refused { reason });
        }
        match cause {
            FailureCause::Pause(pause) => pause,
            FailureCause::Fetch | FailureCause::Other => FIRST_PAUSE * i32::try_from(progress.lost).unwrap_or(1),
        }
    };
    // The reason is stored, and may repeat the request.
    let reason = redact_message(&reason, request.credentials.account_token());
    progress.pause = Some(Pause { until: request.now + pause, why: reason });
    Ok(PreparationStep::At(request.now))
}

async fn source(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    file: &Attachment,
    progress: &mut Progress,
) -> Result<Source, AttemptError> {
    let http = &platform.graph().http;
    // Alternates, in case one of the two ways is blocked.
    if platform.sends_bytes(file) && (progress.lost + progress.unfetched).is_multiple_of(2) {
        return Ok(Source::Bytes);
    }
    let bounds = platform.bounds(request, file).filter(|_| file.mime_type.file_type() == FileType::Image);
    let Some(bounds) = bounds else { return Ok(Source::Url(fetch::address(http, request, file).await?)) };
    match picture::public(request, file, bounds, progress.picture).await? {
        PictureState::Again(pending, at) => {
            progress.picture = Some(pending);
            Ok(Source::NotYet(at))
        }
        PictureState::Ready(url) => {
            progress.picture = None;
            Ok(Source::Url(fetch::checked(http, request, file, url).await?))
        }
    }
}

/// Returns when to read its status.
async fn create_container(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    form: Form<'_>,
) -> Result<ContainerStep<(CreatedContainer, DateTime<Utc>)>, AttemptError> {
    let fields = platform.fields(request, form);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let path = format!("/{}/{}", request.profile.account_id, platform.calls().media);
    let (file, needs_upload) = match form {
        Form::Single(file, url) | Form::Item(file, url) => (Some(file), url.is_none()),
        Form::Text | Form::Carousel(_) => (None, false),
    };
    let graph = platform.graph();
    let error =
        match graph.post::<NewContainer>(Effect::Private, Caller::for_request(request), &path, &fields, MAKE).await {
            Ok(WithUsage { body: NewContainer { id, uri }, usage }) => {
                let container = |upload_url| CreatedContainer { id, at: request.now, is_ready: false, upload_url };
                if !needs_upload {
                    return Ok(ContainerStep::To((
                        container(None),
                        usage.not_before(request.now + FIRST_LOOK, request.now),
                    )));
                }
                let unreadable = || CallError::unreadable(graph.title(), Effect::Private);
                match uri.ok_or_else(unreadable).and_then(|it| graph.upload_url(it)) {
                    Ok(url) => return Ok(ContainerStep::To((container(Some(url)), request.now))),
                    Err(error) => error,
                }
            }
            Err(error) => graph.confirmed(request, error).await,
        };
    match (error.kind, file) {
        (ErrorKind::FetchFailed, Some(file)) => {
            let reason = fetch::fetch_failed_message(request, file, graph.title(), &error.message);
            Ok(ContainerStep::Nothing(FailedContainer { why: reason, cause: FailureCause::Fetch }))
        }
        // An item of a carousel that Meta no longer knows.
        (ErrorKind::PreparationExpired, _) => Ok(ContainerStep::Nothing(FailedContainer::other(error.message))),
        _ => Err(attempt_error_for_file(request, file, error)),
    }
}

fn attempt_error_for_file(request: &PublishRequest<'_>, file: Option<&Attachment>, error: CallError) -> AttemptError {
    let attempt_error = AttemptError::from(error);
    match file {
        Some(file) => attempt_error.map_reason(|it| format!("{}: {it}", request.place(file))),
        None => attempt_error,
    }
}

async fn check_status(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    container: &mut CreatedContainer,
    file: Option<&Attachment>,
) -> Result<ContainerStep<()>, AttemptError> {
    let title = platform.graph().title();
    let with_context = |reason: String| match file {
        Some(file) => format!("{}: {title} could not process the file: {reason}", request.place(file)),
        None => format!("{title} could not prepare the post: {reason}"),
    };
    let WithUsage { body, usage } = match container_status::read_status(
        platform,
        Caller::for_request(request),
        &container.id,
        container.upload_url.is_some(),
    )
    .await
    {
        Ok(answered) => answered,
        // A container that Meta does not show is lost. The next container shows whether the account is lost, too.
        Err(error) if error.kind == ErrorKind::PreparationExpired || error.is_missing() => {
            return Ok(ContainerStep::Nothing(FailedContainer::other(with_context(error.message))));
        }
        Err(error) => return Err(attempt_error_for_file(request, file, error)),
    };
    let ContainerReport { status, arrived: bytes_received } = body;
    match (status, file) {
        // If it is public already, the publish call finds that out.
        (ContainerStatus::Ready | ContainerStatus::Public, _) => {
            (container.is_ready, container.upload_url) = (true, None);
            Ok(ContainerStep::To(()))
        }
        (ContainerStatus::Working, _) if container.at + PROCESSING_LIMIT < request.now => {
            let reason = format!("it was still being processed after {} minutes", PROCESSING_LIMIT.num_minutes());
            Ok(ContainerStep::Nothing(FailedContainer::other(with_context(reason))))
        }
        (ContainerStatus::Working, file) => {
            if let (Some(url), Some(file)) = (container.upload_url.take(), file)
                && let Some(bytes_received) = bytes_received.filter(|it| *it < file.size_bytes)
            {
                return send_bytes(platform, request, (file, bytes_received), &url).await;
            }
            let pause = ((request.now - container.at) / 2).clamp(FIRST_LOOK, LONGEST_PAUSE);
            Ok(ContainerStep::Later(usage.not_before(request.now + pause, request.now)))
        }
        (ContainerStatus::Refused { why: reason }, _) => Err(AttemptError::Refused { reason: with_context(reason) }),
        (ContainerStatus::Lost(FailedContainer { why: reason, cause: FailureCause::Fetch }), Some(file)) => {
            let reason = fetch::fetch_failed_message(request, file, title, &reason);
            Ok(ContainerStep::Nothing(FailedContainer { why: reason, cause: FailureCause::Fetch }))
        }
        (ContainerStatus::Lost(FailedContainer { why: reason, cause: FailureCause::Fetch }), None) => {
            Ok(ContainerStep::Nothing(FailedContainer::other(with_context(reason))))
        }
        (ContainerStatus::Lost(FailedContainer { why: reason, cause }), _) => {
            Ok(ContainerStep::Nothing(FailedContainer { why: with_context(reason), cause }))
        }
    }
}

/// Sends the bytes of a file from the offset that has arrived. A temporary error keeps the
/// container: the next step reads how much has arrived.
async fn send_bytes(
    platform: &impl Containers,
    request: &PublishRequest<'_>,
    (file, offset): (&Attachment, u64),
    url: &Url,
) -> Result<ContainerStep<()>, AttemptError> {
    let Err(error) = platform.graph().upload(request, file, offset, url).await else {
        return Ok(ContainerStep::Later(request.now + FIRST_LOOK));
    };
    let cause = match error.kind {
        // Meta could not process the request, which means nothing for the file.
        ErrorKind::PreparationExpired => FailureCause::Fetch,
        ErrorKind::InvalidPost | ErrorKind::Forbidden => FailureCause::Other,
        _ => return Err(attempt_error_for_file(request, Some(file), error)),
    };
    let reason =
        format!("{}: {} did not accept the file: {}", request.place(file), platform.graph().title(), error.message);
    Ok(ContainerStep::Nothing(FailedContainer { why: reason, cause }))
}
