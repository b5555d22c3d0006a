//! `/account/posts/{post}/attempts`: what each call to a platform did for a post, newest first.

use api::page::{AccountPage, Page, PageResult, day, time_with_seconds};
use api::{Segments, SignedIn};
use askama::Template;
use axum::extract::State;
use domain::attempt::{Attempt, AttemptOutcome, AttemptStep};
use domain::post::{Post, SegmentKind};
use domain::time_zone::TimeZone;

use crate::App;
use crate::posts_forms::find;
use crate::posts_page::segment_name;

/// More would not be read; the API lists all.
const SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "attempts.html")]
struct AttemptsPage<'a> {
    attempts: Vec<AttemptRow<'a>>,
    is_cut: bool,
}

struct AttemptRow<'a> {
    at: String,
    platform: &'a str,
    name: Option<&'a str>,
    /// The reply or comment that the call was about; `None` for the post.
    part: Option<String>,
    step: &'static str,
    outcome: &'static str,
    is_good: bool,
    is_bad: bool,
    http_status: Option<u16>,
    duration_ms: u64,
    message: Option<&'a str>,
}

pub(crate) async fn show_attempts(
    State(app): State<App>,
    session: SignedIn,
    Segments(post): Segments<String>,
) -> PageResult<Page> {
    let post = find(&app, &session, &post).await?;
    let attempts = app.api.store.attempts(post.user_id, post.post_id, app.api.clock.now()).await?;
    let zone = session.zone();
    let page = AttemptsPage {
        attempts: attempts.iter().take(SHOWN).map(|it| AttemptRow::new(it, &post, &zone)).collect(),
        is_cut: SHOWN < attempts.len(),
    };
    Ok(Page::render("Attempts", &page)?.signed_in(&session).with_account_navigation(AccountPage::Posts))
}

impl<'a> AttemptRow<'a> {
    fn new(attempt: &'a Attempt, post: &'a Post, zone: &TimeZone) -> Self {
        let target = post.target(attempt.target_id);
        let index = usize::from(attempt.segment);
        let segments = target.map(|it| post.segments(it)).unwrap_or_default();
        // A change can have removed the segment since.
        let kind = segments.get(index).map_or(SegmentKind::Reply, |it| it.kind);
        Self {
            at: format!("{}, {}", day(attempt.at, zone), time_with_seconds(attempt.at, zone)),
            platform: &attempt.provider,
            name: target.and_then(|it| it.username.as_deref()),
            part: (index != 0).then(|| segment_name(index, kind)),
            step: match attempt.step {
                AttemptStep::Prepare => "Preparing",
                AttemptStep::Publish => "Publishing",
                AttemptStep::LookUp => "Looking it up",
                AttemptStep::Comment => "Following up",
            },
            outcome: match attempt.outcome {
                AttemptOutcome::Accepted => "Accepted",
                AttemptOutcome::Refused => "Refused",
                AttemptOutcome::RetryLater => "Not accepted yet",
                AttemptOutcome::Unknown => "Unknown outcome",
                AttemptOutcome::Found => "Found",
                AttemptOutcome::NotFound => "Not found",
            },
            is_good: matches!(attempt.outcome, AttemptOutcome::Accepted | AttemptOutcome::Found),
            is_bad: attempt.outcome == AttemptOutcome::Refused,
            http_status: attempt.http_status,
            duration_ms: attempt.duration_ms,
            message: attempt.message.as_deref(),
        }
    }
}
