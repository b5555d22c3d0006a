//! A small social network for trying the service without an account anywhere: OAuth with a
//! consent page, an API, and a timeline.
//!
//! The service calls it over HTTP like any other platform. Unlike most platforms, it never
//! recognizes a repeated post, so a double publish is visible.

mod accounts;
mod api_error;
mod authorize;
mod caller;
pub(crate) mod calls;
#[cfg(test)]
mod conformance;
mod create_comment;
mod create_post;
mod exchange_token;
mod fact;
pub(crate) mod fault_kind;
mod faults;
pub(crate) mod journal;
mod ledger;
mod media;
pub(crate) mod operation;
mod order_faults;
pub(crate) mod pages;
mod read_api;
mod record_calls;
mod sandbox_state;
mod switches;
#[cfg(test)]
mod testing;
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

use self::calls::{Call, Calls};
use self::faults::InjectedFaults;
use self::ledger::Ledger;

/// The name of the sandbox among the platforms.
pub(crate) const PLATFORM: &str = "sandbox";

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
    ledger: Mutex<Ledger>,
    faults: Mutex<InjectedFaults>,
    calls: Mutex<Calls>,
    /// Every form that changes state carries this token. A page of another site can send a form to
    /// the sandbox, but cannot read the token from our pages.
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
        let (ledger, calls, media_dir, temporary) = if let Some(dir) = dir {
            let media_dir = dir.join("media");
            create(&media_dir)?;
            let ledger = Ledger::open(&dir.join("journal.jsonl"))?;
            let calls = Calls::open(&dir.join("calls.jsonl"), clock.now())?;
            (ledger, calls, media_dir, None)
        } else {
            let temporary =
                tempfile::tempdir().map_err(|source| SandboxError::Folder { path: std::env::temp_dir(), source })?;
            (Ledger::in_memory(), Calls::in_memory(), temporary.path().to_owned(), Some(temporary))
        };
        media::remove_unknown_files(&media_dir, ledger.state())
            .map_err(|source| SandboxError::Folder { path: media_dir.clone(), source })?;
        Ok(Self(Arc::new(Inner {
            origin,
            clock,
            ledger: Mutex::new(ledger),
            faults: Mutex::default(),
            calls: Mutex::new(calls),
            form_token: token::random_token(),
            media_dir,
            _until_the_end: temporary,
        })))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.0.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A caller that locks both locks the ledger first.
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls that match `wanted`, oldest first.
    pub(crate) fn find_calls(&self, wanted: impl Fn(&Call) -> bool) -> Vec<Call> {
        self.calls().all().filter(|it| wanted(it)).cloned().collect()
    }

    /// The public posts of a delivery, without the replies that follow: id and time, the oldest first.
    pub(crate) fn public_posts_of(&self, delivery: &str) -> Vec<(usize, DateTime<Utc>)> {
        let reference = format!("{delivery}-0");
        let ledger = self.ledger();
        let posts = ledger.state().posts().iter().zip(1..);
        posts.filter(|(post, _)| post.reference == reference).map(|(post, id)| (id, post.at)).collect()
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
        .route("/sandbox/oauth/token", post(exchange_token::exchange_token))
        .route("/sandbox/oauth/revoke", post(exchange_token::revoke_token))
        .route("/sandbox/api/me", get(read_api::get_me))
        .route("/sandbox/api/boards", get(read_api::list_boards))
        .route("/sandbox/api/media", post(media::upload_medium))
        .route("/sandbox/api/media/{id}", get(media::get_own_medium))
        .route("/sandbox/api/posts", get(read_api::list_posts).post(create_post::create_post))
        .route(
            "/sandbox/api/posts/{id}/comments",
            get(read_api::list_own_comments).post(create_comment::create_comment),
        )
        .route_layer(middleware::from_fn_with_state(sandbox.clone(), record_calls::record_call));
    Router::new()
        .merge(api)
        .route("/sandbox", get(timeline::show_timeline))
        .route("/sandbox/", get(async || Redirect::permanent("/sandbox")))
        .route("/sandbox/@{handle}", get(timeline::show_profile))
        .route("/sandbox/posts/{id}", get(timeline::show_post))
        .route("/sandbox/posts.json", get(read_api::list_all_posts))
        .route("/sandbox/comments.json", get(read_api::list_comments))
        .route("/sandbox/style.css", get(pages::get_style))
        .route("/sandbox/avatars/{file}", get(accounts::get_avatar))
        .route("/sandbox/media/{id}", get(media::serve::get_medium))
        .route("/sandbox/oauth/authorize", get(authorize::show_consent).post(authorize::answer_consent))
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
pub(crate) fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use serde_json::json;

    use super::testing::{SandboxHarness, VERIFIER};

    #[tokio::test]
    async fn acknowledged_calls_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let harness = SandboxHarness::open(dir.path());
        let tokens = harness.connect("meadow").await;
        let unspent = harness.allow("harbour").await;
        let id = harness.upload(&tokens.access, "image/png", b"png".to_vec()).await.string("id");
        let post = json!({"text": "kept", "media_ids": [id], "reference": "r1"});
        harness.post(&tokens.access, post).await;
        drop(harness);

        let harness = SandboxHarness::open(dir.path());

        assert_eq!(harness.public_texts().await, ["kept"]);
        assert_eq!(harness.get(&format!("/sandbox/media/{id}")).await.body, b"png");
        assert_eq!(harness.post(&tokens.access, json!({"text": "next"})).await.status, 201);
        assert_eq!(harness.refresh(&tokens.refresh).await.status, 200);
        assert_eq!(harness.refresh(&tokens.refresh).await.status, 400);
        assert_eq!(harness.exchange(&unspent, VERIFIER).await.status, 200);
        drop(harness);

        let harness = SandboxHarness::open(dir.path());

        assert_eq!(harness.public_texts().await, ["kept", "next"]);
        assert_eq!(harness.refresh(&tokens.refresh).await.status, 400);
        assert_eq!(harness.exchange(&unspent, VERIFIER).await.status, 400);
    }

    #[tokio::test]
    async fn a_revoked_grant_stays_revoked_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let harness = SandboxHarness::open(dir.path());
        let tokens = harness.connect("meadow").await;
        harness.client_form("/sandbox/oauth/revoke", &[("token", &tokens.access)]).await;
        drop(harness);

        let harness = SandboxHarness::open(dir.path());

        assert_eq!(harness.post(&tokens.access, json!({"text": "no"})).await.status, 401);
        assert_eq!(harness.refresh(&tokens.refresh).await.status, 400);
    }

    #[tokio::test]
    async fn partially_written_post_is_dropped_without_an_id() {
        let dir = tempfile::tempdir().unwrap();
        let harness = SandboxHarness::open(dir.path());
        let token = harness.connect("meadow").await.access;
        harness.post(&token, json!({"text": "whole"})).await;
        drop(harness);
        let mut journal = OpenOptions::new().append(true).open(dir.path().join("journal.jsonl")).unwrap();
        journal.write_all(b"{\"fact\":\"posted\",\"account\":\"meadow\",\"te").unwrap();
        drop(journal);

        let harness = SandboxHarness::open(dir.path());
        let next = harness.post(&token, json!({"text": "next"})).await;

        assert_eq!(next.json()["id"], "2");
        assert_eq!(harness.public_texts().await, ["whole", "next"]);
    }

    #[tokio::test]
    async fn no_token_or_code_is_in_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let harness = SandboxHarness::open(dir.path());
        let code = harness.allow("meadow").await;
        let answer = harness.exchange(&code, VERIFIER).await;

        let journal = fs::read_to_string(dir.path().join("journal.jsonl")).unwrap();

        assert_eq!(journal.lines().count(), 2);
        for secret in [code, answer.string("access_token"), answer.string("refresh_token")] {
            assert!(!journal.contains(&secret));
        }
    }
}
