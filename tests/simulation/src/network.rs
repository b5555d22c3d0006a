//! The platforms: accounts, what is public on them, and adapters that the
//! service calls like any other.

mod adapter;
mod fates;
mod grants;
mod spec;
mod timeline;
mod uploads;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{DateTime, TimeDelta, Utc};
use platforms::{Connect, Credentials, Leads, Platform, Publish, Registry};

use self::adapter::Adapter;
pub(crate) use self::fates::PlatformFate;
pub(crate) use self::grants::{Grants, MARK};
pub(crate) use self::spec::{Certainty, SPECS, Spec};
pub(crate) use self::timeline::{Public, Reference, Timeline};
use self::uploads::{Progress, Uploads};
use crate::world::{World, lock};

/// The platforms of a run.
#[derive(Clone)]
pub(crate) struct Network {
    world: Arc<World>,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    grants: Grants,
    uploads: Uploads,
    timeline: Timeline,
    /// What becomes of the first public calls, when it is not left to chance;
    /// the last one first.
    fates: Vec<PlatformFate>,
    /// Effects that are still to come.
    to_come: usize,
    /// Renewals under way, by the token that they spend.
    renewing: BTreeSet<String>,
    /// What went wrong over there that must not, beside what the timeline has.
    mistakes: Vec<String>,
}

impl Inner {
    /// Whether a public call has all that it names. What is public already has.
    fn has_what_it_names(&self, spec: Spec, reference: Reference, named: Option<Progress>) -> bool {
        let is_public = || self.timeline.find(reference).is_some();
        spec.steps == 0 || is_public() || named.is_some_and(|it| self.uploads.keeps(it))
    }
}

/// How long before their due second the platforms prepare.
pub(crate) fn leads() -> Leads {
    Leads::of(SPECS.iter().map(|it| (it.name, it.lead())))
}

impl Network {
    /// `fates` are those of the first public calls, in order.
    pub(crate) fn new(world: Arc<World>, fates: &[PlatformFate]) -> Self {
        let fates = fates.iter().rev().copied().collect();
        let inner = Inner {
            grants: Grants::default(),
            uploads: Uploads::default(),
            timeline: Timeline::default(),
            fates,
            to_come: 0,
            renewing: BTreeSet::new(),
            mistakes: Vec::new(),
        };
        Self { world, inner: Arc::new(Mutex::new(inner)) }
    }

    fn adapters(&self) -> impl Iterator<Item = Adapter> {
        SPECS.iter().map(|it| Adapter::new(self.clone(), *it))
    }

    /// The adapters, as deliveries ask them.
    pub(crate) fn platforms(&self) -> Registry<dyn Publish> {
        Registry::of(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    /// As hand-offs and disconnections ask them.
    pub(crate) fn connectable(&self) -> Registry<dyn Connect> {
        Registry::of(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    /// As renewals ask them.
    pub(crate) fn renewable(&self) -> Registry<dyn Platform> {
        Registry::of(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    /// The person lets us act for an account.
    pub(crate) fn authorize(&self, spec: Spec, account: &str) -> Credentials {
        let (now, lasts) = (self.world.now(), self.lasts());
        let mut inner = self.lock();
        if spec.certainty == Certainty::Recognised && inner.timeline.page(account, None, 1).is_empty() {
            // From before it was connected, and like everything that will come.
            for _ in 0..4 {
                inner.timeline.show(account, false, now);
            }
        }
        inner.grants.give(account, spec, lasts, now)
    }

    /// The person takes that back, over there.
    pub(crate) fn revoke(&self, account: &str) {
        self.lock().grants.revoke_account(account);
    }

    /// What was asked of the platforms in a wrong way, beside posts.
    pub(crate) fn mistakes(&self) -> Vec<String> {
        self.lock().mistakes.clone()
    }

    /// What happened over there.
    pub(crate) fn take_timeline(&self) -> Timeline {
        std::mem::take(&mut self.lock().timeline)
    }

    /// Whether something is still to take effect.
    pub(crate) fn is_busy(&self) -> bool {
        0 < self.lock().to_come
    }

    /// How long credentials last: minutes while things go wrong, so that they
    /// are renewed; afterwards longer than any run.
    fn lasts(&self) -> TimeDelta {
        if self.world.is_quiet() {
            return TimeDelta::days(3);
        }
        TimeDelta::seconds(self.world.dice().i64(180..600))
    }

    /// Does something over there at that time, whoever is still waiting.
    fn later(&self, at: DateTime<Utc>, effect: impl FnOnce(&mut Inner) + Send + 'static) {
        self.lock().to_come += 1;
        let network = self.clone();
        tokio::spawn(async move {
            network.world.sleep_until(at).await;
            let mut inner = network.lock();
            inner.to_come -= 1;
            effect(&mut inner);
        });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}
