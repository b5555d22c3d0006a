//! `/account/posts/{post}/attempts`: what each call to a platform did for a post, newest first.

use api::page::{AccountPage, Page, PageResult, day};
use api::{Segments, SignedIn};
use askama::Template;
use axum::extract::State;
use domain::attempt::{Attempt, AttemptOutcome, AttemptStep};
use domain::post::Post;

use crate::App;
use crate::posts_forms::find;

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
    let page = AttemptsPage {
        attempts: attempts.iter().take(SHOWN).map(|it| AttemptRow::new(it, &post)).collect(),
        is_cut: SHOWN < attempts.len(),
    };
    Ok(Page::render("Attempts", &page)?.signed_in(&session).with_account_navigation(AccountPage::Posts))
}

impl<'a> AttemptRow<'a> {
    fn new(attempt: &'a Attempt, post: &'a Post) -> Self {
        Self {
            at: format!("{}, {}", day(attempt.at), attempt.at.format("%H:%M:%S UTC")),
            platform: &attempt.provider,
            name: post.target(attempt.target_id).and_then(|it| it.username.as_deref()),
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
