//! A platform that takes posts, looks at them for a while, and shows those that
//! it wants.

use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::AttemptError;

use super::Adapter;
use crate::network::fates::PlatformFate;
use crate::network::timeline::Public;

/// How long it looks at a post at most.
const LONGEST: Duration = Duration::from_secs(90);

/// How likely it does not want what it has taken.
const UNWANTED: f64 = 0.3;

impl Adapter {
    /// Takes a post. Whether it becomes public is not known yet.
    pub(super) fn take_for_review(&self, fate: PlatformFate, public: Public) -> AttemptError {
        let world = &self.network.world;
        let is_wanted = fate != PlatformFate::RefusedLater && !world.befalls(UNWANTED);
        let at = self.now() + TimeDelta::from_std(world.up_to(LONGEST)).unwrap_or_default();
        let review = self.network.lock().reviews.begin(public.reference);
        let (network, certainty) = (self.network.clone(), self.spec.certainty);
        self.network.later(at, move |inner| {
            let reference = public.reference;
            inner.reviews.end(review, is_wanted);
            if is_wanted {
                inner.timeline.publish(Public { at, ..public }, certainty);
            } else {
                inner.timeline.refused.insert(reference);
            }
            let verdict = if is_wanted { "public" } else { "refused" };
            network.world.note(format!("looked at and {verdict}: {} of {}", reference.target, reference.post));
        });
        AttemptError::Unknown { may_still_run: false, retry_at: None, reason: "it is being looked at".to_owned() }
    }
}
