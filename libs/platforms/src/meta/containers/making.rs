//! Creates the container of a post, one step at a time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use domain::media::{Attachment, FileType};
use serde::Deserialize;
use url::Url;

use super::standing::{self, Cause, Lost, Report, Standing};
use super::{Containers, Form, Made, Pause, Progress, quota};
use crate::caller::Caller;
use crate::deadline;
use crate::kit::{CallError, Effect, ErrorKind};
use crate::meta::fetch;
use crate::meta::graph::Answered;
use crate::meta::id::GraphId;
use crate::picture::{self, Look};
use crate::platform::Step;
use crate::publish_request::PublishRequest;
use crate::redaction::words_without;

/// Long, because Meta may fetch the file during the call.
const MAKE: Duration = Duration::from_secs(30);

/// The pause before the status of a container is read first; later pauses are longer.
const FIRST_LOOK: TimeDelta = TimeDelta::seconds(2);

const LONGEST_PAUSE: TimeDelta = TimeDelta::seconds(30);

/// How long a container may be processed. Videos take minutes.
const PATIENCE: TimeDelta = TimeDelta::minutes(30);

/// How many containers may fail for a temporary reason other than [`Cause::Fetch`].
const MOST_LOST: u32 = 3;

/// The pause after a container failed, which doubles from one to the next where Meta could not fetch a file.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(20);

/// The longest pause. Hosts that Meta refuses one day it accepts the next.
const LONGEST_FETCH_PAUSE: TimeDelta = TimeDelta::minutes(30);

/// The response of the call that creates a container.
#[derive(Deserialize)]
struct New {
    id: GraphId,
    uri: Option<Url>,
}

/// What follows a step.
enum Next {
    /// Another step, not before this time.
    At(DateTime<Utc>),
    /// Only the publish call.
    Nothing,
}

/// The result of creating a container, or of reading its status.
enum Came<T> {
    To(T),
    /// Not ready; when to read the status again.
    Later(DateTime<Utc>),
    /// It failed for a temporary reason.
    Nothing(Lost),
}

/// How Meta gets a file.
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

pub(crate) async fn prepare(of: &impl Containers, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
    deadline::step(of.graph().title(), job, step(of, job)).await
}

async fn step(of: &impl Containers, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
    let mut progress = Progress::of(job);
    let next = next(of, job, &mut progress).await?;
    let progress = progress.store();
    Ok(match next {
        Next::At(at) => Step::Again { progress, at },
        Next::Nothing => Step::Ready { progress: Some(progress) },
    })
}

async fn next(of: &impl Containers, job: &PublishRequest<'_>, progress: &mut Progress) -> Result<Next, AttemptError> {
    if let Some(Pause { until, why }) = progress.pause.take()
        && job.now < until
    {
        return Err(AttemptError::RetryLater { retry_at: Some(until), reason: why });
    }
    if !progress.may_publish {
        quota::check(of, job).await?;
        progress.may_publish = true;
        return Ok(Next::At(job.now));
    }
    if let Some(whole) = &mut progress.whole {
        if whole.is_ready {
            return Ok(Next::Nothing);
        }
        let file = if let [file] = job.media { Some(file) } else { None };
        return match look(of, job, whole, file).await? {
            Came::To(()) => Ok(Next::Nothing),
            Came::Later(at) => Ok(Next::At(at)),
            // An item of the carousel may be what has expired.
            Came::Nothing(lost) => anew(job, progress, 0, lost),
        };
    }
    match job.media {
        [] => whole(of, job, progress, Form::Text).await,
        [file] => match source(of, job, file, progress).await? {
            Source::NotYet(at) => Ok(Next::At(at)),
            source => whole(of, job, progress, Form::Single(file, source.url())).await,
        },
        files => carousel(of, job, progress, files).await,
    }
}

async fn carousel(
    of: &impl Containers,
    job: &PublishRequest<'_>,
    progress: &mut Progress,
    files: &[Attachment],
) -> Result<Next, AttemptError> {
    let made = progress.items.len();
    if let Some(file) = files.get(made) {
        let source = match source(of, job, file, progress).await? {
            Source::NotYet(at) => return Ok(Next::At(at)),
            source => source,
        };
        return match make(of, job, Form::Item(file, source.url())).await? {
            Came::To((item, next_step_at)) => {
                progress.items.push(item);
                Ok(Next::At(if made + 1 == files.len() { next_step_at } else { job.now }))
            }
            Came::Later(at) => Ok(Next::At(at)),
            Came::Nothing(lost) => anew(job, progress, made, lost),
        };
    }
    let Some(index) = progress.items.iter().position(|it| !it.is_ready) else {
        let ids: Vec<_> = progress.items.iter().map(|it| it.id.clone()).collect();
        return whole(of, job, progress, Form::Carousel(&ids)).await;
    };
    match look(of, job, &mut progress.items[index], files.get(index)).await? {
        Came::To(()) => Ok(Next::At(job.now)),
        Came::Later(at) => Ok(Next::At(at)),
        Came::Nothing(lost) => anew(job, progress, index, lost),
    }
}

