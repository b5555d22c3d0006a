//! Files: uploaded at once or in parts, worked on for a while, and shown once.

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};

use super::oauth::secret;

/// A file.
#[derive(Clone, Debug)]
pub struct Upload {
    /// Its name.
    pub id: String,
    pub account: String,
    /// As it was announced.
    pub mime_type: String,
    /// As it was announced.
    pub size: u64,
    /// What has arrived.
    pub bytes: Vec<u8>,
    /// Whether a post shows it.
    pub attached: bool,
    state: UploadState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UploadState {
    Arriving,
    ReadyAt(DateTime<Utc>),
    Failed,
}

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Parts of it are missing.
    Arriving,
    /// It is worked on.
    Processing,
    /// A post may show it.
    Ready,
    /// It could not be processed.
    Failed,
}

/// What is wrong with a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// There is no such file, or it is another account's.
    #[error("there is no such upload")]
    Unknown,
    /// It does not begin where the last one ended.
    #[error("the part does not begin where the last one ended")]
    OutOfOrder,
    /// It goes beyond the announced size.
    #[error("there is more than was announced")]
    TooLong,
    /// Parts are missing.
    #[error("there is less than was announced")]
    Incomplete,
    /// It has ended already.
    #[error("the upload has ended")]
    Ended,
}

/// The files that a platform remembers.
#[derive(Debug)]
pub struct Uploads {
    /// How long a file is worked on, from its last part on.
    pub takes: TimeDelta,
    files: Vec<Upload>,
}

impl Uploads {
    /// None yet; each will be worked on for this long.
    pub const fn taking(processing_time: TimeDelta) -> Self {
        Self { takes: processing_time, files: Vec::new() }
    }

    /// A file is announced. Returns its id.
    pub fn begin(&mut self, account: &str, mime_type: &str, size: u64) -> String {
        let id = secret();
        self.files.push(Upload {
            id: id.clone(),
            account: account.to_owned(),
            mime_type: mime_type.to_owned(),
            size,
            bytes: Vec::new(),
            attached: false,
            state: UploadState::Arriving,
        });
        id
    }

    /// A part of it arrives. A part that has arrived before changes nothing.
    pub fn append(&mut self, account: &str, id: &str, from: u64, part: &Bytes) -> Result<(), PartError> {
        let file = self.find(account, id).ok_or(PartError::Unknown)?;
        if file.state != UploadState::Arriving {
            return Err(PartError::Ended);
        }
        let received = file.bytes.len() as u64;
        let end = from + part.len() as u64;
        if file.size < end {
            return Err(PartError::TooLong);
        }
        if from == received {
            file.bytes.extend_from_slice(part);
        } else if received < end {
            return Err(PartError::OutOfOrder);
        }
        Ok(())
    }

    /// All of it is there, and is worked on from now on.
    pub fn finish(&mut self, account: &str, id: &str, now: DateTime<Utc>) -> Result<(), PartError> {
        let ready_at = now + self.takes;
        let file = self.find(account, id).ok_or(PartError::Unknown)?;
        if file.state == UploadState::Arriving {
            if file.size != file.bytes.len() as u64 {
                return Err(PartError::Incomplete);
            }
            file.state = UploadState::ReadyAt(ready_at);
        }
        Ok(())
    }

    /// A file that arrives at once, and is worked on from now on. Returns its id.
    pub fn whole(&mut self, account: &str, mime_type: &str, bytes: &Bytes, now: DateTime<Utc>) -> String {
        let id = self.begin(account, mime_type, bytes.len() as u64);
        if let Some(file) = self.find(account, &id) {
            file.bytes = bytes.to_vec();
        }
        if self.finish(account, &id, now).is_err() {
            unreachable!("all of it is there");
        }
        id
    }

    /// How far a file is; `None` when there is none with this id.
    pub fn progress(&mut self, account: &str, id: &str, now: DateTime<Utc>) -> Option<Progress> {
        Some(match self.find(account, id)?.state {
            UploadState::Arriving => Progress::Arriving,
            UploadState::ReadyAt(at) if now < at => Progress::Processing,
            UploadState::ReadyAt(_) => Progress::Ready,
            UploadState::Failed => Progress::Failed,
        })
    }

    /// It could not be processed.
    pub fn fail(&mut self, account: &str, id: &str) {
        if let Some(file) = self.find(account, id) {
            file.state = UploadState::Failed;
        }
    }

    /// A post shows it from now on. `None` when none may: it is not ready, shown
    /// already, or another account's.
    pub fn attach(&mut self, account: &str, id: &str, now: DateTime<Utc>) -> Option<&Upload> {
        let is_ready = self.progress(account, id, now) == Some(Progress::Ready);
        let file = self.find(account, id).filter(|it| is_ready && !it.attached)?;
        file.attached = true;
        Some(file)
    }

    /// A file, of whatever account.
    pub fn get(&self, id: &str) -> Option<&Upload> {
        self.files.iter().find(|it| it.id == id)
    }

    fn find(&mut self, account: &str, id: &str) -> Option<&mut Upload> {
        self.files.iter_mut().find(|it| it.id == id && it.account == account)
    }
}
