//! A platform that accepts posts, reviews them for a while, and publishes the approved ones.

use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::AttemptError;

use super::Adapter;
use crate::simulated_platforms::Inner;
use crate::simulated_platforms::faults::PlatformFault;
use crate::simulated_platforms::reference::Reference;
use crate::simulated_platforms::reviews::Verdict;
use crate::simulated_platforms::spec::PlatformBehavior;
use crate::simulated_platforms::timeline::Public;

const LONGEST: Duration = Duration::from_secs(90);

const UNWANTED: f64 = 0.3;

impl Adapter {
    /// Accepts a post, and returns the number of its review. Whether it becomes public is not known yet.
    pub(super) fn accept_for_review(&self, fault: PlatformFault, public: Public) -> AttemptError {
        let world = &self.platforms.world;
        let is_wanted = fault != PlatformFault::RefusedLater && !world.happens(UNWANTED);
        let at = self.now() + TimeDelta::from_std(world.up_to(LONGEST)).unwrap_or_default();
        let review = self.platforms.lock().reviews.begin(public.reference);
        let (platforms, certainty) = (self.platforms.clone(), self.spec.certainty);
        self.platforms.later(at, move |inner| {
            let reference = public.reference;
            inner.reviews.end(review, is_wanted);
            if is_wanted {
                inner.timeline.publish(Public { at, ..public }, certainty);
            } else {
                inner.timeline.refused.insert(reference);
            }
            let verdict = if is_wanted { "public" } else { "refused" };
            platforms.world.note(format!("looked at and {verdict}: {} of {}", reference.target, reference.post));
        });
        AttemptError::Accepted { progress: Some(review.to_string()), reason: "it is being looked at".to_owned() }
    }

    /// With the number that the call returned, or the latest one if the response was lost; `None`
    /// without a review.
    pub(super) fn verdict(&self, inner: &mut Inner, reference: Reference, progress: Option<&str>) -> Option<Verdict> {
        if self.spec.behavior != PlatformBehavior::Reviewing {
            return None;
        }
        let latest = inner.reviews.find(reference);
        let found = match progress {
            Some(number) => inner.reviews.verdict(number.parse().expect("a number"), reference),
            None => latest.filter(|_| 0 < self.platforms.world.faults()),
        };
        if found.is_none() && (latest.is_some() || progress.is_some()) {
            inner.timeline.mistakes.push((reference, "looked up without the number of its review".to_owned()));
        }
        found
    }
}
