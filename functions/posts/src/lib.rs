//! Posts: create, check, list, show, change, delete; and the page on which a person
//! sees theirs.

mod change_post;
pub mod config;
mod create_post;
mod delete_post;
mod if_match;
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

/// What the handlers need, the same for every request.
#[derive(Clone)]
pub struct App {
    /// Callers, limits, the store.
    pub api: Api,
    /// Writes posts and plans their deliveries.
    pub publishing: Publishing,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

api::routes!(App: list_posts, create_post, show_post, change_post, delete_post, validate_post);

/// The routes; to be completed by [`api::finish`].
pub fn router(app: App) -> Router {
    routes()
        .route("/account/posts", get(posts_page::show_posts))
        .route("/account/posts/{post}/cancel", post(posts_forms::cancel))
        .route("/account/posts/{post}/schedule", get(schedule_page::show_schedule).post(schedule_page::schedule))
        .route("/account/posts/{post}/try-again", post(posts_forms::try_again))
        .with_state(app)
}

/// The refusal of a caller who may write drafts alone.
fn drafts_only() -> ApiError {
    ApiError::Forbidden(
        "The token may write drafts only (posts:draft). Leave the post a draft, without scheduled_at, and have its user \
         schedule it; or ask for a token with the scope posts:write."
            .to_owned(),
    )
}

/// The refusal of a request that schedules, without naming its revision, a draft that a drafts-only
/// token wrote.
fn needs_revision() -> ApiError {
    ApiError::PreconditionRequired(
        "A token for drafts wrote this draft, so it may have changed since you saw it. Read the post, and schedule it \
         with its etag in If-Match; or have its user schedule it on /account/posts."
            .to_owned(),
    )
}

/// The error that a client gets when publishing failed on our side.
fn failed(error: PublishingError) -> ApiError {
    match error {
        // The client's other requests were in the way for as long as this one could
        // wait for its turn.
        PublishingError::Contended | PublishingError::Storage(StorageError::Contended) => ApiError::TooMany { wait: 1 },
        PublishingError::Storage(error) => error.into(),
        PublishingError::Bucket(error) => {
            tracing::error!(%error, "a request failed on the media bucket");
            ApiError::Unavailable
        }
        error => {
            tracing::error!(%error, "a request failed on publishing");
            ApiError::Internal
        }
    }
}
