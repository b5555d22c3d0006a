//! What people do in a run, as data: drawn from a seed, or written down.

use chrono::TimeDelta;

use crate::faults::Faults;
use crate::network::PlatformFate;

/// A run but for its seed.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// What people do; `None` is drawn from the seed.
    pub plot: Option<Plot>,
    /// What goes wrong.
    pub faults: Faults,
}

/// What people do.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Until when things may go wrong, from the beginning.
    pub(crate) quiet_after: TimeDelta,
    /// Partitions of the due index.
    pub(crate) due_shards: u32,
    pub(crate) accounts: Vec<AccountPlot>,
    pub(crate) posts: Vec<PostPlot>,
    /// What becomes of the first public calls; those after them go well.
    pub(crate) public_calls: Vec<PlatformFate>,
}

/// An account on a platform.
#[derive(Clone, Debug)]
pub(crate) struct AccountPlot {
    /// The platform's name.
    pub(crate) platform: &'static str,
    /// What its owner does, by the time since the beginning.
    pub(crate) acts: Vec<(TimeDelta, AccountAct)>,
    /// Whether its owner connects it again when that is asked for.
    pub(crate) minded: bool,
}

/// What the owner of an account does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountAct {
    /// Takes the grant back on the platform.
    Revoke,
    /// Disconnects it from the service.
    Disconnect,
    /// Connects it, again or anew.
    Connect,
}

/// A post.
#[derive(Clone, Debug)]
pub(crate) struct PostPlot {
    /// The accounts it goes to, by their place.
    pub(crate) targets: Vec<usize>,
    /// What its writer does, by the time since the beginning. The first is
    /// [`PostAct::Create`].
    pub(crate) acts: Vec<(TimeDelta, PostAct)>,
    /// How often its writer tries again what failed.
    pub(crate) retries: u32,
}

/// What the writer of a post does. Times are since the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PostAct {
    /// Writes it; `None` is a draft. A time that has passed is "now".
    Create(Option<TimeDelta>),
    /// Gives it other words.
    Rewrite,
    /// Gives it another time.
    Reschedule(TimeDelta),
    /// Aims it at these accounts instead, each by its bit.
    Retarget(u8),
    /// Takes it back to draft.
    Unschedule,
    /// Removes it.
    Delete,
}
