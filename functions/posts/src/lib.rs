//! Posts: create, check, list, show, change and delete them; and the pages on which users see
//! theirs.

mod attempts_page;
mod change_post;
pub mod config;
mod create_post;
mod delete_post;
mod if_match;
mod list_attempts;
mod list_posts;
mod post_view;
mod posts_forms;
mod posts_page;
mod reading;
mod schedule_page;
mod show_post;
mod validate_post;

use api::{Api, ApiError};
use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use publishing::{Publishing, PublishingError};
use storage::StorageError;

/// What the handlers need. Created once per process.
#[derive(Clone)]
pub struct App {
    pub api: Api,
    pub publishing: Publishing,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

api::routes!(App: list_posts, create_post, show_post, change_post, delete_post, validate_post, list_attempts);

/// The routes. Complete them with [`api::finish`].
pub fn router(app: App) -> Router {
    routes()
        .route("/account/posts", get(posts_page::show_posts))
        .route("/account/posts/{post}/attempts", get(attempts_page::show_attempts))
        .route("/account/posts/{post}/cancel", post(posts_forms::cancel))
        .route("/account/posts/{post}/schedule", get(schedule_page::show_schedule).post(schedule_page::schedule))
        .route("/account/posts/{post}/try-again", post(posts_forms::try_again))
        .with_state(app)
}

/// The error for a caller that may only write drafts.
fn drafts_only_error() -> ApiError {
    ApiError::Forbidden(
        "The token can only write drafts (posts:draft). Leave out scheduled_at and ask the user to schedule the draft on \
         /account/posts, or get a token with the scope posts:write."
            .to_owned(),
    )
}

/// The error for a request without `If-Match` that schedules a draft written by a drafts-only
/// token.
fn revision_required_error() -> ApiError {
    ApiError::PreconditionRequired(
        "This draft was written with a token for drafts, so it may have changed since you saw it. Read the post, then schedule \
         it with its etag in If-Match, or ask the user to schedule it on /account/posts."
            .to_owned(),
    )
}

/// The error for a client when publishing failed on our side.
fn failed(error: PublishingError) -> ApiError {
    match error {
        // The client's other requests conflicted for as long as this one could wait.
        PublishingError::Contended | PublishingError::Storage(StorageError::Contended) => ApiError::TooMany { wait: 1 },
        PublishingError::Storage(error) => error.into(),
        PublishingError::Bucket(error) => {
            tracing::error!(%error, "media bucket failed during a request");
            ApiError::Unavailable
        }
        error => {
            tracing::error!(%error, "publishing failed during a request");
            ApiError::Internal
        }
    }
}
