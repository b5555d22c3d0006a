//! The one place where the time is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

/// Tells the time: the machine's, or one that a test moves by hand.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// Milliseconds since 1970 that stand still until they are moved.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `at` until [`Clock::advance`] is called.
    pub fn manual(at: DateTime<Utc>) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(at.timestamp_millis())))
    }

    /// The time now, in whole milliseconds, which is what the API shows and
    /// the store keeps.
    pub fn now(&self) -> DateTime<Utc> {
        let millis = match self {
            Self::System => Utc::now().timestamp_millis(),
            Self::Manual(millis) => millis.load(Ordering::SeqCst),
        };
        DateTime::from_timestamp_millis(millis).unwrap_or_default()
    }

    /// Whether the clock could be moved on to `at` by hand; the machine's clock
    /// has to be waited for. One that is past `at` stays where it is.
    pub fn skip_to(&self, at: DateTime<Utc>) -> bool {
        match self {
            Self::System => false,
            Self::Manual(millis) => {
                millis.fetch_max(at.timestamp_millis(), Ordering::SeqCst);
                true
            }
        }
    }

    /// Moves a manual clock on; the machine's clock moves by itself.
    pub fn advance(&self, by: TimeDelta) {
        if let Self::Manual(millis) = self {
            millis.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
        }
    }
}
