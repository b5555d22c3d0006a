//! Where the code under test leaves itself, and how long that takes.

use std::time::Duration;

/// The longest that a call of the store, the queue or the bus takes.
pub(crate) const SLOWEST: Duration = Duration::from_secs(20);

/// A place where the code under test leaves itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Store,
    Queue,
    Events,
    Platform,
}

impl Port {
    /// How long a call takes: at least, and usually at most.
    pub(crate) const fn pace(self) -> (Duration, Duration) {
        match self {
            Self::Store => (Duration::from_millis(1), Duration::from_millis(15)),
            Self::Queue | Self::Events => (Duration::from_millis(3), Duration::from_millis(30)),
            Self::Platform => (Duration::from_millis(50), Duration::from_millis(900)),
        }
    }

    /// How long a slow call takes at most. A platform's adapter waits no
    /// longer than this; what takes longer was cut off.
    pub(crate) const fn slowest(self) -> Duration {
        match self {
            Self::Store | Self::Queue | Self::Events => SLOWEST,
            Self::Platform => Duration::from_secs(14),
        }
    }
}
