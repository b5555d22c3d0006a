//! The posts of the minute, and the state of each.

use super::chance::Random;
use super::store::Keys;
use super::{Ms, Setting};

/// The state of a post's delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No step was taken.
    Waiting,
    /// The publish call has begun; its outcome is not stored yet.
    Intended,
    /// The outcome of the publish call is stored.
    Settled,
    /// The post is rolled up, and its entry in the due index is removed.
    RolledUp,
}

/// The user whose platforms are slow, if there is one.
pub(super) const NOISY: u32 = 0;

/// A post with its delivery.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) keys: Keys,
    /// The second in which it is due.
    pub(super) due: Ms,
    /// When the next step is due.
    pub(super) next_step_at: Ms,
    /// Position in the due index.
    pub(super) due_at: Ms,
    /// When the lease of a worker expires.
    pub(super) lease_expires_at: Ms,
    /// Earliest time of the roll-up, if the plan deferred it.
    pub(super) roll_up_from: Option<Ms>,
    pub(super) state: State,
    /// Changes with every write, so that a conditional write detects other writes.
    pub(super) write_id: u32,
    /// Start of the publish call.
    pub(super) begun: Option<Ms>,
    /// End of the publish call.
    pub(super) public: Option<Ms>,
}

/// Posts of random users, due one after the other in whole seconds.
pub(super) fn make(setting: &Setting, chance: &mut Random) -> Vec<Post> {
    let mut owners = owners(setting);
    chance.shuffle(&mut owners);
    let mut posts: Vec<_> = (0_u32..)
        .zip(owners)
        .map(|(number, user)| {
            let due = Ms::try_from(number % 60).unwrap_or_default() * 1_000;
            let connection = user * 2 + chance.below(2);
            Post {
                keys: Keys { user, connection, shard: chance.below(setting.due_shards) },
                due,
                next_step_at: due,
                due_at: due,
                lease_expires_at: Ms::MIN,
                roll_up_from: None,
                state: State::Waiting,
                write_id: 0,
                begun: None,
                public: None,
            }
        })
        .collect();
    // Posts that are read one after the other are adjacent in memory, which is faster.
    posts.sort_by_key(|it| (it.due, it.keys.shard));
    posts
}

/// The user of each post: most users have few posts, and the first user has the most.
fn owners(setting: &Setting) -> Vec<u32> {
    if setting.noisy.is_some() {
        let mut owners: Vec<_> = (1..setting.users).collect();
        owners.resize(setting.posts as usize, NOISY);
        return owners;
    }
    let rest = f64::from(setting.posts);
    let busiest = f64::from(setting.busiest_has);
    // The n-th user has busiest / n^steepness posts. The loop searches for the steepness with the
    // right sum.
    let (mut low, mut high) = (0.0_f64, 4.0_f64);
    for _ in 0..50 {
        let steepness = f64::midpoint(low, high);
        let sum: f64 = (1..=setting.users).map(|it| busiest / f64::from(it).powf(steepness)).sum();
        if rest < sum { low = steepness } else { high = steepness }
    }
    let mut owners = Vec::with_capacity(setting.posts as usize);
    let mut sum = 0.0;
    for user in 0..setting.users {
        sum += busiest / f64::from(user + 1).powf(low);
        while f64::from(u32::try_from(owners.len()).unwrap_or(u32::MAX)) + 0.5 < sum.min(rest) {
            owners.push(user);
        }
    }
    // Rounding leaves a few posts without a user.
    owners.resize(setting.posts as usize, setting.users - 1);
    owners
}
