//! Errors at the start of the local stack.

use std::path::PathBuf;

use fakes::sandbox::SandboxError;

#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("cannot listen on port {port} ({source}); stop the program that uses it, or choose another with {option}")]
    Port {
        port: u16,
        /// The option that chooses another port.
        option: &'static str,
        source: std::io::Error,
    },
    #[error(
        "--listen {0} accepts calls from the whole network; give the one address at which containers reach this machine"
    )]
    Everywhere(std::net::IpAddr),
    #[error("--origin {0} is not an origin; give a scheme and a host, such as https://app.example")]
    Origin(String),
    #[error(transparent)]
    Server(#[from] server::ServerError),
    #[error(transparent)]
    Storage(#[from] storage::StorageError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("--platforms cannot be read: {0}")]
    Platforms(#[source] serde_json::Error),
    #[error("--brand cannot be read: {0}")]
    Brand(#[source] serde_json::Error),
    #[error("--return-origins: {0}")]
    ReturnOrigins(#[from] connections::InvalidReturnOrigin),
    #[error(
        "{} cannot be read; it must have the id and secret of each platform, such as {{\"linkedin\": {}}}",
        .0.display(),
        platforms::AppCredentials::EXAMPLE_JSON
    )]
    PlatformSecrets(PathBuf),
    #[error("--platforms: {0}")]
    Setup(#[from] platforms::SetupError),
    #[error("another process is creating the demo user; use another --data folder")]
    Demo,
}
