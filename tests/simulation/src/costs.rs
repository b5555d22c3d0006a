//! The store cost of a delivery's steps and of scheduled runs that find nothing: the real code
//! runs, and the database reports the consumption of each request.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::queue::{Admission, DeliveryMessage};
use domain::delivery::Delivery;
use domain::post::{NewPost, NewTarget};
use domain::testing::text;
use scheduling::{Created, SchedulingError};
use tokio::runtime::Builder;

use crate::deployment::{Deployment, Fleet, TICK};
use crate::faults::FaultPlan;
use crate::scale::{Deliver, Operation, PartitionBy, Profile};
use crate::scenario::{AccountPlan, UserPlan};
use crate::simulated_platforms::SimulatedPlatforms;
use crate::store::Charge;
use crate::users::People;
use crate::world::{SimulatedWorld, lock};

/// Planned together, to measure the cost of one index entry of a page.
const PLANNED: usize = 400;

impl Profile {
    /// For a post with one target and no files.
    ///
    /// # Panics
    /// When the code no longer makes the expected calls: a delivery reads twice before its second,
    /// writes its intent, and writes its outcome and the record of its attempt.
    pub fn measured() -> Self {
        fastrand::seed(1);
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        runtime.block_on(measure())
    }
}

/// A run that finds nothing to do.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleRun {
    pub function: &'static str,
    pub read_units: f64,
    pub write_units: f64,
    pub tables: BTreeSet<String>,
}

impl IdleRun {
    /// One run of each scheduled function, on tables without users.
    ///
    /// # Panics
    /// When a run fails.
    pub fn measured(due_shards: u32) -> Vec<Self> {
        fastrand::seed(1);
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        runtime.block_on(measure_idle(due_shards))
    }

    fn new(function: &'static str, requests: &[Vec<Charge>]) -> Self {
        let charges = || requests.iter().flatten();
        let table = |it: &Charge| it.place.split('/').next().unwrap_or_default().to_owned();
        Self {
            function,
            read_units: charges().map(|it| it.read_units).sum(),
            write_units: charges().map(|it| it.write_units).sum(),
            tables: charges().map(table).collect(),
        }
    }
}

async fn measure_idle(due_shards: u32) -> Vec<IdleRun> {
    let world = Arc::new(SimulatedWorld::new(1, &FaultPlan::None, TimeDelta::hours(3)));
    let deployment =
        Deployment::new(&world, SimulatedPlatforms::new(Arc::clone(&world), &[]), due_shards, Fleet::drawn(&world));
    let services = deployment.started();
    services.tick().await.expect("nothing goes wrong here");

    // The first tick has no earlier one whose progress it could read.
    world.sleep_until(world.now() + TICK).await;
    let webhooks = deployment.webhooks.service(&services);
    let platforms = deployment.platforms.refreshable();
    vec![
        IdleRun::new("publisher", &metered(&deployment, services.tick()).await),
        IdleRun::new("upkeep", &metered(&deployment, services.round(&platforms)).await),
        IdleRun::new("webhooks", &metered(&deployment, webhooks.tick()).await),
    ]
}

/// Without faults. The user has one connected account.
async fn settled() -> (Arc<SimulatedWorld>, Arc<Deployment>, Arc<People>) {
    let world = Arc::new(SimulatedWorld::new(1, &FaultPlan::None, TimeDelta::hours(3)));
    let account = AccountPlan { platform: "listed", acts: Vec::new(), reconnects: true };
    let plan = UserPlan {
        quiet_after: TimeDelta::hours(3),
        due_shards: 1,
        accounts: vec![account],
        posts: Vec::new(),
        public_calls: Vec::new(),
        webhooks: false,
    };
    let deployment = Deployment::new(
        &world,
        SimulatedPlatforms::new(Arc::clone(&world), &[]),
        plan.due_shards,
        Fleet::drawn(&world),
    );
    let users = People::settle(Arc::clone(&deployment), &plan).await;
    (world, deployment, users)
}

