//! How a post becomes a container that can be published: one step at a time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use domain::media::{Attachment, FileType};
use serde::Deserialize;

use super::standing::{self, Standing};
use super::{Containers, Form, Made, Progress, quota};
use crate::caller::Caller;
use crate::job::Job;
use crate::meta::failure::{Blame, Failure};
use crate::meta::fetch;
use crate::meta::graph::Answered;
use crate::picture::{self, Look};
use crate::platform::Step;
use crate::watch;

/// For making one: it may fetch its file meanwhile.
const MAKE: Duration = Duration::from_secs(30);

/// How long until the first look at a container; later looks are further apart.
const FIRST_LOOK: TimeDelta = TimeDelta::seconds(2);

/// The longest time between two looks.
const LONGEST_PAUSE: TimeDelta = TimeDelta::seconds(30);

/// How long a container may be worked on. Videos take minutes.
const PATIENCE: TimeDelta = TimeDelta::minutes(30);

/// How many containers may come to nothing.
const MOST_LOST: u32 = 3;

/// How long until another one is made; twice as long after the second.
const ANOTHER: TimeDelta = TimeDelta::seconds(20);

/// What the call that makes a container answers.
#[derive(Deserialize)]
struct New {
    id: String,
}

/// What comes after a step.
enum Next {
    /// Another one, not before this.
    At(DateTime<Utc>),
    /// Only the public call.
    Nothing,
}

/// What came of a container, or of making one.
enum Came<T> {
    /// What was to come.
    To(T),
    /// Not yet; when to look again.
    Later(DateTime<Utc>),
    /// Nothing, for a reason that may pass: words for the user.
    Nothing(String),
}

/// The address of a file.
enum Address {
    /// It was read from here just now.
    Known(String),
    /// The picture is being made to fit; when to look again.
    NotYet(DateTime<Utc>),
}

/// One step.
pub(crate) async fn prepare(of: &impl Containers, job: &Job<'_>) -> Result<Step, Setback> {
    watch::step(of.graph().title, job, step(of, job)).await
}

async fn step(of: &impl Containers, job: &Job<'_>) -> Result<Step, Setback> {
    let mut progress = Progress::of(job);
    let next = next(of, job, &mut progress).await?;
    let progress = progress.store();
    Ok(match next {
        Next::At(at) => Step::Again { progress, at },
        Next::Nothing => Step::Ready { progress: Some(progress) },
    })
}

async fn next(of: &impl Containers, job: &Job<'_>, progress: &mut Progress) -> Result<Next, Setback> {
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
            // The items of a carousel may be what is of no use any more.
            Came::Nothing(why) => anew(job, progress, 0, why),
        };
    }
    match job.media {
        [] => whole(of, job, progress, Form::Text).await,
        [file] => match address(of, job, file, progress).await? {
            Address::Known(url) => whole(of, job, progress, Form::Single(file, &url)).await,
            Address::NotYet(at) => Ok(Next::At(at)),
        },
        files => carousel(of, job, progress, files).await,
    }
}

/// The containers of all files, and then that of the post.
async fn carousel(
    of: &impl Containers,
    job: &Job<'_>,
    progress: &mut Progress,
    files: &[Attachment],
) -> Result<Next, Setback> {
    let made = progress.items.len();
    if let Some(file) = files.get(made) {
        let url = match address(of, job, file, progress).await? {
            Address::Known(url) => url,
            Address::NotYet(at) => return Ok(Next::At(at)),
        };
        return match make(of, job, Form::Item(file, &url)).await? {
            Came::To((item, look_at)) => {
                progress.items.push(item);
                Ok(Next::At(if made + 1 == files.len() { look_at } else { job.now }))
            }
            Came::Later(at) => Ok(Next::At(at)),
            Came::Nothing(why) => anew(job, progress, made, why),
        };
    }
    let Some(index) = progress.items.iter().position(|it| !it.is_ready) else {
        let ids: Vec<_> = progress.items.iter().map(|it| it.id.clone()).collect();
        return whole(of, job, progress, Form::Carousel(&ids)).await;
    };
    match look(of, job, &mut progress.items[index], files.get(index)).await? {
        Came::To(()) => Ok(Next::At(job.now)),
        Came::Later(at) => Ok(Next::At(at)),
        Came::Nothing(why) => anew(job, progress, index, why),
    }
}

/// The container that is published.
async fn whole(of: &impl Containers, job: &Job<'_>, progress: &mut Progress, form: Form<'_>) -> Result<Next, Setback> {
    match make(of, job, form).await? {
        Came::To((whole, look_at)) => {
            progress.whole = Some(whole);
            Ok(Next::At(look_at))
        }
        Came::Later(at) => Ok(Next::At(at)),
        Came::Nothing(why) => anew(job, progress, 0, why),
    }
}

