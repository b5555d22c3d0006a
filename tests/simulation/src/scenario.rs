//! What people do in a run, as data: drawn from a seed, or written by hand.

use chrono::TimeDelta;

use crate::faults::FaultPlan;
use crate::network::PlatformFate;

/// Everything that describes a run, except its seed.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// What people do; with `None` it is drawn from the seed.
    pub plot: Option<Plot>,
    /// The platform on which all accounts are; with `None` they are on any.
    pub on: Option<&'static str>,
    /// What goes wrong.
    pub faults: FaultPlan,
}

/// What people do.
#[derive(Clone, Debug)]
pub struct Plot {
    /// How long things may go wrong, from the beginning.
    pub(crate) quiet_after: TimeDelta,
    /// The number of partitions of the due index.
    pub(crate) due_shards: u32,
    pub(crate) accounts: Vec<AccountPlot>,
    pub(crate) posts: Vec<PostPlot>,
    /// What becomes of the first public calls; what comes after them is left to
    /// chance.
    pub(crate) public_calls: Vec<PlatformFate>,
    /// Whether there are endpoints that are told what happens.
    pub(crate) webhooks: bool,
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

#[derive(Clone, Debug)]
pub(crate) struct PostPlot {
    /// The accounts it goes to, by their index.
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
    /// Changes its words.
    Rewrite,
    /// Changes its time.
    Reschedule(TimeDelta),
    /// Changes its targets to these accounts, one bit each.
    Retarget(u8),
    /// Takes its time away, so that it is a draft again.
    Unschedule,
    /// Removes it.
    Delete,
}
