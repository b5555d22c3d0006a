//! Turns the media files that a post names into attachments. Each file is checked in the bucket
//! once: that it exists, that its type is the declared one, and what its header says. From its
//! first use on, a file is not removed as unused.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use domain::id::{MediaId, UserId};
use domain::media::{Attachment, DocumentRequest, Facts, FileType, MimeType, PART_BYTES, Parts, human_size};
use domain::post::MediaReference;
use domain::validation_errors::ValidationErrors;
use futures::{StreamExt, TryStreamExt};
use storage::{MarkMediaOutcome, Medium};

use crate::{Scheduling, SchedulingError};

/// The most parts of a file that are read to find its facts. Most files need one or two.
const MAX_PARTS: usize = 8;

const CONCURRENCY: usize = 8;

/// How long a request waits for the inspection of its documents, in all. The functions that clients
/// call time out after 29 seconds.
const INSPECTION_TIMEOUT: TimeDelta = TimeDelta::seconds(12);

const INSPECTION_POLL: TimeDelta = TimeDelta::milliseconds(200);

enum CheckedFile {
    Usable(Attachment),
    Unusable(UnusableFile),
}

enum UnusableFile {
    Unknown,
    NotUploaded,
    TooLarge { max: u64, size: u64 },
    OtherType { declared: MimeType },
}

impl std::fmt::Display for UnusableFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.write_str("is not one of your uploads; use the path that POST /media returned"),
            Self::NotUploaded => f.write_str("is not uploaded yet; PUT the file to its upload_url first"),
            Self::TooLarge { max, size } => {
                let (max, size) = (human_size(*max), human_size(*size));
                write!(f, "may have at most {max}; this file has {size}; upload a smaller one")
            }
            Self::OtherType { declared } => {
                write!(
                    f,
                    "is not a file of type {}, the mime_type of its upload; upload it with its real type",
                    declared.as_str()
                )
            }
        }
    }
}

impl Scheduling {
    /// Each file once, without alt text. An unusable file is an error at every field that names it.
    /// Another user's file is reported as if it did not exist.
    pub(crate) async fn attach(
        &self,
        user: UserId,
        named: &[MediaReference],
        known: &[Medium],
        errors: &mut ValidationErrors,
    ) -> Result<Vec<Attachment>, SchedulingError> {
        let deadline = self.clock.now() + INSPECTION_TIMEOUT;
        // The futures run concurrently, so each owns its medium.
        let known = known.iter().filter(|it| it.user_id == user && named.iter().any(|named| named.path == it.path()));
        let checks: Vec<_> = known
            .cloned()
            .map(|it| async move { Ok::<_, SchedulingError>((it.path(), self.check_file(&it, deadline).await?)) })
            .collect();
        let checked: HashMap<_, _> = futures::stream::iter(checks).buffered(CONCURRENCY).try_collect().await?;
        for named in named {
            match checked.get(&named.path) {
                Some(CheckedFile::Usable(_)) => {}
                Some(CheckedFile::Unusable(unusable)) => errors.add(&named.field, unusable),
                None => errors.add(&named.field, UnusableFile::Unknown),
            }
        }
        let usable = checked.into_values().filter_map(|it| match it {
            CheckedFile::Usable(attachment) => Some(attachment),
            CheckedFile::Unusable(_) => None,
        });
        Ok(usable.collect())
    }

    /// Call this before the post is written. A file that was removed meanwhile is an error.
    ///
    /// If the write of the post fails, a file is kept that no post uses. In the other order a post
    /// could lose its file.
    pub(crate) async fn reserve_uploads(
        &self,
        named: &[MediaReference],
        known: &[Medium],
        attachments: &[Attachment],
    ) -> Result<ValidationErrors, SchedulingError> {
        let mut errors = ValidationErrors::new();
        let is_new = |it: &&Medium| it.unused_since.is_some() || it.size_bytes.is_none() || it.facts.is_none();
        for medium in known.iter().filter(is_new) {
            let Some(attachment) = attachments.iter().find(|it| it.media_id == medium.media_id) else { continue };
            let facts = attachment.facts.unwrap_or_default();
            let used = self.store.mark_media_used(medium, attachment.size_bytes, facts).await?;
            if used == MarkMediaOutcome::Gone {
                for named in named.iter().filter(|it| it.path == medium.path()) {
                    errors.add(&named.field, UnusableFile::Unknown);
                }
            }
        }
        Ok(errors)
    }