async fn measure() -> Profile {
    let (world, deployment, users) = settled().await;
    let due = world.now() + TimeDelta::seconds(300);
    for _ in 0..PLANNED {
        schedule(&users, due).await;
    }

    world.sleep_until(due - TimeDelta::seconds(150)).await;
    let planned = metered(&deployment, deployment.services.planner().plan()).await;
    let pages = planned.iter().flatten().filter(|it| it.place == "deliveries/due" && 0.5 < it.read_units);
    let page_units: f64 = pages.map(|it| it.read_units).sum();
    let entries = f64::from(u32::try_from(PLANNED).unwrap_or(u32::MAX));

    let delivery = lock(&deployment.journal).deliveries().next().cloned().expect("a delivery");
    let roll_up_at = due + TimeDelta::minutes(10);
    world.sleep_until(due - TimeDelta::seconds(2)).await;
    let message = DeliveryMessage { roll_up_at: Some(roll_up_at), ..DeliveryMessage::for_delivery(&delivery) };
    let delivered = metered(&deployment, deployment.deliver_one(message)).await;
    let [read, credentials, intend, settle, attempt] = &delivered[..] else {
        panic!("a delivery asks otherwise: {delivered:?}")
    };

    let burst_delivery = lock(&deployment.journal).deliveries().nth(1).cloned().expect("a delivery");
    let burst_message =
        DeliveryMessage { admission: Admission::WithPermits, ..DeliveryMessage::for_delivery(&burst_delivery) };
    let needs_permit = metered(&deployment, deployment.deliver_one(burst_message)).await;
    let [_, permit, ..] = &needs_permit[..] else { panic!("a delivery takes its place otherwise: {needs_permit:?}") };

    let overdue = lock(&deployment.journal).deliveries().last().cloned().expect("a delivery");
    let moved = metered(&deployment, move_on(&deployment, &overdue)).await;

    world.sleep_until(roll_up_at + TimeDelta::seconds(1)).await;
    let rolled_up = metered(&deployment, deployment.deliver_one(DeliveryMessage { roll_up_at: None, ..message })).await;
    Profile {
        plan_read_units: page_units / entries,
        move_on: operations(moved.last().into_iter().flatten()),
        deliver: Deliver {
            read: operations(read.iter().chain(credentials)),
            intend: operations(intend.iter()),
            settle: operations(settle.iter().chain(attempt)),
        },
        permit: operations(permit.iter()),
        // The first request is the read with which every message begins.
        roll_up: operations(rolled_up.iter().skip(1).flatten()),
    }
}

async fn schedule(users: &People, due: DateTime<Utc>) {
    let created = create(users, Some(due)).await;
    assert!(matches!(created, Ok(Created::New(_))), "{created:?}");
}

async fn create(users: &People, scheduled_at: Option<DateTime<Utc>>) -> Result<Created, SchedulingError> {
    let connection = users.connection(&users.accounts[0]).expect("the account is connected");
    let content = "A post of ordinary length: what is new, where it can be read, and a word about it.";
    let request = NewPost {
        targets: vec![NewTarget::new(0, connection.connection_id)],
        scheduled_at,
        ..NewPost::new(text(content))
    };
    users.deployment.services.scheduling.create_post(users.user.user_id, request, None).await
}

async fn move_on(deployment: &Deployment, delivery: &Delivery) -> Result<(), storage::StorageError> {
    let store = &deployment.services.scheduling.store;
    let all_time = (DateTime::UNIX_EPOCH, deployment.world.now() + TimeDelta::days(1));
    let page = store.due_deliveries(0, all_time, None, 1_000).await?;
    let entry = page.entries.iter().find(|it| it.ids == delivery.ids()).expect("it is due");
    store.move_due(entry, entry.due_at + TimeDelta::minutes(1)).await.map(drop)
}

async fn metered<T, E: std::fmt::Debug>(
    deployment: &Deployment,
    work: impl Future<Output = Result<T, E>>,
) -> Vec<Vec<Charge>> {
    lock(&deployment.journal).start_meter();
    work.await.expect("nothing goes wrong here");
    lock(&deployment.journal).take_meter()
}

fn operations<'a>(charges: impl Iterator<Item = &'a Charge>) -> Vec<Operation> {
    let operation = |it: &Charge| Operation {
        place: it.place.clone(),
        by: if it.place == "deliveries/due" { PartitionBy::DueShard } else { PartitionBy::User },
        read_units: it.read_units,
        write_units: it.write_units,
    };
    charges.map(operation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(operations: &[Operation]) -> f64 {
        operations.iter().map(|it| it.write_units).sum()
    }

    fn write_units(requests: &[Vec<Charge>]) -> f64 {
        requests.iter().flatten().map(|it| it.write_units).sum()
    }

    #[test]
    fn post_is_one_read_and_one_transaction_also_with_an_event() {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (world, deployment, people) = settled().await;
            let due = world.now() + TimeDelta::hours(1);

            let draft = Box::pin(metered(&deployment, create(&people, None))).await;
            let scheduled = Box::pin(metered(&deployment, create(&people, Some(due)))).await;

            assert_eq!((draft.len(), scheduled.len()), (2, 2), "{draft:?} {scheduled:?}");
            assert!((write_units(&draft) - 6.0).abs() < 0.01, "{draft:?}");
            // Three of these units are for the event.
            assert!((write_units(&scheduled) - 16.0).abs() < 0.01, "{scheduled:?}");
        });
    }

    #[test]
    fn delivery_in_a_full_minute_writes_four_units() {
        let profile = Profile::measured();

        assert!((written(&profile.deliver.intend) - 1.0).abs() < 0.01, "{profile:?}");
        // The delivery, its entry in the due index, and the attempt.
        assert!((written(&profile.deliver.settle) - 3.0).abs() < 0.01, "{profile:?}");
        assert_eq!(profile.deliver.settle.iter().filter(|it| it.place == "attempts").count(), 1, "{profile:?}");
        assert!(profile.plan_read_units < 0.02, "{profile:?}");
        assert!((written(&profile.move_on) - 3.0).abs() < 0.01, "{profile:?}");
        assert!((written(&profile.permit) - 1.0).abs() < 0.01, "{profile:?}");
        assert!(profile.permit.iter().all(|it| it.place == "limits"), "{profile:?}");
        assert!(0.0 < written(&profile.roll_up), "{profile:?}");
    }
}
