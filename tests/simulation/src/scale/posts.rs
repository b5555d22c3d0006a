//! The posts of the minute, and the state of each.

use super::chance::Random;
use super::store::Keys;
use super::{Ms, Setting};

/// The state of a post's delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing was begun.
    Waiting,
    /// The public call was begun; how it ended is not written down yet.
    Intended,
    /// How the public call ended is written down.
    Settled,
    /// The post says how it ended, and the due index no longer has it.
    RolledUp,
}

/// The user whose platforms are slow, where there is one.
pub(super) const NOISY: u32 = 0;

/// A post with its delivery.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) keys: Keys,
    /// The second in which it is due.
    pub(super) due: Ms,
    /// When its next step is due.
    pub(super) next_step_at: Ms,
    /// Its time in the due index.
    pub(super) due_at: Ms,
    /// When the lease ends with which a worker holds it.
    pub(super) lease_expires_at: Ms,
    /// From when on the post may be rolled up, if the plan set that
    /// off.
    pub(super) roll_up_from: Option<Ms>,
    pub(super) state: State,
    /// Changes with every write, so that a conditional write notices another
    /// one.
    pub(super) write_id: u32,
    /// When its public call was begun.
    pub(super) begun: Option<Ms>,
    /// When that call ended.
    pub(super) public: Option<Ms>,
}

/// Posts that are due one after the other in whole seconds, of random users.
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
    // Posts that are read one after the other lie side by side in memory, which
    // is faster.
    posts.sort_by_key(|it| (it.due, it.keys.shard));
    posts
}

/// The user of each post: most users have few posts, and the first user has the
/// most.
fn owners(setting: &Setting) -> Vec<u32> {
    if setting.noisy.is_some() {
        let mut owners: Vec<_> = (1..setting.users).collect();
        owners.resize(setting.posts as usize, NOISY);
        return owners;
    }
    let rest = f64::from(setting.posts);
    let busiest = f64::from(setting.busiest_has);
    // The n-th user has busiest / n^steepness posts; the steepness is searched
    // for which gives the right sum.
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
