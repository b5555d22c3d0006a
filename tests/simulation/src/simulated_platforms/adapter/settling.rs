use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Resolution};
use platforms::PublishRequest;

use super::{Adapter, looks};
use crate::simulated_platforms::faults::{PlatformFault, read_probabilities};
use crate::simulated_platforms::reference::Reference;
use crate::simulated_platforms::reviews::Verdict;
use crate::simulated_platforms::spec::{LISTED_AFTER, LookUpSupport, PlatformBehavior, SETTLES};
use crate::simulated_platforms::timeline::Public;

impl Adapter {
    /// Uses the method that this platform supports.
    pub(super) async fn settle(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        let undeterminable = || Resolution::Undeterminable { advice: "look at the account".to_owned() };
        // Later the platform may have forgotten the key, so a repeat could create a second post.
        let is_known = |lasts: TimeDelta| self.now() - since <= lasts - SETTLES * 2;
        let certainty = self.spec.certainty;
        match certainty {
            LookUpSupport::Blind => undeterminable(),
            LookUpSupport::Recognized => looks::resolve(self, request).await,
            LookUpSupport::Listed | LookUpSupport::Drafted | LookUpSupport::Contained => {
                self.look_up(request, since).await
            }
            LookUpSupport::Keyed | LookUpSupport::Nonce | LookUpSupport::Transaction => match certainty.key_lasts() {
                Some(lasts) if is_known(lasts) => self.repeat(request).await,
                _ if certainty == LookUpSupport::Transaction => self.look_up(request, since).await,
                _ => undeterminable(),
            },
        }
    }

    /// Sends the post again: if the first attempt created a post, its key returns that post.
    async fn repeat(&self, request: &PublishRequest<'_>) -> Resolution {
        match self.send(request, "repeat").await {
            Ok(published) => Resolution::Found(published),
            // The post is not public and never will be: a call in flight names a forgotten upload
            // as well.
            Err(AttemptError::Refused { .. } | AttemptError::PreparationExpired { .. }) => Resolution::NotPublished,
            Err(AttemptError::Unauthorized { reason }) => Resolution::Unauthorized { reason },
            Err(error) => Resolution::Pending { reason: format!("{error:?}") },
        }
    }

    /// By its reference, or its draft or container.
    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        let unclear = |reason: String| Resolution::Pending { reason };
        let faults = read_probabilities(&self.platforms.world.probabilities);
        let (call, fault) = self.call(format!("look up {} {}", self.spec.name, request.reference), &faults);
        call.go().await;
        let account = self.account(request.credentials);
        let found = self.listed(request, since);
        call.respond().await;
        match (fault, account) {
            (PlatformFault::Fine, Ok(_)) => {
                if self.spec.behavior == PlatformBehavior::Charging {
                    self.platforms.lock().timeline.paid.push(Reference::read(request.reference));
                }
                found
            }
            (PlatformFault::Fine, Err(AttemptError::Unauthorized { reason })) => Resolution::Unauthorized { reason },
            (PlatformFault::Fine, Err(setback)) => unclear(format!("{setback:?}")),
            _ => unclear("it did not answer".to_owned()),
        }
    }

    /// From the platform's list since that time, or from the draft or container.
    fn listed(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        let (reference, upload) = (Reference::read(request.reference), self.upload(request));
        let mut inner = self.platforms.lock();
        let verdict = self.verdict(&mut inner, reference, request.progress);
        let found = inner.timeline.find(reference);
        let is_behind =
            |it: &Public| self.spec.behavior == PlatformBehavior::Lagging && self.now() < it.at + LISTED_AFTER;
        let is_listed = |it: &&Public| {
            if self.spec.certainty.is_of_what_was_prepared() {
                it.named == upload
            } else {
                since <= it.at && !is_behind(it)
            }
        };
        if let Some(it) = found.filter(is_listed) {
            return Resolution::Found(it.response(self.now()));
        }
        match verdict {
            Some(Verdict::Pending) => Resolution::Pending { reason: "it is being looked at".to_owned() },
            Some(Verdict::Refused) => Resolution::Refused { reason: "it is not wanted here after all".to_owned() },
            Some(Verdict::Wanted) | None if self.spec.proves_absence() => Resolution::NotPublished,
            Some(Verdict::Wanted) | None => Resolution::NotFound,
        }
    }
}
