//! `POST /media`: a place to upload to, or a file fetched from a URL.

pub mod config;
mod create_medium;
mod fetch_medium;
mod idempotent;
mod request;
mod response;
#[cfg(test)]
mod tests;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use cloud::bucket::Bucket;
use cloud::fetch::Fetcher;
use domain::media::MediaLimits;
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
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

api::routes!(App: create_medium);

/// The routes, to be completed by [`api::finish`].
pub fn router(app: App) -> Router {
    routes().with_state(app)
}
