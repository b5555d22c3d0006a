//! The users' actions in a run, as data: drawn from a seed, or written by hand.

use chrono::TimeDelta;

use crate::faults::FaultPlan;
use crate::simulated_platforms::PlatformFault;

/// Everything that determines a run, except its seed.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The users' actions; `None` draws them from the seed.
    pub plot: Option<UserPlan>,
    /// The platform of all accounts; `None` draws one for each.
    pub on: Option<&'static str>,
    pub faults: FaultPlan,
}

/// The users' actions.
#[derive(Clone, Debug)]
pub struct UserPlan {
    /// The end of the period with faults, from the beginning.
    pub(crate) quiet_after: TimeDelta,
    /// The number of partitions of the due index.
    pub(crate) due_shards: u32,
    pub(crate) accounts: Vec<AccountPlan>,
    pub(crate) posts: Vec<PostPlan>,
    /// The outcomes of the first publish calls; those of later ones are random.
    pub(crate) public_calls: Vec<PlatformFault>,
    /// Whether the user has a webhook endpoint.
    pub(crate) webhooks: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct AccountPlan {
    pub(crate) platform: &'static str,
    /// The owner's actions, by the time since the beginning.
    pub(crate) acts: Vec<(TimeDelta, AccountAction)>,
    /// Whether its owner reconnects it when the service asks for that.
    pub(crate) reconnects: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountAction {
    /// Revokes the grant on the platform.
    Revoke,
    /// Disconnects it from the service.
    Disconnect,
    /// Connects it, for the first time or again.
    Connect,
}

#[derive(Clone, Debug)]
pub(crate) struct PostPlan {
    /// The accounts of its targets, by index.
    pub(crate) targets: Vec<usize>,
    /// The writer's actions, by the time since the beginning. The first is [`PostAction::Create`].
    pub(crate) acts: Vec<(TimeDelta, PostAction)>,
    /// How often the writer retries a failed post.
    pub(crate) retries: u32,
}

/// An action of the writer. Times are since the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PostAction {
    /// `None` is a draft. A time in the past is "now".
    Create(Option<TimeDelta>),
    /// Changes the text.
    Rewrite,
    Reschedule(TimeDelta),
    /// Changes the targets to these accounts, one bit each.
    Retarget(u8),
    /// Removes the time, so that it is a draft again.
    Unschedule,
    Delete,
}
