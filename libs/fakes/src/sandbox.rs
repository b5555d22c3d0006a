//! A small social network for trying the service without an account anywhere: OAuth with a
//! consent page, an API, and a timeline.
//!
//! The service calls it over HTTP like any other platform. Unlike most platforms, it never
//! recognizes a repeated post, so a double publish is visible.

mod accounts;
mod api_error;
mod caller;
#[cfg(test)]
mod conformance;
mod create_comment;
mod create_post;
mod fact;
mod fault_kind;
mod faults;
mod front;
mod journal;
mod ledger;
mod media;
mod oauth;
mod operation;
mod order_faults;
pub mod pages;
mod read_api;
mod switches;
#[cfg(test)]
mod tests;
mod timeline;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::response::Redirect;
use axum::routing::{get, post};
use chrono::{DateTime, SecondsFormat, Utc};
use domain::clock::Clock;
use domain::token;
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

use self::faults::ArmedFaults;
use self::ledger::Ledger;
use crate::fake::oauth::OAuth;

/// The name of the sandbox among the platforms.
pub const PLATFORM: &str = "sandbox";

/// The only registered client.
pub const CLIENT_ID: &str = "social-publishing";

/// The secret of [`CLIENT_ID`]. It protects nothing, so it may be in the code.
pub const CLIENT_SECRET: &str = "sandbox-secret";

/// Bytes of a JSON or form body; media have a limit of their own.
const MAX_BODY: usize = 64 * 1024;

/// Why the sandbox could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The data folder cannot be read or written.
    #[error("the sandbox cannot read or write {}: {source}", path.display())]
    Folder {
        /// The affected file or folder.
        path: PathBuf,
        source: io::Error,
    },
    /// Another process has the folder open.
    #[error("another process is using {}; stop it, or choose another folder with --data", path.display())]
    InUse {
        /// The locked journal.
        path: PathBuf,
    },
    /// A complete line of the journal has a format that this version does not write.
    #[error(
        "line {line} of the sandbox journal is unreadable ({source}); delete the sandbox folder in the --data folder"
    )]
    Unreadable {
        /// Counted from 1.
        line: usize,
        source: serde_json::Error,
    },
}

/// The sandbox: its accounts, their posts, and the grants of clients.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    origin: String,
    clock: Clock,
    /// A caller that locks both locks this first, then the ledger.
    oauth: Mutex<OAuth>,
    ledger: Mutex<Ledger>,
    faults: Mutex<ArmedFaults>,
    /// The forms that arm or disarm faults carry this token. A page of another site can send a form
    /// to the sandbox, but cannot read the token from our pages. The consent form has none: a grant
    /// opens nothing but the sandbox.
    form_token: SecretString,
    media_dir: PathBuf,
    /// Removes the media of a sandbox without a folder when it is dropped.
    _until_the_end: Option<TempDir>,
}

impl Sandbox {
    /// Opens the sandbox stored in `dir`; without `dir`, an empty one whose data are deleted at the
    /// end. `origin` is the base URL, like `http://localhost:3000`.
    pub fn open(dir: Option<PathBuf>, mut origin: String, clock: Clock) -> Result<Self, SandboxError> {
        origin.truncate(origin.trim_end_matches('/').len());
        let (ledger, media_dir, temporary) = if let Some(dir) = dir {
            let media_dir = dir.join("media");
            create(&media_dir)?;
            let ledger = Ledger::open(&dir.join("journal.jsonl"))?;
            (ledger, media_dir, None)
        } else {
            let temporary =
                tempfile::tempdir().map_err(|source| SandboxError::Folder { path: std::env::temp_dir(), source })?;
            (Ledger::default(), temporary.path().to_owned(), Some(temporary))
        };
        media::remove_unknown_files(&media_dir, &ledger)
            .map_err(|source| SandboxError::Folder { path: media_dir.clone(), source })?;
        let mut oauth = oauth::server();
        oauth.restore(ledger.codes().to_vec(), ledger.grants().to_vec());
        Ok(Self(Arc::new(Inner {
            origin,
            clock,
            oauth: Mutex::new(oauth),
            ledger: Mutex::new(ledger),
            faults: Mutex::default(),
            form_token: token::random_token(),
            media_dir,
            _until_the_end: temporary,
        })))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn faults(&self) -> MutexGuard<'_, ArmedFaults> {
        self.0.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn form_token(&self) -> &str {
        self.0.form_token.expose_secret()
    }

    fn now(&self) -> DateTime<Utc> {
        self.0.clock.now()
    }

    fn url(&self, path: &str) -> String {
        format!("{}/sandbox/{path}", self.0.origin)
    }

    fn media_dir(&self) -> &Path {
        &self.0.media_dir
    }
}

/// The routes under `/sandbox`.
pub fn router(sandbox: Sandbox) -> Router {
    let api = Router::new()
        .merge(oauth::router(&sandbox))
        .route("/sandbox/api/me", get(read_api::get_me))
        .route("/sandbox/api/boards", get(read_api::list_boards))
        .route("/sandbox/api/media", post(media::upload_medium).layer(DefaultBodyLimit::max(media::MAX_FILE)))
        .route("/sandbox/api/media/{id}", get(media::get_own_medium))
        .route("/sandbox/api/posts", get(read_api::list_posts).post(create_post::create_post))
        .route(
            "/sandbox/api/posts/{id}/comments",
            get(read_api::list_own_comments).post(create_comment::create_comment),
        )
        .route_layer(middleware::from_fn_with_state(sandbox.clone(), front::handle_call));
    Router::new()
        .merge(api)
        .route("/sandbox", get(timeline::show_timeline))
        .route("/sandbox/", get(async || Redirect::permanent("/sandbox")))
        .route("/sandbox/@{handle}", get(timeline::show_profile))
        .route("/sandbox/posts/{id}", get(timeline::show_post))
        .route("/sandbox/posts.json", get(read_api::list_all_posts))
        .route("/sandbox/comments.json", get(read_api::list_comments))
        .route("/sandbox/style.css", get(pages::get_style))
        .route("/sandbox/reload.js", get(pages::get_reload_script))
        .route("/sandbox/avatars/{file}", get(accounts::get_avatar))
        .route("/sandbox/media/{id}", get(media::serve::get_medium))
        .route(
            "/sandbox/faults",
            get(order_faults::list_faults).post(order_faults::arm_faults).delete(order_faults::clear_faults),
        )
        .route("/sandbox/switches", get(switches::show_switches).post(switches::arm_by_form))
        .route("/sandbox/switches/off", post(switches::switch_off))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(sandbox)
}

fn create(dir: &Path) -> Result<(), SandboxError> {
    std::fs::create_dir_all(dir).map_err(|source| SandboxError::Folder { path: dir.to_owned(), source })
}

/// A timestamp in the format of the API.
fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}