async fn whole(
    of: &impl Containers,
    job: &PublishRequest<'_>,
    progress: &mut Progress,
    form: Form<'_>,
) -> Result<Next, AttemptError> {
    match make(of, job, form).await? {
        Came::To((whole, next_step_at)) => {
            progress.whole = Some(whole);
            Ok(Next::At(next_step_at))
        }
        Came::Later(at) => Ok(Next::At(at)),
        Came::Nothing(lost) => anew(job, progress, 0, lost),
    }
}

/// Creates the failed containers again, after a pause in which the user reads the reason. Items
/// before this one are kept, because their order is that of the post.
fn anew(job: &PublishRequest<'_>, progress: &mut Progress, kept: usize, lost: Lost) -> Result<Next, AttemptError> {
    let Lost { why, cause } = lost;
    progress.whole = None;
    progress.items.truncate(kept);
    let pause = if cause == Cause::Fetch {
        progress.unfetched += 1;
        (FIRST_PAUSE * (1 << (progress.unfetched - 1).min(10))).min(LONGEST_FETCH_PAUSE)
    } else {
        progress.lost += 1;
        if MOST_LOST <= progress.lost {
            return Err(AttemptError::Refused { reason: why });
        }
        match cause {
            Cause::Pause(pause) => pause,
            Cause::Fetch | Cause::Other => FIRST_PAUSE * i32::try_from(progress.lost).unwrap_or(1),
        }
    };
    // The reason is stored, and may repeat the request.
    let why = words_without(&why, job.credentials.account_token());
    progress.pause = Some(Pause { until: job.now + pause, why });
    Ok(Next::At(job.now))
}

async fn source(
    of: &impl Containers,
    job: &PublishRequest<'_>,
    file: &Attachment,
    progress: &mut Progress,
) -> Result<Source, AttemptError> {
    let http = &of.graph().http;
    // Alternates, in case one of the two ways is blocked.
    if of.sends_bytes(file) && (progress.lost + progress.unfetched).is_multiple_of(2) {
        return Ok(Source::Bytes);
    }
    let bounds = of.bounds(job, file).filter(|_| file.mime_type.file_type() == FileType::Image);
    let Some(bounds) = bounds else { return Ok(Source::Url(fetch::address(http, job, file).await?)) };
    match picture::public(job, file, bounds, progress.picture).await? {
        Look::Again(awaited, at) => {
            progress.picture = Some(awaited);
            Ok(Source::NotYet(at))
        }
        Look::Ready(url) => {
            progress.picture = None;
            Ok(Source::Url(fetch::checked(http, job, file, url).await?))
        }
    }
}

/// Creates a container, and returns when to read its status.
async fn make(
    of: &impl Containers,
    job: &PublishRequest<'_>,
    form: Form<'_>,
) -> Result<Came<(Made, DateTime<Utc>)>, AttemptError> {
    let fields = of.fields(job, form);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let path = format!("/{}/{}", job.profile.account_id, of.calls().media);
    let (file, awaits_bytes) = match form {
        Form::Single(file, url) | Form::Item(file, url) => (Some(file), url.is_none()),
        Form::Text | Form::Carousel(_) => (None, false),
    };
    let graph = of.graph();
    let error = match graph.post::<New>(Effect::Private, Caller::of(job), &path, &fields, MAKE).await {
        Ok(Answered { body: New { id, uri }, usage }) => {
            let made = |upload_url| Made { id, at: job.now, is_ready: false, upload_url };
            if !awaits_bytes {
                return Ok(Came::To((made(None), usage.not_before(job.now + FIRST_LOOK, job.now))));
            }
            let unreadable = || CallError::unreadable(graph.title(), Effect::Private);
            match uri.ok_or_else(unreadable).and_then(|it| graph.upload_url(it)) {
                Ok(url) => return Ok(Came::To((made(Some(url)), job.now))),
                Err(error) => error,
            }
        }
        Err(error) => graph.confirmed(job, error).await,
    };
    match (error.kind, file) {
        (ErrorKind::FetchFailed, Some(file)) => {
            let why = fetch::not_fetched(job, file, graph.title(), &error.message);
            Ok(Came::Nothing(Lost { why, cause: Cause::Fetch }))
        }
        // An item of a carousel that Meta no longer knows.
        (ErrorKind::PreparationExpired, _) => Ok(Came::Nothing(Lost::other(error.message))),
        _ => Err(placed(job, file, error)),
    }
}

