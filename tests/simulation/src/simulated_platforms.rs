//! The platforms: accounts, the public posts on them, and adapters that the service calls like any
//! other.

mod adapter;
mod faults;
mod grants;
mod reference;
mod reviews;
mod spec;
mod timeline;
mod uploads;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{DateTime, TimeDelta, Utc};
use platforms::{Connect, Credentials, LeadTimesByPlatform, Platform, Publish, Registry};

use self::adapter::Adapter;
pub(crate) use self::faults::PlatformFault;
pub(crate) use self::grants::{Grants, MARK};
pub(crate) use self::reference::Reference;
use self::reviews::Reviews;
use self::spec::SPECS;
pub(crate) use self::spec::{LookUpSupport, PlatformBehavior, Spec, random_specs};
pub(crate) use self::timeline::{Public, Timeline};
use self::uploads::{Progress, Uploads};
use crate::world::{SimulatedWorld, lock};

#[derive(Clone)]
pub(crate) struct SimulatedPlatforms {
    world: Arc<SimulatedWorld>,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    grants: Grants,
    uploads: Uploads,
    reviews: Reviews,
    timeline: Timeline,
    /// The last entry is used first.
    faults: Vec<PlatformFault>,
    /// Pending effects of earlier calls.
    to_come: usize,
    /// By the token that they use.
    refreshing: BTreeSet<String>,
    /// Those of posts are in the timeline.
    mistakes: Vec<String>,
}

impl Inner {
    /// Whether the platform still has every upload that a publish call names. A public post needs
    /// none.
    fn has_upload(&self, spec: Spec, reference: Reference, upload: Option<Progress>) -> bool {
        let is_public = || self.timeline.find(reference).is_some();
        spec.steps == 0 || is_public() || upload.is_some_and(|it| self.uploads.keeps(it))
    }
}

pub fn platforms() -> impl Iterator<Item = &'static str> {
    random_specs().map(|it| it.name)
}

pub(crate) fn lead_times() -> LeadTimesByPlatform {
    LeadTimesByPlatform::new(SPECS.iter().map(|it| (it.name, it.lead())))
}

impl SimulatedPlatforms {
    /// `faults` are in the order of the first publish calls.
    pub(crate) fn new(world: Arc<SimulatedWorld>, faults: &[PlatformFault]) -> Self {
        let faults = faults.iter().rev().copied().collect();
        let inner = Inner {
            grants: Grants::default(),
            uploads: Uploads::default(),
            reviews: Reviews::default(),
            timeline: Timeline::default(),
            faults,
            to_come: 0,
            refreshing: BTreeSet::new(),
            mistakes: Vec::new(),
        };
        Self { world, inner: Arc::new(Mutex::new(inner)) }
    }

    fn adapters(&self) -> impl Iterator<Item = Adapter> {
        SPECS.iter().map(|it| Adapter::new(self.clone(), *it))
    }

    pub(crate) fn platforms(&self) -> Registry<dyn Publish> {
        Registry::from_adapters(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    pub(crate) fn connectable(&self) -> Registry<dyn Connect> {
        Registry::from_adapters(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    pub(crate) fn refreshable(&self) -> Registry<dyn Platform> {
        Registry::from_adapters(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    pub(crate) fn authorize(&self, spec: Spec, account: &str) -> Credentials {
        let (now, lasts) = (self.world.now(), self.lasts());
        let mut inner = self.lock();
        if spec.certainty == LookUpSupport::Recognized && inner.timeline.page(account, None, 1).is_empty() {
            // Posts from before the account was connected, which look like all later ones.
            for _ in 0..4 {
                inner.timeline.show(account, false, None, now);
            }
        }
        inner.grants.give(account, spec, lasts, now)
    }

    pub(crate) fn revoke(&self, account: &str) {
        self.lock().grants.revoke_account(account);
    }

    pub(crate) fn mistakes(&self) -> Vec<String> {
        self.lock().mistakes.clone()
    }

    pub(crate) fn take_timeline(&self) -> Timeline {
        std::mem::take(&mut self.lock().timeline)
    }

    pub(crate) fn is_busy(&self) -> bool {
        0 < self.lock().to_come
    }

    /// The lifetime of credentials: minutes during faults, so that refreshes happen; afterwards
    /// longer than any run.
    fn lasts(&self) -> TimeDelta {
        if self.world.is_quiet() {
            return TimeDelta::days(3);
        }
        TimeDelta::seconds(self.world.dice().i64(180..600))
    }

    /// Applies an effect on the platform at `at`, even if the caller no longer waits.
    fn later(&self, at: DateTime<Utc>, effect: impl FnOnce(&mut Inner) + Send + 'static) {
        self.lock().to_come += 1;
        let platforms = self.clone();
        tokio::spawn(async move {
            platforms.world.sleep_until(at).await;
            let mut inner = platforms.lock();
            inner.to_come -= 1;
            effect(&mut inner);
        });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}
