use chrono::TimeDelta;

use crate::faults::FaultPlan;
use crate::simulated_platforms::PlatformFault;

#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// `None` draws the actions from the seed.
    pub plot: Option<UserPlan>,
    /// For all accounts; `None` draws one for each.
    pub on: Option<&'static str>,
    pub faults: FaultPlan,
}

#[derive(Clone, Debug)]
pub struct UserPlan {
    /// Counts from the beginning of the run.
    pub(crate) quiet_after: TimeDelta,
    pub(crate) due_shards: u32,
    pub(crate) accounts: Vec<AccountPlan>,
    pub(crate) posts: Vec<PostPlan>,
    /// Outcomes of later calls are random.
    pub(crate) public_calls: Vec<PlatformFault>,
    pub(crate) webhooks: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct AccountPlan {
    pub(crate) platform: &'static str,
    /// Keyed by the time since the beginning.
    pub(crate) acts: Vec<(TimeDelta, AccountAction)>,
    /// Whether its owner reconnects it when the service asks for that.
    pub(crate) reconnects: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountAction {
    Revoke,
    Disconnect,
    Connect,
}

#[derive(Clone, Debug)]
pub(crate) struct PostPlan {
    /// Indexes of accounts.
    pub(crate) targets: Vec<usize>,
    /// By the time since the beginning. The first is [`PostAction::Create`].
    pub(crate) acts: Vec<(TimeDelta, PostAction)>,
    pub(crate) retries: u32,
}

/// Times are since the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PostAction {
    /// `None` is a draft. A time in the past is "now".
    Create(Option<TimeDelta>),
    Rewrite,
    Reschedule(TimeDelta),
    /// Changes the targets to these accounts, one bit each.
    Retarget(u8),
    Unschedule,
    Delete,
}
