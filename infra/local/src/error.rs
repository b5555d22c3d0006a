//! Why the local stack could not start.

use std::path::PathBuf;

use crate::sandbox::SandboxError;

/// Why the local stack could not start.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// A file or a socket.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The port is taken.
    #[error("cannot listen on port {port} ({source}); stop the program that uses it, or choose another with {option}")]
    Port {
        port: u16,
        /// The option that chooses another port.
        option: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// `--listen` would accept calls from the whole network.
    #[error(
        "--listen {0} accepts calls from the whole network; give the one address at which containers reach this machine"
    )]
    Everywhere(std::net::IpAddr),
    /// `--origin` is more, or less, than a scheme and a host.
    #[error("--origin {0} is not an origin; give a scheme and a host, such as https://app.example")]
    Origin(String),
    /// The database could not be opened.
    #[error("the database cannot be opened: {0}")]
    Database(String),
    /// The media store could not be opened.
    #[error("the media store cannot be opened: {0}")]
    Files(String),
    /// The file with the sealing key is not one of ours.
    #[error(
        "{} is not a sealing key, so stored credentials cannot be read; restore it, or delete the --data folder",
        .0.display()
    )]
    Key(PathBuf),
    /// The tables.
    #[error(transparent)]
    Storage(#[from] storage::StorageError),
    /// The sandbox platform.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// `--platforms` is not a JSON object of objects.
    #[error("--platforms cannot be read: {0}")]
    Platforms(#[source] serde_json::Error),
    /// The file of `--platform-secrets` cannot be read.
    #[error(
        "{} cannot be read; it must have the id and secret of each platform, such as {{\"linkedin\": {}}}",
        .0.display(),
        platforms::AppCredentials::EXAMPLE_JSON
    )]
    PlatformSecrets(PathBuf),
    /// `--platforms` says something that the platforms do not take.
    #[error("--platforms: {0}")]
    Setup(#[from] platforms::SetupError),
    /// The tools of assistants cannot be offered.
    #[error(transparent)]
    Assistants(#[from] mcp::McpError),
    /// The demo user could not be made.
    #[error("another process is creating the demo user; use another --data folder")]
    Demo,
}
