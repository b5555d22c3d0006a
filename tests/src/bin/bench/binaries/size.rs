//! The upload size of a binary.

use std::io::{Cursor, Write};

use tests::error::Result;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// The size in bytes of a zip file with this binary as its `bootstrap`.
pub(super) fn zipped(binary: &[u8]) -> Result<u64> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .unix_permissions(0o755);
    zip.start_file("bootstrap", options)?;
    zip.write_all(binary)?;
    Ok(zip.finish()?.into_inner().len() as u64)
}
