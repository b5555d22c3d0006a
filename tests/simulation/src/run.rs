//! One run, from an empty deployment until it is at rest.

use std::sync::Arc;

use chrono::TimeDelta;
use tokio::runtime::Builder;

use crate::deployment::{Deployment, Fleet, prepare_thread};
use crate::invariants::{self, Broken, History, Kind, Watch};
use crate::logs::Logs;
use crate::report::Report;
use crate::scenario::{Scenario, UserPlan};
use crate::simulated_platforms::{LookUpSupport, Reference, SimulatedPlatforms, Spec};
use crate::store::Journal;
use crate::users::People;
use crate::world::{SimulatedWorld, lock};

/// How long a run may take after the last fault: each of the four segments of a thread may wait for a
/// quota for two days, and a failure is noticed some time later. Most runs end within minutes.
const LONGEST: TimeDelta = TimeDelta::hours(4 * 50);

/// Runs a seed. The same seed and scenario give the same report, whatever this thread ran before.
pub fn run(seed: u64, scenario: &Scenario) -> Report {
    let logs = Logs::default();
    let _listening = tracing::subscriber::set_default(logs.clone());
    simulate(seed, play(seed, scenario, &logs))
}

/// With virtual time. Draws the same numbers for the same seed.
pub(crate) fn simulate<T>(seed: u64, work: impl Future<Output = T>) -> T {
    // The SDK also draws from its generator for objects that this thread creates only once; created
    // in advance, they cannot disturb the run.
    prepare_thread();
    // The SDK draws from this generator: the jitter of its back-off, and its idempotency tokens for
    // transactions.
    fastrand::seed(seed);
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(work)
}

async fn play(seed: u64, scenario: &Scenario, logs: &Logs) -> Report {
    let mut plan = scenario.plot.clone().unwrap_or_else(|| UserPlan::drawn(seed));
    if let Some(platform) = scenario.on {
        plan.accounts.iter_mut().for_each(|it| it.platform = platform);
    }
    let world = Arc::new(SimulatedWorld::new(seed, &scenario.faults, plan.quiet_after));
    let platforms = SimulatedPlatforms::new(Arc::clone(&world), &plan.public_calls);
    let deployment = Deployment::new(&world, platforms, plan.due_shards, Fleet::drawn(&world));
    let users = People::settle(Arc::clone(&deployment), &plan).await;
    deployment.start();
    let user_actions = {
        let users = Arc::clone(&users);
        tokio::spawn(async move { users.live(&plan).await })
    };

    let mut detector = Watch::default();
    let ends_at = world.quiet_at + LONGEST;
    while world.now() < ends_at {
        let pause = if world.is_long_quiet() { TimeDelta::seconds(60) } else { TimeDelta::seconds(10) };
        world.sleep_until(world.now() + pause).await;
        detector.check(&deployment);
        if user_actions.is_finished() && world.is_quiet() && deployment.is_at_rest() {
            break;
        }
    }
    user_actions.await.expect("no task panics");
    judge(seed, &deployment, &users, detector, logs).await
}

async fn judge(seed: u64, deployment: &Deployment, users: &People, detector: Watch, logs: &Logs) -> Report {
    let world = &deployment.world;
    let (faults, port_calls) = (world.faults(), world.calls());
    let journal = std::mem::take(&mut *lock(&deployment.journal));
    let mut timeline = deployment.platforms.take_timeline();
    timeline.assign_by_claims(&claims(&journal));
    let history = History {
        people: users,
        journal: &journal,
        timeline: &timeline,
        answers: users.responses(),
        published_events: deployment.bus.published_events(),
        leaks: logs.leaks(),
        deaths: world.deaths(),
        notified: deployment.webhooks.got(),
    };
    let mut broken = detector.broken;
    broken.extend(invariants::check(&history).await);
    if !deployment.queue.is_empty() {
        broken.push(Broken { kind: Kind::Stuck, post: None, what: "the queue never empties".to_owned() });
    }
    let count = |kind: Kind| u64::try_from(broken.iter().filter(|it| it.kind == kind).count()).unwrap_or(u64::MAX);
    let (lost, doubled, stuck, early) =
        (count(Kind::Lost), count(Kind::Duplicated), count(Kind::Stuck), count(Kind::Early));
    let lateness = history.lateness();
    let published = u64::try_from(timeline.public.len()).unwrap_or(u64::MAX);
    let took = world.now() - world.start;
    let trace = world.take_trace();
    Report {
        seed,
        faults,
        port_calls,
        calm: world.probabilities.is_fault_free(),
        published,
        lost,
        doubled,
        stuck,
        early,
        broken: broken.iter().map(|it| it.with_trace(&trace)).collect(),
        lateness,
        took,
        trace,
    }
}

/// Which targets claim which ids, on platforms where all posts look alike.
fn claims(journal: &Journal) -> Vec<(Reference, String, String)> {
    let targets = journal.posts().flat_map(|post| post.targets.iter().map(move |it| (post, it)));
    let recognized = targets.filter(|(_, it)| Spec::named(&it.provider).certainty == LookUpSupport::Recognized);
    recognized
        .flat_map(|(post, target)| {
            let reference = move |segment| Reference {
                post: post.post_id,
                target: target.target_id,
                revision: post.revision,
                segment,
            };
            let segments = target.public.iter().zip(post.segments(target)).enumerate();
            segments.map(move |(index, (public, segment))| {
                let text = segment.text.to_owned();
                (reference(index), public.published.platform_post_id.clone(), text)
            })
        })
        .collect()
}
