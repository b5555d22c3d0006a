//! The files that a post is to carry. Each is looked at in the bucket once, and
//! from its first use on it is never removed as unused.

use domain::faults::Faults;
use domain::id::UserId;
use domain::media::{AltText, Attachment, MediaPath, MimeType, SNIFF_BYTES, human_size};
use futures::StreamExt;
use storage::{Medium, MediumUse};

use crate::{Publishing, PublishingError};

/// A file that a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMedium {
    /// Its place in the request, for messages.
    pub index: usize,
    /// Its reference.
    pub path: MediaPath,
    /// What it shows.
    pub alt_text: Option<AltText>,
}

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
    /// The named files as attachments, in order. A file that cannot be used is a
    /// fault; one of another user is reported as if it did not exist.
    pub(crate) async fn attach(
        &self,
        user: UserId,
        named: &[NamedMedium],
        known: &[Medium],
        faults: &mut Faults,
    ) -> Result<Vec<Attachment>, PublishingError> {
        // The futures run at the same time, so each has a medium of its own.
        let looks = named.iter().map(|named| {
            let known = known.iter().find(|it| it.path() == named.path && it.user_id == user).cloned();
            async move {
                match known {
                    Some(medium) => self.attach_one(medium).await,
                    None => Ok(Err(Unusable::Unknown)),
                }
            }
        });
        let looks: Vec<_> = looks.collect();
        let looked: Vec<_> = futures::stream::iter(looks).buffered(CONCURRENCY).collect().await;
        let mut attachments = Vec::new();
        for (named, looked) in named.iter().zip(looked) {
            match looked? {
                Ok(attachment) => attachments.push(Attachment { alt_text: named.alt_text.clone(), ..attachment }),
                Err(unusable) => faults.add(format!("media.{}", named.index), unusable),
            }
        }
        Ok(attachments)
    }

    /// Marks the files of a post that is about to be written as used. A file
    /// that was removed meanwhile is a fault.
    ///
    /// This comes before the write of the post. If that fails, a file is kept
    /// that no post uses; the other way round, a post could lose its file.
    pub(crate) async fn keep_files(
        &self,
        named: &[NamedMedium],
        known: &[Medium],
        attachments: &[Attachment],
    ) -> Result<Faults, PublishingError> {
        let mut faults = Faults::new();
        for medium in known.iter().filter(|it| it.unused_since.is_some() || it.size_bytes.is_none()) {
            let Some(attachment) = attachments.iter().find(|it| it.media_id == medium.media_id) else { continue };
            let used = self.store.mark_medium_used(medium, attachment.size_bytes).await?;
            if used == MediumUse::Gone {
                let index = named.iter().find(|it| it.path == medium.path()).map_or(0, |it| it.index);
                faults.add(format!("media.{index}"), Unusable::Unknown);
            }
        }
        Ok(faults)
    }

    async fn attach_one(&self, medium: Medium) -> Result<Result<Attachment, Unusable>, PublishingError> {
        let size_bytes = match medium.size_bytes {
            Some(size) => size,
            None => match self.verify(&medium).await? {
                Ok(size) => size,
                Err(unusable) => return Ok(Err(unusable)),
            },
        };
        Ok(Ok(Attachment {
            media_id: medium.media_id,
            mime_type: medium.mime_type,
            size_bytes,
            alt_text: None,
            facts: None,
        }))
    }

    async fn verify(&self, medium: &Medium) -> Result<Result<u64, Unusable>, PublishingError> {
        let look = self.bucket.look(&medium.path().to_string(), SNIFF_BYTES).await?;
        let Some(look) = look else { return Ok(Err(Unusable::NotUploaded)) };
        let max = self.media_limits.max_bytes(medium.mime_type, false);
        if max < look.size_bytes {
            self.discard_unusable(medium).await;
            return Ok(Err(Unusable::TooLarge { max, size: look.size_bytes }));
        }
        if !medium.mime_type.matches(&look.first_bytes) {
            return Ok(Err(Unusable::OtherType { declared: medium.mime_type }));
        }
        Ok(Ok(look.size_bytes))
    }
}

#[cfg(test)]
mod tests;
