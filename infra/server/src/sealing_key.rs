//! The key that seals credentials: a file in the data folder that only its owner can read.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cloud::seal::DataKey;
use domain::token::random_bytes;

use crate::error::ServerError;

/// The key of this folder, created on first use; without a folder, a key for this process only.
pub(crate) fn sealing_key(folder: Option<&Path>) -> Result<DataKey, ServerError> {
    let fresh: [u8; 32] = random_bytes();
    let Some(folder) = folder else { return Ok(DataKey::new(fresh)) };
    let path = folder.join("sealing.key");
    let created = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    match created {
        Ok(mut file) => {
            file.write_all(&fresh)?;
            file.sync_all()?;
            Ok(DataKey::new(fresh))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let stored: [u8; 32] = std::fs::read(&path)?.try_into().map_err(|_| ServerError::Key(path))?;
            Ok(DataKey::new(stored))
        }
        Err(error) => Err(error.into()),
    }
}
