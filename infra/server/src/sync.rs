//! Brings files to the disk: an upload before its response, and small files all or nothing.
//!
//! `s3s-fs` writes and renames without a sync.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteSync {
    /// Before the response.
    Full,
    /// At some time: the folder ends with the process.
    None,
}

/// After each request that wrote something.
pub(crate) async fn sync_writes(
    State((sync, folder)): State<(WriteSync, PathBuf)>,
    request: Request,
    next: Next,
) -> Response {
    let writes = matches!(*request.method(), Method::PUT | Method::POST);
    let response = next.run(request).await;
    if sync == WriteSync::None || !writes || !response.status().is_success() {
        return response;
    }
    let synced = tokio::task::spawn_blocking(move || sync_file_system(&folder)).await;
    match synced.map_err(std::io::Error::other).flatten() {
        Ok(()) => response,
        Err(error) => {
            tracing::error!(%error, "an upload did not reach the disk");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Everything that was written to the file system of this folder is on disk when this returns.
#[cfg(target_os = "linux")]
pub(crate) fn sync_file_system(folder: &Path) -> std::io::Result<()> {
    Ok(nix::unistd::syncfs(File::open(folder)?)?)
}

/// Other systems cannot sync a single file system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn sync_file_system(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()?;
    nix::unistd::sync();
    Ok(())
}

/// Writes a file that only its owner can read. After a power cut, all of it is there or nothing.
pub(crate) fn write_durably(folder: &Path, name: &str, content: &[u8]) -> std::io::Result<()> {
    let part = folder.join(format!("{name}.part"));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&part, folder.join(name))?;
    File::open(folder)?.sync_all()
}
