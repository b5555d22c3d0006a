use chrono::{DateTime, TimeDelta, Utc};

/// How long a replaced secret still signs.
pub const ROTATION: TimeDelta = TimeDelta::hours(24);

/// The most replaced secrets that still sign. With more rotations within [`ROTATION`], the oldest
/// end early, because each is a signature in every message.
pub const MAX_REPLACED: usize = 4;

/// The secrets of an endpoint, encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSecrets {
    pub newest: Vec<u8>,
    /// The latest first.
    pub replaced: Vec<ReplacedSecret>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedSecret {
    pub sealed: Vec<u8>,
    pub until: DateTime<Utc>,
}

impl WebhookSecrets {
    pub fn new(sealed: Vec<u8>) -> Self {
        Self { newest: sealed, replaced: Vec::new() }
    }

    /// Replaces the current secret. The older ones keep their expiry, so a rotation that is
    /// repeated because its response was lost breaks nothing.
    #[must_use]
    pub fn rotated(self, sealed: Vec<u8>, now: DateTime<Utc>) -> Self {
        let last = ReplacedSecret { sealed: self.newest, until: now + ROTATION };
        let before = self.replaced.into_iter().filter(|it| now < it.until);
        Self { newest: sealed, replaced: std::iter::once(last).chain(before).take(MAX_REPLACED).collect() }
    }

    /// The secrets that sign now, the newest first.
    pub fn signing(&self, now: DateTime<Utc>) -> impl Iterator<Item = &[u8]> {
        let replaced = self.replaced.iter().filter(move |it| now < it.until).map(|it| it.sealed.as_slice());
        std::iter::once(self.newest.as_slice()).chain(replaced)
    }

    /// Until when the secret before the last rotation signs too; `None` when it does not sign.
    pub fn previous_expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.replaced.first().map(|it| it.until).filter(|it| now < *it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noon;

    fn signing(secrets: &WebhookSecrets, now: DateTime<Utc>) -> Vec<u8> {
        secrets.signing(now).flatten().copied().collect()
    }

    #[test]
    fn replaced_secret_signs_for_a_day() {
        let later = |hours| noon() + TimeDelta::hours(hours);
        let secrets = WebhookSecrets::new(vec![1]);
        assert_eq!(secrets.previous_expires_at(noon()), None);

        let secrets = secrets.rotated(vec![2], noon()).rotated(vec![3], later(1));

        assert_eq!(secrets.previous_expires_at(later(24)), Some(later(25)));
        assert_eq!(secrets.previous_expires_at(later(25)), None, "it signs no more");
        assert_eq!(signing(&secrets, later(23)), [3, 2, 1]);
        assert_eq!(signing(&secrets, later(24)), [3, 2]);
        assert_eq!(signing(&secrets, later(25)), [3]);
        let secrets = secrets.rotated(vec![4], later(24));
        assert_eq!(secrets.replaced.len(), 2, "one that has ended is not kept");
    }

    #[test]
    fn message_has_at_most_five_endpoint_signatures() {
        let secrets = (2..=9).fold(WebhookSecrets::new(vec![1]), |it, next| it.rotated(vec![next], noon()));
        assert_eq!(signing(&secrets, noon()), [9, 8, 7, 6, 5]);
    }
}
