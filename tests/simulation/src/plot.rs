//! Draws from a seed what users do in a run.

use chrono::TimeDelta;

use crate::scenario::{AccountAction, AccountPlan, PostAction, PostPlan, UserPlan};
use crate::simulated_platforms::{PlatformFault, random_specs};

const LAST_DUE_S: i64 = 360;

const QUIET_S: i64 = 480;

impl UserPlan {
    pub(crate) fn drawn(seed: u64) -> Self {
        // A separate random generator: the faults of the run draw from another one, so they do not
        // change what users do.
        let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed);
        let mut accounts: Vec<_> = (0..rng.usize(2..=4)).map(|_| account(&mut rng)).collect();
        let mut posts: Vec<_> = (0..[2, 3, 3, 4, 5][rng.usize(0..5)]).map(|_| post(&mut rng, accounts.len())).collect();
        let is_rush = rng.u32(0..8) == 0;
        let public_calls = if is_rush { rush(&mut rng, &mut accounts, &mut posts) } else { Vec::new() };
        let due_shards = rng.u32(1..=2);
        let webhooks = rng.u32(0..3) == 0;
        Self { quiet_after: TimeDelta::seconds(QUIET_S), due_shards, accounts, posts, public_calls, webhooks }
    }
}

/// Many posts at once on one account whose posts all look alike. Returns the outcomes of the first
/// publish calls.
fn rush(rng: &mut fastrand::Rng, accounts: &mut [AccountPlan], posts: &mut Vec<PostPlan>) -> Vec<PlatformFault> {
    const DOUBTFUL: [PlatformFault; 4] =
        [PlatformFault::ResponseLost, PlatformFault::CallLost, PlatformFault::ErrorAfter, PlatformFault::Error];
    let platform = ["recognized", "recognized-in-steps"][rng.usize(0..2)];
    accounts[0] = AccountPlan { platform, acts: Vec::new(), reconnects: true };
    let due = TimeDelta::seconds(rng.i64(120..LAST_DUE_S));
    posts.clear();
    for _ in 0..rng.usize(3..=6) {
        let actions = vec![(seconds(rng, 0, 30), PostAction::Create(Some(due)))];
        posts.push(PostPlan { targets: vec![0], acts: actions, retries: 0 });
    }
    (0..rng.usize(0..=4)).map(|_| DOUBTFUL[rng.usize(0..DOUBTFUL.len())]).collect()
}

fn seconds(rng: &mut fastrand::Rng, from: i64, to: i64) -> TimeDelta {
    TimeDelta::milliseconds(rng.i64(from * 1_000..to * 1_000))
}

fn account(rng: &mut fastrand::Rng) -> AccountPlan {
    let mut actions = Vec::new();
    if rng.u32(0..5) == 0 {
        actions.push((seconds(rng, 30, LAST_DUE_S), AccountAction::Revoke));
    }
    if rng.u32(0..5) == 0 {
        let at = seconds(rng, 30, LAST_DUE_S);
        actions.push((at, AccountAction::Disconnect));
        actions.push((at + seconds(rng, 5, 90), AccountAction::Connect));
    }
    if rng.u32(0..6) == 0 {
        actions.push((seconds(rng, 30, LAST_DUE_S), AccountAction::Connect));
    }
    actions.sort_by_key(|it| it.0);
    // Few owners never reconnect: a post that waits for its account waits for a day, and simulating
    // that day takes time.
    let specs: Vec<_> = random_specs().collect();
    AccountPlan { platform: specs[rng.usize(0..specs.len())].name, acts: actions, reconnects: rng.u32(0..200) != 0 }
}

fn post(rng: &mut fastrand::Rng, accounts: usize) -> PostPlan {
    let mut targets: Vec<_> = (0..accounts).collect();
    rng.shuffle(&mut targets);
    targets.truncate([1, 1, 2, 2, 3][rng.usize(0..5)]);

    let written = seconds(rng, 0, 180);
    // Due times are whole seconds.
    let mut due = TimeDelta::seconds(rng.i64(written.num_seconds() + 5..LAST_DUE_S));
    let first = match rng.u32(0..8) {
        0 => PostAction::Create(None),
        1 => PostAction::Create(Some(TimeDelta::zero())),
        _ => PostAction::Create(Some(due)),
    };
    let mut actions = vec![(written, first)];
    let mut last = written;
    for _ in 0..[0, 0, 0, 1, 1, 2, 3][rng.usize(0..7)] {
        // Mostly close to the due second, where changes race with the delivery.
        let at = match rng.u32(0..5) {
            // From another device, before the response to the previous request.
            4 => last + TimeDelta::milliseconds(rng.i64(1..30)),
            0 => seconds(rng, written.num_seconds() + 1, LAST_DUE_S),
            1 => due + TimeDelta::milliseconds(rng.i64(-70_000..70_000)),
            _ => due + TimeDelta::milliseconds(rng.i64(-3_000..3_000)),
        };
        let at = at.max(written + TimeDelta::milliseconds(100));
        last = at;
        let action = match rng.u32(0..11) {
            0..=3 => PostAction::Rewrite,
            10 => PostAction::Retarget(rng.u8(1..1 << accounts)),
            4..=6 => {
                due = (at + seconds(rng, 1, 60)).min(TimeDelta::seconds(LAST_DUE_S + 60));
                due = TimeDelta::seconds(due.num_seconds() + 1);
                PostAction::Reschedule(due)
            }
            7 | 8 => PostAction::Unschedule,
            _ => PostAction::Delete,
        };
        actions.push((at, action));
    }
    actions.sort_by_key(|it| it.0);
    PostPlan { targets, acts: actions, retries: rng.u32(0..=2) }
}
