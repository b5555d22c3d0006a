//! The platforms: accounts, the posts that are public on them, and adapters
//! that the service calls like any other.

mod adapter;
mod fates;
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
pub(crate) use self::fates::PlatformFate;
pub(crate) use self::grants::{Grants, MARK};
pub(crate) use self::reference::Reference;
use self::reviews::Reviews;
use self::spec::SPECS;
pub(crate) use self::spec::{Certainty, FOLLOW_UPS, PlatformBehavior, Spec, random_specs};
pub(crate) use self::timeline::{Public, Timeline};
use self::uploads::{Progress, Uploads};
use crate::world::{SimulatedWorld, lock};

/// The platforms of a run.
#[derive(Clone)]
pub(crate) struct Network {
    world: Arc<SimulatedWorld>,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    grants: Grants,
    uploads: Uploads,
    reviews: Reviews,
    timeline: Timeline,
    /// What becomes of the first public calls, when that is not left to chance.
    /// The last entry is used first.
    fates: Vec<PlatformFate>,
    /// How many effects of earlier calls are still to happen.
    to_come: usize,
    /// Renewals under way, by the token that they spend.
    renewing: BTreeSet<String>,
    /// Wrong calls that concern no post; those of posts are in the timeline.
    mistakes: Vec<String>,
}

impl Inner {
    /// Whether the platform still keeps every upload that a public call names.
    /// A post that is public already has them anyway.
    fn has_what_it_names(&self, spec: Spec, reference: Reference, named: Option<Progress>) -> bool {
        let is_public = || self.timeline.find(reference).is_some();
        spec.steps == 0 || is_public() || named.is_some_and(|it| self.uploads.keeps(it))
    }
}

/// The names of the platforms of random runs.
pub fn platforms() -> impl Iterator<Item = &'static str> {
    random_specs().map(|it| it.name)
}

/// How long before a post is due each platform begins to prepare it.
pub(crate) fn leads() -> LeadTimesByPlatform {
    LeadTimesByPlatform::of(SPECS.iter().map(|it| (it.name, it.lead())))
}

impl Network {
    /// `fates` says what becomes of the first public calls, in order.
    pub(crate) fn new(world: Arc<SimulatedWorld>, fates: &[PlatformFate]) -> Self {
        let fates = fates.iter().rev().copied().collect();
        let inner = Inner {
            grants: Grants::default(),
            uploads: Uploads::default(),
            reviews: Reviews::default(),
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

    /// The adapters, as deliveries use them.
    pub(crate) fn platforms(&self) -> Registry<dyn Publish> {
        Registry::from_adapters(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    /// The adapters, as connect flows and disconnections use them.
    pub(crate) fn connectable(&self) -> Registry<dyn Connect> {
        Registry::from_adapters(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    /// The adapters, as renewals use them.
    pub(crate) fn renewable(&self) -> Registry<dyn Platform> {
        Registry::from_adapters(self.adapters().map(|it| Box::new(it) as _).collect())
    }

    /// The person grants us access to an account.
    pub(crate) fn authorize(&self, spec: Spec, account: &str) -> Credentials {
        let (now, lasts) = (self.world.now(), self.lasts());
        let mut inner = self.lock();
        if spec.certainty == Certainty::Recognised && inner.timeline.page(account, None, 1).is_empty() {
            // Posts from before the account was connected, which look like all
            // later ones.
            for _ in 0..4 {
                inner.timeline.show(account, false, now);
            }
        }
        inner.grants.give(account, spec, lasts, now)
    }

    /// The person revokes the grant on the platform.
    pub(crate) fn revoke(&self, account: &str) {
        self.lock().grants.revoke_account(account);
    }

    /// Calls that the service must not have made and that concern no post.
    pub(crate) fn mistakes(&self) -> Vec<String> {
        self.lock().mistakes.clone()
    }

    /// Everything that happened on the platforms.
    pub(crate) fn take_timeline(&self) -> Timeline {
        std::mem::take(&mut self.lock().timeline)
    }

    /// Whether an earlier call is still to take effect.
    pub(crate) fn is_busy(&self) -> bool {
        0 < self.lock().to_come
    }

    /// How long credentials are valid: minutes while things go wrong, so that
    /// renewals happen; afterwards longer than any run.
    fn lasts(&self) -> TimeDelta {
        if self.world.is_quiet() {
            return TimeDelta::days(3);
        }
        TimeDelta::seconds(self.world.dice().i64(180..600))
    }

    /// Lets an effect happen on the platform at that time, whether or not its
    /// caller still waits.
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
