//! Posts: create, check, list, show, change and delete them; and the pages on which users see
//! theirs.

mod attempts_page;
mod calendar_page;
mod change_post;
mod composer;
mod create_post;
mod delete_post;
mod error;
mod if_match;
mod list_attempts;
mod list_posts;
mod posts_forms;
mod posts_page;
mod request;
mod response;
mod show_post;
mod validate_post;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use scheduling::Scheduling;

#[derive(Clone)]
pub struct App {
    pub api: Api,
    pub scheduling: Scheduling,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

api::routes!(App: list_posts, create_post, show_post, change_post, delete_post, validate_post, list_attempts);

/// Complete them with [`api::finish`].
pub fn router(app: App) -> Router {
    routes()
        .route("/account/posts", get(posts_page::show_posts))
        .route("/account/posts/calendar", get(calendar_page::show_calendar))
        .route("/account/posts/new", get(composer::show_new).post(composer::submit_new))
        .route("/account/posts/{post}", get(composer::show).post(composer::submit))
        .route("/account/posts/{post}/attempts", get(attempts_page::show_attempts))
        .route("/account/posts/{post}/consent/{account}", post(composer::consent::submit_consent))
        .route("/account/posts/{post}/files/{file}", get(composer::consent::show_file))
        .route("/account/posts/{post}/cancel", post(posts_forms::cancel))
        .route("/account/posts/{post}/delete", post(posts_forms::delete))
        .route("/account/posts/{post}/try-again", post(composer::consent::try_again))
        .route("/connect-links/{link}/consent/{account}", post(composer::link_consent::submit_link_consent))
        .route("/connect-links/{link}/files/{file}", get(composer::link_consent::show_link_file))
        .with_state(app)
}
