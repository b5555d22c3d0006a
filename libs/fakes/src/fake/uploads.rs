//! Files that are uploaded at once or in parts, processed for a while, and attached to one post.

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};

use super::oauth::secret;

#[derive(Clone, Debug)]
pub struct Upload {
    pub id: String,
    pub account: String,
    /// As announced.
    pub mime_type: String,
    /// As announced, in bytes.
    pub size: u64,
    /// The bytes that have arrived.
    pub bytes: Vec<u8>,
    /// Whether a post has it as an attachment.
    pub attached: bool,
    state: UploadState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UploadState {
    Arriving,
    ReadyAt(DateTime<Utc>),
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Parts are missing.
    Arriving,
    Processing,
    /// A post may attach it.
    Ready,
    /// The processing failed.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// The file does not exist, or belongs to another account.
    #[error("there is no such upload")]
    Unknown,
    /// The part does not begin where the last one ended.
    #[error("the part does not begin where the last one ended")]
    OutOfOrder,
    /// The part exceeds the announced size.
    #[error("there is more than was announced")]
    TooLong,
    /// Parts are missing.
    #[error("there is less than was announced")]
    Incomplete,
    /// The upload is already complete.
    #[error("the upload has ended")]
    Ended,
}

/// The files of a platform.
#[derive(Debug)]
pub struct Uploads {
    /// How long a file is processed after its last part.
    pub takes: TimeDelta,
    files: Vec<Upload>,
}

impl Uploads {
    /// No files; each will be processed for this long.
    pub const fn taking(processing_time: TimeDelta) -> Self {
        Self { takes: processing_time, files: Vec::new() }
    }

    /// Announces a file. Returns its id.
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

    /// Appends a part, which begins at the byte `from`. A part that has arrived before changes
    /// nothing.
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

    /// Ends the upload and starts the processing.
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

    /// Uploads a file at once and starts the processing. Returns its id.
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

    /// `None` if the account has no file with this id.
    pub fn progress(&mut self, account: &str, id: &str, now: DateTime<Utc>) -> Option<Progress> {
        Some(match self.find(account, id)?.state {
            UploadState::Arriving => Progress::Arriving,
            UploadState::ReadyAt(at) if now < at => Progress::Processing,
            UploadState::ReadyAt(_) => Progress::Ready,
            UploadState::Failed => Progress::Failed,
        })
    }

    /// Makes the processing fail.
    pub fn fail(&mut self, account: &str, id: &str) {
        if let Some(file) = self.find(account, id) {
            file.state = UploadState::Failed;
        }
    }

    /// Attaches the file to a post. `None` if the file is not ready, is attached already, or
    /// belongs to another account.
    pub fn attach(&mut self, account: &str, id: &str, now: DateTime<Utc>) -> Option<&Upload> {
        let is_ready = self.progress(account, id, now) == Some(Progress::Ready);
        let file = self.find(account, id).filter(|it| is_ready && !it.attached)?;
        file.attached = true;
        Some(file)
    }

    /// A file of any account.
    pub fn get(&self, id: &str) -> Option<&Upload> {
        self.files.iter().find(|it| it.id == id)
    }

    fn find(&mut self, account: &str, id: &str) -> Option<&mut Upload> {
        self.files.iter_mut().find(|it| it.id == id && it.account == account)
    }
}
