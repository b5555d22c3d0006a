//! `POST /media`: returns an upload URL, or fetches a file from a URL. `GET /files/…`: serves files
//! to platforms that fetch them. `POST /account/files`: uploads from the page of a post.

pub mod config;
mod create_medium;
mod error;
mod fetch_medium;
mod idempotent;
mod request;
mod response;
mod show_file;
#[cfg(test)]
mod tests;
mod upload_from_page;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use cloud::bucket::Bucket;
use domain::media::{FileKey, MediaLimits};
use domain::plan::Plans;
use egress::fetch::Fetcher;

#[derive(Clone)]
pub struct App {
    pub api: Api,
    pub bucket: Bucket,
    pub fetcher: Fetcher,
    pub limits: MediaLimits,
    pub plans: Plans,
    /// `None`: no file is served.
    pub file_key: Option<FileKey>,
    /// The size of a Lambda response is limited.
    pub max_file_bytes: u64,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

api::routes!(App: create_medium);

/// Complete them with [`api::finish`].
pub fn router(app: App) -> Router {
    routes()
        .route("/account/files", post(upload_from_page::upload_from_page))
        .route("/files/{mac}/{end}/{user}/{name}", get(show_file::show_file))
        .with_state(app)
}