/// What has come to nothing is made anew, unless too much did. Of the items, those before
/// this one are kept: their order is that of the post.
fn anew(job: &Job<'_>, progress: &mut Progress, kept: usize, why: String) -> Result<Next, Setback> {
    progress.whole = None;
    progress.items.truncate(kept);
    progress.lost += 1;
    if MOST_LOST <= progress.lost {
        return Err(Setback::Refused { reason: why });
    }
    Ok(Next::At(job.now + ANOTHER * i32::try_from(progress.lost).unwrap_or(1)))
}

async fn address(
    of: &impl Containers,
    job: &Job<'_>,
    file: &Attachment,
    progress: &mut Progress,
) -> Result<Address, Setback> {
    let http = &of.graph().http;
    let bounds = of.bounds(job, file).filter(|_| file.mime_type.file_type() == FileType::Image);
    let Some(bounds) = bounds else { return Ok(Address::Known(fetch::address(http, job, file).await?)) };
    match picture::public(job, file, bounds, progress.picture).await? {
        Look::Again(awaited, at) => {
            progress.picture = Some(awaited);
            Ok(Address::NotYet(at))
        }
        Look::Ready(url) => {
            progress.picture = None;
            Ok(Address::Known(fetch::checked(http, job, file, url).await?))
        }
    }
}

/// Makes a container; with it, when to look at it.
async fn make(of: &impl Containers, job: &Job<'_>, form: Form<'_>) -> Result<Came<(Made, DateTime<Utc>)>, Setback> {
    let fields = of.fields(job, form);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let path = format!("/{}/{}", job.profile.account_id, of.calls().media);
    let file = match form {
        Form::Single(file, _) | Form::Item(file, _) => Some(file),
        Form::Text | Form::Carousel(_) => None,
    };
    match of.graph().post::<New>(Caller::of(job), &path, &fields, MAKE).await {
        Ok(Answered { body: New { id }, usage }) => {
            let look_at = usage.not_before(job.now + FIRST_LOOK, job.now);
            Ok(Came::To((Made { id, at: job.now, is_ready: false }, look_at)))
        }
        Err(failure) => match failure.blame() {
            Some(Blame::NotFetched) => {
                let title = of.graph().title;
                Ok(Came::Nothing(fetch::not_fetched(job, file, title, &failure.into_words())))
            }
            // An item of a carousel that is not known any more.
            Some(Blame::Gone) => Ok(Came::Nothing(failure.into_words())),
            _ => Err(placed(job, file, failure)),
        },
    }
}

/// The setback of a failure, with the file that it is about.
fn placed(job: &Job<'_>, file: Option<&Attachment>, failure: Failure) -> Setback {
    let setback = failure.before_the_call(job.now);
    match file {
        Some(file) => setback.in_words(|it| format!("{}: {it}", job.place(file))),
        None => setback,
    }
}

/// Asks whether a container can be used.
async fn look(
    of: &impl Containers,
    job: &Job<'_>,
    made: &mut Made,
    file: Option<&Attachment>,
) -> Result<Came<()>, Setback> {
    let title = of.graph().title;
    let named = |why: String| match file {
        Some(file) => format!("{}: {title} could not use it: {why}", job.place(file)),
        None => format!("{title} could not make the post: {why}"),
    };
    let Answered { body, usage } = match standing::ask(of, Caller::of(job), &made.id).await {
        Ok(answered) => answered,
        Err(failure) if failure.blame() == Some(Blame::Gone) => return Ok(Came::Nothing(named(failure.into_words()))),
        Err(failure) => return Err(placed(job, file, failure)),
    };
    match body {
        // Should it be public already, the public call finds that out.
        Standing::Ready | Standing::Public => {
            made.is_ready = true;
            Ok(Came::To(()))
        }
        Standing::Working if made.at + PATIENCE < job.now => {
            Ok(Came::Nothing(named(format!("it was still worked on after {} minutes", PATIENCE.num_minutes()))))
        }
        Standing::Working => {
            let pause = ((job.now - made.at) / 2).clamp(FIRST_LOOK, LONGEST_PAUSE);
            Ok(Came::Later(usage.not_before(job.now + pause, job.now)))
        }
        Standing::Refused { why } => Err(Setback::Refused { reason: named(why) }),
        Standing::Lost { why, is_of_file: true } => Ok(Came::Nothing(fetch::not_fetched(job, file, title, &why))),
        Standing::Lost { why, is_of_file: false } => Ok(Came::Nothing(named(why))),
    }
}