    async fn check_file(&self, medium: &Medium, deadline: DateTime<Utc>) -> Result<CheckedFile, SchedulingError> {
        match (medium.size_bytes, medium.facts) {
            (Some(size_bytes), Some(facts)) => Ok(CheckedFile::Usable(attachment(medium, size_bytes, facts))),
            _ => self.verify(medium, deadline).await,
        }
    }

    async fn verify(&self, medium: &Medium, deadline: DateTime<Utc>) -> Result<CheckedFile, SchedulingError> {
        let object = self.bucket.head(&medium.path().to_string(), PART_BYTES).await?;
        let Some(object) = object else { return Ok(CheckedFile::Unusable(UnusableFile::NotUploaded)) };
        let max = self.rules.media_limits.max_bytes(medium.mime_type, false);
        if max < object.size_bytes {
            self.discard_unusable(medium).await;
            return Ok(CheckedFile::Unusable(UnusableFile::TooLarge { max, size: object.size_bytes }));
        }
        if !medium.mime_type.matches(&object.first_bytes) {
            return Ok(CheckedFile::Unusable(UnusableFile::OtherType { declared: medium.mime_type }));
        }
        let facts = if medium.mime_type.file_type() == FileType::Document {
            self.inspect(medium, deadline).await?
        } else {
            self.facts(medium, Parts::new(object.size_bytes, object.first_bytes.into())).await?
        };
        Ok(CheckedFile::Usable(attachment(medium, object.size_bytes, facts)))
    }

    /// Has a document inspected. This function does not open it: a crafted file could end the process.
    async fn inspect(&self, medium: &Medium, deadline: DateTime<Utc>) -> Result<Facts, SchedulingError> {
        let request = DocumentRequest { document: medium.path() };
        let mut facts = self.bucket.document_facts(&request).await?;
        if facts.is_none() {
            self.pictures.request_inspection(&request).await?;
        }
        while facts.is_none() {
            let now = self.clock.now();
            if deadline <= now {
                return Err(SchedulingError::NotInspected);
            }
            cloud::timer::sleep_until(&self.clock, now + INSPECTION_POLL).await;
            facts = self.bucket.document_facts(&request).await?;
        }
        Ok(Facts { document: facts, ..Facts::default() })
    }

    async fn facts(&self, medium: &Medium, mut parts: Parts) -> Result<Facts, SchedulingError> {
        for _ in 1..MAX_PARTS {
            let missing = match parts.facts(medium.mime_type) {
                Ok(facts) => return Ok(facts),
                Err(missing) => missing,
            };
            let start = missing.start;
            let part = self.bucket.open_range(&medium.path().to_string(), missing).await?;
            // A file that was removed meanwhile is detected when it is marked as used.
            let Some(part) = part else { break };
            let part: Vec<_> = part.try_collect().await?;
            parts.add(start, part.concat());
        }
        Ok(parts.known_facts(medium.mime_type))
    }
}

fn attachment(medium: &Medium, size_bytes: u64, facts: Facts) -> Attachment {
    let (media_id, mime_type) = (medium.media_id, medium.mime_type);
    Attachment { media_id, mime_type, size_bytes, alt_text: None, facts: Some(facts) }
}

/// Each id once.
pub(crate) fn ids<'n>(named: impl IntoIterator<Item = &'n MediaReference>) -> BTreeSet<MediaId> {
    named.into_iter().map(|it| it.path.media()).collect()
}
