//! The ports, where calls leave the code under test, and the durations of these calls.

use std::time::Duration;

/// For a call to the store, the queue or the bus.
pub(crate) const SLOWEST: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Store,
    Queue,
    Events,
    Platform,
    Endpoint,
}

impl Port {
    /// The minimum, and the usual maximum.
    pub(crate) const fn pace(self) -> (Duration, Duration) {
        match self {
            Self::Store => (Duration::from_millis(1), Duration::from_millis(15)),
            Self::Queue | Self::Events => (Duration::from_millis(3), Duration::from_millis(30)),
            Self::Platform | Self::Endpoint => (Duration::from_millis(50), Duration::from_millis(900)),
        }
    }

    /// An adapter times out after this, so a slower call to a platform counts as cut off.
    pub(crate) const fn slowest(self) -> Duration {
        match self {
            Self::Store | Self::Queue | Self::Events => SLOWEST,
            Self::Platform | Self::Endpoint => Duration::from_secs(14),
        }
    }
}
