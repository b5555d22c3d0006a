//! One profile whose platform is slow and that has more posts than can be published, next to a
//! hundred other profiles of the same user. The delivery function has as many environments as a
//! deployment with default settings, and the queue is fair as SQS is.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::{AccountInfo, Connection};
use domain::id::PostId;
use domain::post::{NewPost, NewTarget};
use domain::testing::{a_connection, a_profile, a_user, text};
use domain::user::User;
use publishing::ConcurrencyLimits;
use scheduling::Created;
use secrecy::ExposeSecret;
use storage::testing::{connect, join};
use storage::{ProfileCreated, grant_context};

use crate::deployment::{Deployment, Fleet};
use crate::faults::FaultPlan;
use crate::run::simulate;
use crate::simulated_platforms::{SimulatedPlatforms, Spec};
use crate::world::SimulatedWorld;

/// The other profiles, and posts of each.
const OTHERS: i64 = 100;
const POSTS_OF_EACH: i64 = 3;

/// When the posts of the slow profile begin to be due: late enough that the tick plans all of them.
const SLOW_FROM_S: i64 = 300;

/// When the others' posts are due, spread over the seconds: after the slow calls have begun.
const OTHERS_FROM_S: i64 = SLOW_FROM_S + 10;
const OTHERS_WITHIN_S: i64 = 300;

#[derive(Clone, Debug, Default)]
pub struct Fairness {
    /// Sorted. A post whose publish call has not begun at the end is missing.
    pub others_late: Vec<TimeDelta>,
    pub others_posts: usize,
    /// Publish calls of the slow profile in this time.
    pub slow_calls: usize,
}

impl Fairness {
    pub fn p99(&self) -> TimeDelta {
        let index = (self.others_posts * 99).div_ceil(100).saturating_sub(1);
        self.others_late.get(index).copied().unwrap_or(TimeDelta::MAX)
    }
}

/// The posts of the slow profile are due evenly over `spread_over_s` seconds, from 1.
pub fn fairness(seed: u64, slow_posts: i64, spread_over_s: i64) -> Fairness {
    simulate(seed, play(seed, slow_posts, spread_over_s))
}

async fn play(seed: u64, slow_posts: i64, spread_over_s: i64) -> Fairness {
    let ends = TimeDelta::seconds(OTHERS_FROM_S + OTHERS_WITHIN_S + 15);
    let world = Arc::new(SimulatedWorld::new(seed, &FaultPlan::None, ends));
    let platforms = SimulatedPlatforms::new(Arc::clone(&world), &[]);
    let fleet = Fleet { limits: ConcurrencyLimits::default(), collects: false };
    let deployment = Deployment::new(&world, platforms, 4, fleet);
    let user = User { user_id: deployment.services.scheduling.ids.fresh(), ..a_user() };
    join(&deployment.services.scheduling.store, &user).await;

    let slow = connect_profile(&deployment, &user, "slow").await;
    for number in 0..slow_posts {
        let due = SLOW_FROM_S + number % spread_over_s;
        schedule(&deployment, &slow, world.start + TimeDelta::seconds(due)).await;
    }
    let mut due_times = BTreeMap::new();
    for _ in 0..OTHERS {
        let account = connect_profile(&deployment, &user, "nonce").await;
        for _ in 0..POSTS_OF_EACH {
            let due = world.start + TimeDelta::seconds(OTHERS_FROM_S + world.dice().i64(0..OTHERS_WITHIN_S));
            due_times.insert(schedule(&deployment, &account, due).await, due);
        }
    }
    deployment.start();
    world.sleep_until(world.start + ends).await;

    let timeline = deployment.platforms.take_timeline();
    let late = |post: PostId, at: DateTime<Utc>| due_times.get(&post).map(|due| at - *due);
    let mut others_late: Vec<_> = timeline.begun.iter().filter_map(|it| late(it.reference.post, it.at)).collect();
    others_late.sort_unstable();
    let slow_calls = timeline.begun.len() - others_late.len();
    Fairness { others_late, others_posts: due_times.len(), slow_calls }
}

/// The credentials of the account do not expire.
async fn connect_profile(deployment: &Deployment, user: &User, platform: &'static str) -> Connection {
    let publishing = &deployment.services.publishing;
    let profile = a_profile(user);
    let created = publishing.store.create_profile(&profile, None).await;
    assert!(matches!(created, Ok(ProfileCreated::Done)), "{created:?}");
    let account_id = profile.profile_id.to_string();
    let account = Connection {
        connection_id: deployment.services.scheduling.ids.fresh(),
        provider: platform.to_owned(),
        profile: AccountInfo { account_id: account_id.clone(), ..a_connection(user).profile },
        of_profile: Some(profile.reference()),
        ..a_connection(user)
    };
    let credentials = deployment.platforms.authorize(Spec::named(platform), &account_id).to_bytes();
    let context = grant_context(user.user_id, &account.account());
    let sealed = publishing.credentials.sealer.seal(credentials.expose_secret().as_bytes(), &context).await;
    connect(&publishing.store, &account, &sealed.expect("local keys"), None).await;
    account
}

async fn schedule(deployment: &Deployment, account: &Connection, due: DateTime<Utc>) -> PostId {
    let request = NewPost {
        targets: vec![NewTarget::new(0, account.connection_id)],
        scheduled_at: Some(due),
        ..NewPost::new(text("Hello"))
    };
    match deployment.services.scheduling.create_post(account.user_id, request, None).await {
        Ok(Created::New(post)) => post.post_id,
        other => panic!("the post is scheduled: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_profile_delays_no_other() {
        let it = fairness(1, 200, 1);

        assert_eq!((it.others_late.len(), it.others_posts), (300, 300));
        assert!(0 < it.slow_calls, "the slow profile is served");
        assert!(it.p99() <= TimeDelta::milliseconds(100), "{:?}", it.p99());
    }
}
