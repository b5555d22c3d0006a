//! Errors at the start of the process.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A file or a socket failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The database could not be opened.
    #[error("the database cannot be opened: {0}")]
    Database(String),
    /// The media store could not be opened.
    #[error("the media store cannot be opened: {0}")]
    Files(String),
    /// The file with the sealing key has another format.
    #[error(
        "{} is not a sealing key, so stored credentials cannot be read; restore it, or delete the data folder",
        .0.display()
    )]
    Key(PathBuf),
    #[error(transparent)]
    Storage(#[from] storage::StorageError),
    /// A setting of a platform is not accepted.
    #[error("platforms: {0}")]
    Setup(#[from] platforms::SetupError),
    /// The MCP tools could not be created.
    #[error(transparent)]
    Assistants(#[from] mcp::McpError),
}
