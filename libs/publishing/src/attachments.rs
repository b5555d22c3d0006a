//! The files that a post is to carry. Each is looked at in the bucket once: that
//! it is there, that it is what it was declared to be, and what it says of
//! itself. From its first use on it is never removed as unused.

use std::collections::{BTreeSet, HashMap};

use domain::id::{MediaId, UserId};
use domain::media::{Attachment, Facts, MimeType, PART_BYTES, Parts, human_size};
use domain::post::NamedMedium;
use domain::validation_errors::ValidationErrors;
use futures::{StreamExt, TryStreamExt};
use storage::{Medium, MediumUse};

use crate::{Publishing, PublishingError};

/// The most parts of a file that are read to know it. Most take one or two.
const MAX_PARTS: usize = 8;

/// Files looked at in the bucket at the same time.
const CONCURRENCY: usize = 8;

/// Why a file cannot be used.
enum Unusable {
    Unknown,
    NotUploaded,
    TooLarge { max: u64, size: u64 },
    OtherType { declared: MimeType },
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.write_str("is not one of your uploads; use the path that POST /media answered"),
            Self::NotUploaded => f.write_str("was never uploaded; PUT the file to its upload_url first"),
            Self::TooLarge { max, size } => {
                let (max, size) = (human_size(*max), human_size(*size));
                write!(f, "is larger than allowed: at most {max}, this has {size}")
            }
            Self::OtherType { declared } => {
                write!(f, "is not {}, which it was declared to be", declared.as_str())
            }
        }
    }
}

impl Publishing {
    /// The named files as attachments, each once, without words. A file that
    /// cannot be used is a fault wherever it is named; one of another user is
    /// reported as if it did not exist.
    pub(crate) async fn attach(
        &self,
        user: UserId,
        named: &[NamedMedium],
        known: &[Medium],
        faults: &mut ValidationErrors,
    ) -> Result<Vec<Attachment>, PublishingError> {
        // The futures run at the same time, so each has a medium of its own.
        let known = known.iter().filter(|it| it.user_id == user && named.iter().any(|named| named.path == it.path()));
        let looks: Vec<_> = known
            .cloned()
            .map(|it| async move { Ok::<_, PublishingError>((it.path(), self.attach_one(it).await?)) })
            .collect();
        let looked: HashMap<_, _> = futures::stream::iter(looks).buffered(CONCURRENCY).try_collect().await?;
        for named in named {
            match looked.get(&named.path) {
                Some(Ok(_)) => {}
                Some(Err(unusable)) => faults.add(&named.field, unusable),
                None => faults.add(&named.field, Unusable::Unknown),
            }
        }
        Ok(looked.into_values().filter_map(Result::ok).collect())
    }

    /// Marks the files of a post that is about to be written as used. A file
    /// that was removed meanwhile is a fault.
    ///
    /// This comes before the write of the post. If that fails, a file is kept
    /// that no post uses; the other way round, a post could lose its file.
    pub(crate) async fn reserve_uploads(
        &self,
        named: &[NamedMedium],
        known: &[Medium],
        attachments: &[Attachment],
    ) -> Result<ValidationErrors, PublishingError> {
        let mut faults = ValidationErrors::new();
        let is_new = |it: &&Medium| it.unused_since.is_some() || it.size_bytes.is_none() || it.facts.is_none();
        for medium in known.iter().filter(is_new) {
            let Some(attachment) = attachments.iter().find(|it| it.media_id == medium.media_id) else { continue };
            let facts = attachment.facts.unwrap_or_default();
            let used = self.store.mark_medium_used(medium, attachment.size_bytes, facts).await?;
            if used == MediumUse::Gone {
                for named in named.iter().filter(|it| it.path == medium.path()) {
                    faults.add(&named.field, Unusable::Unknown);
                }
            }
        }
        Ok(faults)
    }

    async fn attach_one(&self, medium: Medium) -> Result<Result<Attachment, Unusable>, PublishingError> {
        let (size_bytes, facts) = match (medium.size_bytes, medium.facts) {
            (Some(size_bytes), Some(facts)) => (size_bytes, facts),
            _ => match self.verify(&medium).await? {
                Ok(found) => found,
                Err(unusable) => return Ok(Err(unusable)),
            },
        };
        let Medium { media_id, mime_type, .. } = medium;
        Ok(Ok(Attachment { media_id, mime_type, size_bytes, alt_text: None, facts: Some(facts) }))
    }

    async fn verify(&self, medium: &Medium) -> Result<Result<(u64, Facts), Unusable>, PublishingError> {
        let look = self.bucket.look(&medium.path().to_string(), PART_BYTES).await?;
        let Some(look) = look else { return Ok(Err(Unusable::NotUploaded)) };
        let max = self.media_limits.max_bytes(medium.mime_type, false);
        if max < look.size_bytes {
            self.discard_unusable(medium).await;
            return Ok(Err(Unusable::TooLarge { max, size: look.size_bytes }));
        }
        if !medium.mime_type.matches(&look.first_bytes) {
            return Ok(Err(Unusable::OtherType { declared: medium.mime_type }));
        }
        let parts = Parts::of(look.size_bytes, look.first_bytes.into());
        Ok(Ok((look.size_bytes, self.facts(medium, parts).await?)))
    }

    /// What a file says of itself, read part by part.
    async fn facts(&self, medium: &Medium, mut parts: Parts) -> Result<Facts, PublishingError> {
        for _ in 1..MAX_PARTS {
            let missing = match parts.facts(medium.mime_type) {
                Ok(facts) => return Ok(facts),
                Err(missing) => missing,
            };
            let start = missing.start;
            let part = self.bucket.open_range(&medium.path().to_string(), missing).await?;
            // A file that is removed meanwhile is found out when it is kept.
            let Some(part) = part else { break };
            let part: Vec<_> = part.try_collect().await?;
            parts.bring(start, part.concat());
        }
        Ok(parts.facts_so_far(medium.mime_type))
    }
}

/// The records that a request has to know, each once.
pub(crate) fn ids<'n>(named: impl IntoIterator<Item = &'n NamedMedium>) -> BTreeSet<MediaId> {
    named.into_iter().map(|it| it.path.media()).collect()
}

#[cfg(test)]
mod tests;
