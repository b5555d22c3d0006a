//! Errors at the start of the process, of backups and of restores.

use std::path::{Path, PathBuf};

use crate::begun_move::BegunMove;

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
    #[error("{} and {} cannot be used as certificate and key: {source}", .certificate.display(), .key.display())]
    Certificate { certificate: PathBuf, key: PathBuf, source: std::io::Error },
    #[error("{}: {source}", .path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("the database cannot be opened: {0}")]
    Database(String),
    #[error("the media store cannot be opened: {0}")]
    Files(String),
    /// The file with the sealing key has another format.
    #[error("{} is not a sealing key; it must be 32 bytes in Base64", .0.display())]
    Key(PathBuf),
    #[error(
        "{} has no sealing key, so stored credentials cannot be read; put the file sealing.key back, or set SEALING_KEY_FILE",
        .0.display()
    )]
    NoKey(PathBuf),
    #[error("the data in {} were sealed with another key; restore the right sealing.key", .0.display())]
    OtherKey(PathBuf),
    #[error("{}", moved_message(.0, .1))]
    Moved(PathBuf, BegunMove),
    #[error("another process uses {}; stop it first", .0.display())]
    InUse(PathBuf),
    #[error(
        "{} has the format {found}, and this program knows {known}; start the later version, or restore a backup of this one",
        .path.display()
    )]
    NewerFormat { path: PathBuf, found: u32, known: u32 },
    #[error("{} is not a data folder of this service; check DATA, and start the service once", .0.display())]
    NoData(PathBuf),
    #[error("the database in {} is missing; put it back, or restore a backup into an empty folder", .0.display())]
    NoDatabase(PathBuf),
    /// The database was not written by this installation, or is older than its folder.
    #[error(
        "{} was copied or restored by hand; run `social-server restore --in-place TIME` with the time of the copy, so that \
         nothing is published twice",
        .0.display()
    )]
    NotRestored(PathBuf),
    #[error("a restore into {} was cut off; run `social-server restore FILE` again", .0.display())]
    UnfinishedRestore(PathBuf),
    #[error("{0} is in the future; give the time of the copy, or an earlier one")]
    Future(chrono::DateTime<chrono::Utc>),
    #[error("{url} was not uploaded: {source}")]
    Upload { url: String, source: cloud::bucket::BucketError },
    #[error("{0}; set AWS_REGION and credentials")]
    Credentials(#[from] cloud::config::ConfigError),
    #[error("another backup is running")]
    BackupRuns,
    #[error("{0} is not an e-mail address")]
    Email(String),
    #[error("users sign in at OIDC_ISSUER; list them in SIGN_UP_ALLOWED")]
    SignInByIssuer,
    #[error("publishing has ended unexpectedly; the log says why")]
    Ended,
    #[error("{} is not empty; restore into an empty folder, which may have a sealing.key", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} cannot be restored: {reason}", .path.display())]
    Backup { path: PathBuf, reason: String },
    #[error(transparent)]
    Storage(#[from] storage::StorageError),
    #[error("platforms: {0}")]
    Setup(#[from] platforms::SetupError),
    #[error(transparent)]
    Assistants(#[from] mcp::McpError),
    #[error("SMTP_URL or SMTP_FROM: {0}")]
    Mail(String),
}

fn moved_message(path: &Path, moving: &BegunMove) -> String {
    let BegunMove { stack, since, has_ended } = moving;
    let (path, since) = (path.display(), since.to_rfc3339());
    let state = if *has_ended {
        format!("{path} was moved to {stack}")
    } else {
        format!("{path} is being moved to {stack}; run `social-server move` again")
    };
    format!("{state}. To return to this folder, delete the stack, and run `social-server restore --in-place {since}`")
}
