//! `POST /media`: a place to upload to, or a file fetched from a URL. `GET /files/…`: a file
//! for platforms that fetch files themselves.

pub mod config;
mod create_medium;
mod fetch_medium;
mod idempotent;
mod request;
mod response;
mod show_file;
#[cfg(test)]
mod tests;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::get;
use cloud::bucket::Bucket;
use cloud::fetch::Fetcher;
use domain::media::{FileKey, MediaLimits};
use domain::plan::Plans;

/// What the handlers need, the same for every request.
#[derive(Clone)]
pub struct App {
    /// What every function that speaks HTTP has.
    pub api: Api,
    /// Where files are kept.
    pub bucket: Bucket,
    /// Fetches from users' URLs.
    pub fetcher: Fetcher,
    /// How large a file may be.
    pub limits: MediaLimits,
    /// Who may upload.
    pub plans: Plans,
    /// Verifies addresses of files. Without it, none is served.
    pub file_key: Option<FileKey>,
    /// The largest file that is served: a response of Lambda is limited.
    pub max_file_bytes: u64,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

api::routes!(App: create_medium);

/// The routes, to be completed by [`api::finish`].
pub fn router(app: App) -> Router {
    routes().route("/files/{mac}/{end}/{user}/{name}", get(show_file::show_file)).with_state(app)
}
