//! The one place where the time is read.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

/// Tells the time: the machine's, one that a test moves by hand, or one that
/// passes by itself in another way.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// Milliseconds since 1970 that stand still until they are moved.
    Manual(Arc<AtomicI64>),
    /// Whatever a function says.
    Told(Teller),
}

/// A function that says what time it is.
#[derive(Clone)]
pub struct Teller(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Teller")
    }
}

impl Clock {
    /// A clock that stands at `at` until [`Clock::advance`] is called.
    pub fn manual(at: DateTime<Utc>) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(at.timestamp_millis())))
    }

    /// A clock that is told the time. Time passes for it by itself, so that it
    /// has to be waited for like the machine's.
    pub fn of(now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self::Told(Teller(Arc::new(now)))
    }

    /// The time now, in whole milliseconds, which is what the API shows and
    /// the store keeps.
    pub fn now(&self) -> DateTime<Utc> {
        let millis = match self {
            Self::System => Utc::now().timestamp_millis(),
            Self::Manual(millis) => millis.load(Ordering::SeqCst),
            Self::Told(teller) => (teller.0)().timestamp_millis(),
        };
        DateTime::from_timestamp_millis(millis).unwrap_or_default()
    }

    /// Whether the clock could be moved on to `at` by hand; any other clock has
    /// to be waited for. One that is past `at` stays where it is.
    pub fn skip_to(&self, at: DateTime<Utc>) -> bool {
        match self {
            Self::System | Self::Told(_) => false,
            Self::Manual(millis) => {
                millis.fetch_max(at.timestamp_millis(), Ordering::SeqCst);
                true
            }
        }
    }

    /// Moves a manual clock on; any other clock moves by itself.
    pub fn advance(&self, by: TimeDelta) {
        if let Self::Manual(millis) = self {
            millis.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> DateTime<Utc> {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_clock_that_is_told_the_time_is_waited_for() {
        let millis = Arc::new(AtomicI64::new(noon().timestamp_millis()));
        let told = Arc::clone(&millis);
        let clock = Clock::of(move || DateTime::from_timestamp_millis(told.load(Ordering::SeqCst)).unwrap());

        assert!(!clock.skip_to(noon() + TimeDelta::seconds(9)));
        clock.advance(TimeDelta::seconds(9));
        assert_eq!(clock.now(), noon());

        millis.fetch_add(7, Ordering::SeqCst);
        assert_eq!(clock.now(), noon() + TimeDelta::milliseconds(7));
    }
}
