//! The lateness of posts when nothing fails and schedules and queues behave as in practice: ticks
//! are up to 59 s late, one of them is missed, and messages are up to a second late.

use chrono::TimeDelta;

use crate::faults::FaultPlan;
use crate::report::Report;
use crate::run::run;
use crate::scenario::{AccountPlan, PostAction, PostPlan, Scenario, UserPlan};

const POSTS: i64 = 60;

/// When the first post is due: late enough that a tick plans most posts, and early enough that some
/// are planned by the request that wrote them.
const FIRST_DUE_S: i64 = 60;

/// The time between two posts. The posts span several ticks.
const APART_S: i64 = 11;

pub fn lateness(seed: u64) -> Report {
    let account = |platform| AccountPlan { platform, acts: Vec::new(), reconnects: true };
    let post = |number| {
        let due = TimeDelta::seconds(FIRST_DUE_S + number * APART_S);
        PostPlan {
            targets: vec![usize::try_from(number % 2).unwrap_or(0)],
            acts: vec![(TimeDelta::milliseconds(number * 10), PostAction::Create(Some(due)))],
            retries: 0,
        }
    };
    let plan = UserPlan {
        quiet_after: TimeDelta::seconds(FIRST_DUE_S + POSTS * APART_S + 60),
        due_shards: 2,
        accounts: vec![account("listed"), account("listed-in-steps")],
        posts: (0..POSTS).map(post).collect(),
        public_calls: Vec::new(),
        webhooks: false,
    };
    run(seed, &Scenario { plot: Some(plan), on: None, faults: FaultPlan::MissedTick })
}