/// The attempt error of a call, with the file that it is about.
fn placed(job: &PublishRequest<'_>, file: Option<&Attachment>, error: CallError) -> AttemptError {
    let setback = AttemptError::from(error);
    match file {
        Some(file) => setback.map_reason(|it| format!("{}: {it}", job.place(file))),
        None => setback,
    }
}

/// Reads the status of a container, and sends missing bytes of its file.
async fn look(
    of: &impl Containers,
    job: &PublishRequest<'_>,
    made: &mut Made,
    file: Option<&Attachment>,
) -> Result<Came<()>, AttemptError> {
    let title = of.graph().title();
    let named = |why: String| match file {
        Some(file) => format!("{}: {title} could not process the file: {why}", job.place(file)),
        None => format!("{title} could not prepare the post: {why}"),
    };
    let Answered { body, usage } = match standing::ask(of, Caller::of(job), &made.id, made.upload_url.is_some()).await {
        Ok(answered) => answered,
        // A container that Meta does not show is lost. The next container shows whether the account is lost, too.
        Err(error) if error.kind == ErrorKind::PreparationExpired || error.is_missing() => {
            return Ok(Came::Nothing(Lost::other(named(error.message))));
        }
        Err(error) => return Err(placed(job, file, error)),
    };
    let Report { standing, arrived } = body;
    match (standing, file) {
        // If it is public already, the publish call finds that out.
        (Standing::Ready | Standing::Public, _) => {
            (made.is_ready, made.upload_url) = (true, None);
            Ok(Came::To(()))
        }
        (Standing::Working, _) if made.at + PATIENCE < job.now => {
            let why = format!("it was still being processed after {} minutes", PATIENCE.num_minutes());
            Ok(Came::Nothing(Lost::other(named(why))))
        }
        (Standing::Working, file) => {
            if let (Some(url), Some(file)) = (made.upload_url.take(), file)
                && let Some(arrived) = arrived.filter(|it| *it < file.size_bytes)
            {
                return send(of, job, (file, arrived), &url).await;
            }
            let pause = ((job.now - made.at) / 2).clamp(FIRST_LOOK, LONGEST_PAUSE);
            Ok(Came::Later(usage.not_before(job.now + pause, job.now)))
        }
        (Standing::Refused { why }, _) => Err(AttemptError::Refused { reason: named(why) }),
        (Standing::Lost(Lost { why, cause: Cause::Fetch }), Some(file)) => {
            let why = fetch::not_fetched(job, file, title, &why);
            Ok(Came::Nothing(Lost { why, cause: Cause::Fetch }))
        }
        (Standing::Lost(Lost { why, cause: Cause::Fetch }), None) => Ok(Came::Nothing(Lost::other(named(why)))),
        (Standing::Lost(Lost { why, cause }), _) => Ok(Came::Nothing(Lost { why: named(why), cause })),
    }
}

/// Sends the bytes of a file from the offset that has arrived. A temporary error keeps the
/// container: the next step reads how much has arrived.
async fn send(
    of: &impl Containers,
    job: &PublishRequest<'_>,
    (file, arrived): (&Attachment, u64),
    url: &Url,
) -> Result<Came<()>, AttemptError> {
    let Err(error) = of.graph().upload(job, file, arrived, url).await else {
        return Ok(Came::Later(job.now + FIRST_LOOK));
    };
    let cause = match error.kind {
        // Meta could not process the request, which means nothing for the file.
        ErrorKind::PreparationExpired => Cause::Fetch,
        ErrorKind::InvalidPost | ErrorKind::Forbidden => Cause::Other,
        _ => return Err(placed(job, Some(file), error)),
    };
    let why = format!("{}: {} did not accept the file: {}", job.place(file), of.graph().title(), error.message);
    Ok(Came::Nothing(Lost { why, cause }))
}
