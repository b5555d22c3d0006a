//! No delivery is stuck: a due delivery is processed repeatedly until it ends.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Delivery, LEASE_DURATION};
use domain::id::{PostId, TargetId};

use super::{Broken, Kind};
use crate::deployment::{Deployment, TICK};
use crate::world::lock;

/// How long a delivery may be due without progress: a worker that died holds it until its lease
/// expires, and the second tick after that finds it.
fn max_delay() -> TimeDelta {
    LEASE_DURATION + TICK * 2
}

#[derive(Default)]
pub(crate) struct Watch {
    seen: BTreeSet<(PostId, TargetId)>,
    pub(crate) broken: Vec<Broken>,
}

impl Watch {
    /// Looks for deliveries that have been due for too long. During faults, and for a while after a
    /// process died, lateness is excused.
    pub(crate) fn check(&mut self, deployment: &Deployment) {
        let world = &deployment.world;
        let now = world.now();
        let journal = lock(&deployment.journal);
        let since = world.quiet_at.max(world.last_death().unwrap_or(world.start));
        let is_recent = |it: &DateTime<Utc>| now - *it <= max_delay();
        if is_recent(&since) {
            return;
        }
        let due = |it: &&Delivery| it.due_at.is_some() && !is_recent(&it.next_step_at);
        for delivery in journal.deliveries().filter(due) {
            let last_step = journal.last_step(delivery);
            if last_step.as_ref().is_some_and(is_recent) || !self.seen.insert((delivery.post_id, delivery.target_id)) {
                continue;
            }
            let what = format!(
                "at {now} no worker has taken target {} of post {} since {last_step:?}: {delivery:?}",
                delivery.target_id, delivery.post_id
            );
            self.broken.push(Broken::new(Kind::Stuck, delivery.post_id, what));
        }
    }
}
