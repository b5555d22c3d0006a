//! The only place where the time is read.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

#[derive(Clone, Debug, Default)]
pub enum Clock {
    #[default]
    System,
    /// Milliseconds since 1970; changes only when it is moved.
    Manual(Arc<AtomicI64>),
    Function(TimeFn),
}

#[derive(Clone)]
pub struct TimeFn(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl fmt::Debug for TimeFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TimeFn")
    }
}

impl Clock {
    pub fn manual(at: DateTime<Utc>) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(at.timestamp_millis())))
    }

    /// A clock that reads a function. Time passes without [`Clock::advance`], so callers have to
    /// wait as with the system clock.
    pub fn from_fn(now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self::Function(TimeFn(Arc::new(now)))
    }

    /// Now, in whole milliseconds: the resolution of the API and of the store.
    pub fn now(&self) -> DateTime<Utc> {
        let millis = match self {
            Self::System => Utc::now().timestamp_millis(),
            Self::Manual(millis) => millis.load(Ordering::SeqCst),
            Self::Function(time_fn) => (time_fn.0)().timestamp_millis(),
        };
        DateTime::from_timestamp_millis(millis).unwrap_or_default()
    }

    /// Moves a manual clock to `at`, never backwards. Returns false for any other clock, for which
    /// the caller has to wait.
    pub fn skip_to(&self, at: DateTime<Utc>) -> bool {
        match self {
            Self::System | Self::Function(_) => false,
            Self::Manual(millis) => {
                millis.fetch_max(at.timestamp_millis(), Ordering::SeqCst);
                true
            }
        }
    }

    /// Moves a manual clock; has no effect on any other.
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
    fn clock_with_a_function_cannot_be_skipped() {
        let millis = Arc::new(AtomicI64::new(noon().timestamp_millis()));
        let clock_millis = Arc::clone(&millis);
        let clock =
            Clock::from_fn(move || DateTime::from_timestamp_millis(clock_millis.load(Ordering::SeqCst)).unwrap());

        assert!(!clock.skip_to(noon() + TimeDelta::seconds(9)));
        clock.advance(TimeDelta::seconds(9));
        assert_eq!(clock.now(), noon());

        millis.fetch_add(7, Ordering::SeqCst);
        assert_eq!(clock.now(), noon() + TimeDelta::milliseconds(7));
    }
}
