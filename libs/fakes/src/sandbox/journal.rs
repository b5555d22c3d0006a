//! An append-only file with one fact per line, as JSON.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::SandboxError;

/// Locked for this process.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// After the last complete line, in bytes.
    end: u64,
}

impl Journal {
    /// Passes the facts to `apply`, in order. An incomplete last line was being written when the
    /// process died. Its request had no response, so the line is removed.
    pub(super) fn open<F: DeserializeOwned>(path: &Path, apply: impl FnMut(F)) -> Result<Self, SandboxError> {
        let failed = |source| SandboxError::Folder { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(SandboxError::InUse { path: path.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let end = replay(&file, apply, failed)?;
        let mut journal = Self { file, end };
        journal.truncate_partial_line().map_err(failed)?;
        Ok(journal)
    }

    /// Once this returns, the fact survives a crash of the process. If this fails, the fact is not
    /// recorded.
    pub(super) fn append(&mut self, fact: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(fact)?;
        line.push(b'\n');
        if let Err(error) = self.file.write_all(&line) {
            self.truncate_partial_line()?;
            return Err(error);
        }
        self.end += line.len() as u64;
        Ok(())
    }

    fn truncate_partial_line(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        Ok(())
    }
}

/// Returns the offset of the end of the last complete line.
fn replay<F: DeserializeOwned>(
    file: &File,
    mut apply: impl FnMut(F),
    failed: impl Fn(io::Error) -> SandboxError,
) -> Result<u64, SandboxError> {
    let mut reader = BufReader::new(file);
    let mut end = 0;
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        let read = reader.read_until(b'\n', &mut buffer).map_err(&failed)?;
        if buffer.last() != Some(&b'\n') {
            break;
        }
        let fact = serde_json::from_slice(&buffer).map_err(|source| SandboxError::Unreadable { line, source })?;
        apply(fact);
        end += read as u64;
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn open(path: &Path) -> (Journal, Vec<u64>) {
        let mut numbers = Vec::new();
        let journal = Journal::open(path, |number| numbers.push(number)).unwrap();
        (journal, numbers)
    }

    #[test]
    fn partial_line_is_dropped_and_the_next_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut journal, _) = open(&path);
        journal.append(&100).unwrap();
        journal.append(&200).unwrap();
        let whole = fs::read(&path).unwrap();
        drop(journal);

        for cut in 4..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (mut journal, numbers) = open(&path);
            assert_eq!(numbers, [100], "cut at {cut}");
            journal.append(&300).unwrap();
            drop(journal);
            assert_eq!(open(&path).1, [100, 300], "cut at {cut}");
        }
    }

    #[test]
    fn invalid_line_is_reported_with_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        fs::write(&path, "1\nnonsense\n").unwrap();

        let opened = Journal::open(&path, |_: u64| {});

        assert!(matches!(opened, Err(SandboxError::Unreadable { line: 2, .. })));
    }

    #[test]
    fn journal_is_locked_against_a_second_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let _first = open(&path);

        let second = Journal::open(&path, |_: u64| {});

        assert!(matches!(second, Err(SandboxError::InUse { .. })));
    }
}
