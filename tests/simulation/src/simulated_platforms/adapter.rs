mod connecting;
mod following;
mod looks;
mod overlap;
mod reviewing;
mod settling;

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, LookUpPolicy, Published, Resolution};
use platforms::{
    Credentials, FollowUp, Followed, Platform, Publish, PublishRequest, RefreshError, RefreshPolicy, Step,
};

use self::overlap::{InFlight, RefreshGuard};
use super::faults::{PlatformFault, chances, refresh_probabilities};
use super::grants::Rejected;
use super::reference::Reference;
use super::reviews::Verdict;
use super::spec::{LookUpSupport, PlatformBehavior, RATIONED_FOR, SETTLES, SLOW, Spec, TIMEOUT};
use super::timeline::{HandOver, Public, StartedCall};
use super::uploads::Progress;
use super::{Inner, SimulatedPlatforms};
use crate::faults::KillTime;
use crate::port::Port;
use crate::world::Call;

/// The probability that the account's owner publishes a post by hand just before a publish call.
const BY_HAND: f64 = 0.3;

/// Half of the people who get a post publish it within this time; the others never do.
const LATEST_HAND_S: i64 = 600;

pub(super) struct Adapter {
    pub(super) platforms: SimulatedPlatforms,
    pub(super) spec: Spec,
}

impl Adapter {
    pub(super) fn new(platforms: SimulatedPlatforms, spec: Spec) -> Self {
        Self { platforms, spec }
    }

    pub(super) fn call(&self, what: String, faults: &[(f64, PlatformFault)]) -> (Call, PlatformFault) {
        self.platforms.world.call(Port::Platform, what, faults)
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.platforms.world.now()
    }

    pub(super) fn account(&self, credentials: &Credentials) -> Result<String, AttemptError> {
        let account = self.platforms.lock().grants.account(credentials, self.now()).map(str::to_owned);
        account.map_err(|rejected| AttemptError::Unauthorized {
            reason: format!("the token is not accepted: {rejected:?}"),
        })
    }

    pub(super) fn limit(&self) -> AttemptError {
        let least = if self.spec.behavior == PlatformBehavior::Rationing { RATIONED_FOR } else { Duration::ZERO };
        let wait = least + self.platforms.world.up_to(Duration::from_mins(3));
        let retry_at = Some(self.now() + TimeDelta::from_std(wait).unwrap_or_default());
        AttemptError::RetryLater { retry_at, reason: "too many posts".to_owned() }
    }

    /// The scripted outcome if there is one; otherwise the random one.
    fn next_fault(&self, drawn: PlatformFault) -> PlatformFault {
        self.platforms.lock().faults.pop().unwrap_or(drawn)
    }

    /// The upload that a request names. Without preparation, its progress is of a review.
    fn upload(&self, request: &PublishRequest<'_>) -> Option<Progress> {
        request.progress.filter(|_| 0 < self.spec.steps).map(Progress::read)
    }

    fn hand_over(&self, at: DateTime<Utc>) -> HandOver {
        let after = self.platforms.world.dice().i64(0..2 * LATEST_HAND_S);
        HandOver((after < LATEST_HAND_S).then(|| at + TimeDelta::seconds(after)))
    }

    /// Sends a post, which takes effect now, later, or never. The result may differ from what
    /// happened.
    async fn send(&self, request: &PublishRequest<'_>, what: &str) -> Result<Published, AttemptError> {
        let reference = Reference::read(request.reference);
        let upload = self.upload(request);
        let chances = chances(&self.platforms.world.probabilities, upload.is_some());
        let (call, fault) = self.call(format!("{what} {} {}", self.spec.name, request.reference), &chances);
        let fault = if call.dies == Some(KillTime::Before) { fault } else { self.next_fault(fault) };
        let _under_way = InFlight::enter(&self.platforms, reference);
        let begun_at = self.now();
        if self.spec.certainty == LookUpSupport::Recognized && self.platforms.world.happens(BY_HAND) {
            self.platforms.lock().timeline.show(&request.profile.account_id, true, None, begun_at);
        }
        let public = Public {
            reference,
            named: upload,
            account: request.profile.account_id.clone(),
            text: request.text.to_owned(),
            id: format!("{}-{}", self.spec.name, request.reference),
            parent: request.reply_to.map(|it| it.parent.platform_post_id.clone()),
            begun_at,
            at: begun_at,
            hand_over: (self.spec.behavior == PlatformBehavior::HandingOver).then(|| self.hand_over(begun_at)),
            removed_at: None,
        };
        if call.dies == Some(KillTime::Before) && self.platforms.world.happens(0.5) {
            // The request was already sent when its process died.
            self.platforms.world.note(format!("{what} {} was sent by a process that died", request.reference));
            self.begin(reference, upload, begun_at);
            self.publish_later(public.clone(), upload, request.credentials);
        }
        call.die(KillTime::Before).await;
        self.begin(reference, upload, begun_at);
        call.go().await;
        if self.spec.behavior == PlatformBehavior::Slow {
            tokio::time::sleep(SLOW).await;
        }

        let unknown = |may_still_run, reason: &str| {
            Err(AttemptError::Unknown { may_still_run, retry_at: None, reason: reason.to_owned() })
        };
        let response = match (fault, self.account(request.credentials)) {
            (PlatformFault::Unsent, _) => {
                Err(AttemptError::RetryLater { retry_at: None, reason: "it could not be reached".to_owned() })
            }
            (PlatformFault::CallLost, _) => unknown(true, "it did not respond in time"),
            (PlatformFault::Revoked, account) => {
                if account.is_ok() {
                    self.platforms.lock().grants.revoke(request.credentials);
                }
                Err(AttemptError::Unauthorized { reason: "the grant was taken back".to_owned() })
            }
            (_, Err(error)) => Err(error),
            (PlatformFault::DoneLater, _) => {
                self.publish_later(public, upload, request.credentials);
                self.platforms.world.sleep_until(begun_at + TIMEOUT).await;
                unknown(true, "it did not respond in time")
            }
            (PlatformFault::Limited, _) => Err(self.limit()),
            (PlatformFault::Error, _) => unknown(false, "it answered 500"),
            (fault, Ok(account)) => self.decide(fault, reference, upload, Public { account, ..public }),
        };
        call.respond().await;
        response
    }

    fn decide(
        &self,
        fault: PlatformFault,
        reference: Reference,
        upload: Option<Progress>,
        public: Public,
    ) -> Result<Published, AttemptError> {
        let now = self.now();
        let mut inner = self.platforms.lock();
        let known = inner.timeline.find(reference).is_some();
        if (fault == PlatformFault::Refused && !known) || inner.timeline.refused.contains(&reference) {
            inner.timeline.refused.insert(reference);
            return Err(AttemptError::Refused { reason: "it is not wanted here".to_owned() });
        }
        if self.spec.behavior == PlatformBehavior::Lagging && known {
            inner.timeline.duplicates.push(reference);
            return Err(AttemptError::Duplicate { reason: "it is here already".to_owned() });
        }
        if let (PlatformFault::Forgotten, Some(upload)) = (fault, upload) {
            inner.uploads.forget(upload);
        }
        if !inner.has_upload(self.spec, reference, upload) {
            return Err(preparation_expired());
        }
        if self.spec.behavior == PlatformBehavior::Reviewing {
            drop(inner);
            return Err(self.accept_for_review(fault, public));
        }
        let is_published = |it: &Public| it.reference == reference && it.named == upload;
        if self.spec.certainty == LookUpSupport::Contained && inner.timeline.public.iter().any(is_published) {
            let reason = "this container was published".to_owned();
            return Err(AttemptError::Unknown { may_still_run: false, retry_at: None, reason });
        }
        if let Some(opens_at) = self.opens_at(&mut inner, reference, &public.account) {
            return Err(AttemptError::RetryLater { retry_at: Some(opens_at), reason: "enough for a day".to_owned() });
        }
        let public = inner.timeline.publish(Public { at: now, ..public }, self.spec.certainty);
        if self.spec.behavior == PlatformBehavior::Removing {
            let review = inner.reviews.begin(reference);
            let is_wanted = fault != PlatformFault::RefusedLater && self.platforms.world.dice().u32(0..3) != 0;
            inner.reviews.end(review, is_wanted);
        }
        drop(inner);
        self.platforms.world.note(format!(
            "public on {}: {} r{} of {}",
            self.spec.name, reference.target, reference.revision, reference.post
        ));
        match fault {
            PlatformFault::ResponseLost => Err(AttemptError::Unknown {
                may_still_run: true,
                retry_at: None,
                reason: "its answer was cut off".to_owned(),
            }),
            PlatformFault::ErrorAfter => Err(AttemptError::Unknown {
                may_still_run: false,
                retry_at: None,
                reason: "it answered 500".to_owned(),
            }),
            _ => Ok(public.response(now)),
        }
    }

    /// The time from which the account may publish again; `None` for now. A call before that time
    /// is a mistake once the platform has returned the time; but a process that dies may forget it.
    fn opens_at(&self, inner: &mut Inner, reference: Reference, account: &str) -> Option<DateTime<Utc>> {
        if self.spec.behavior != PlatformBehavior::Counting {
            return None;
        }
        let now = self.now();
        let is_too_early = inner.timeline.not_before.get(&reference).is_some_and(|it| now < *it);
        if is_too_early && self.platforms.world.faults() == 0 {
            inner.timeline.mistakes.push((reference, "sent before the time that the platform returned".to_owned()));
        }
        let opens_at = inner.timeline.opens_at(account, now)?;
        inner.timeline.not_before.insert(reference, opens_at);
        Some(opens_at)
    }

    fn take_step(
        &self,
        fault: PlatformFault,
        reference: Reference,
        reached: Option<Progress>,
    ) -> Result<Step, AttemptError> {
        let mut inner = self.platforms.lock();
        if let (PlatformFault::Forgotten, Some(reached)) = (fault, reached) {
            inner.uploads.forget(reached);
        }
        if reached.is_some_and(|it| !inner.uploads.keeps(it)) {
            return Err(preparation_expired());
        }
        // Sometimes an image is still being processed, and the platform is not called.
        let is_awaited = matches!(fault, PlatformFault::Fine) && self.platforms.world.dice().u32(0..4) == 0;
        let awaited = reached.filter(|_| is_awaited);
        let done = awaited.unwrap_or_else(|| inner.uploads.step(reference, reached));
        drop(inner);
        match fault {
            PlatformFault::Fine if done.steps == self.spec.steps => {
                Ok(Step::Ready { progress: Some(done.to_string()) })
            }
            PlatformFault::Fine => {
                let wait = self.platforms.world.up_to(Duration::from_secs(8));
                let at = self.now() + TimeDelta::from_std(wait).unwrap_or_default();
                Ok(Step::Again { progress: done.to_string(), at })
            }
            _ => Err(AttemptError::Unknown {
                may_still_run: false,
                retry_at: None,
                reason: "its answer was cut off".to_owned(),
            }),
        }
    }

    fn begin(&self, reference: Reference, upload: Option<Progress>, at: DateTime<Utc>) {
        let mut inner = self.platforms.lock();
        inner.timeline.begun.push(StartedCall { reference, at });
        let steps = inner.uploads.steps(reference, upload);
        if steps < self.spec.steps {
            let mistake = format!("a public call after {steps} of {} steps", self.spec.steps);
            inner.timeline.mistakes.push((reference, mistake));
        }
        if inner.reviews.find(reference) == Some(Verdict::Refused) {
            inner.timeline.mistakes.push((reference, "sent again after it was taken and refused".to_owned()));
        }
    }

    /// A call whose caller no longer waits takes effect some time later.
    fn publish_later(&self, public: Public, upload: Option<Progress>, credentials: &Credentials) {
        let wait = self.platforms.world.up_to(SETTLES.to_std().unwrap_or_default());
        let at = public.begun_at + TimeDelta::from_std(wait).unwrap_or_default();
        let (spec, credentials, platforms) = (self.spec, credentials.clone(), self.platforms.clone());
        self.platforms.later(at, move |inner| {
            let reference = public.reference;
            let is_wanted = !inner.timeline.refused.contains(&reference);
            let is_granted = inner.grants.account(&credentials, at).is_ok();
            let is_full =
                spec.behavior == PlatformBehavior::Counting && inner.timeline.opens_at(&public.account, at).is_some();
            let is_duplicate = spec.behavior == PlatformBehavior::Lagging && inner.timeline.find(reference).is_some();
            if is_wanted && is_granted && !is_full && !is_duplicate && inner.has_upload(spec, reference, upload) {
                inner.timeline.publish(Public { at, ..public }, spec.certainty);
                platforms.world.note(format!(
                    "public after all: {} r{} of {}",
                    reference.target, reference.revision, reference.post
                ));
            }
        });
    }
}

fn preparation_expired() -> AttemptError {
    AttemptError::PreparationExpired { reason: "what was prepared is not known any more".to_owned() }
}

#[async_trait]
impl Platform for Adapter {
    fn name(&self) -> &'static str {
        self.spec.name
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        self.spec.refresh_policy
    }

    /// As if users had named the hosts of platforms with preparation.
    fn host(&self, _: &Credentials) -> Option<String> {
        (0 < self.spec.steps).then(|| format!("{}.example", self.spec.name))
    }

    async fn refresh(&self, old: &Credentials, _: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let (call, fault) = self
            .call(format!("refresh {}", self.spec.name), &refresh_probabilities(&self.platforms.world.probabilities));
        call.die(KillTime::Before).await;
        let _refreshing = RefreshGuard::enter(&self.platforms, old);
        call.go().await;
        let unreachable = |reason: &str| Err(RefreshError::Unreachable(reason.to_owned()));
        let response = match fault {
            PlatformFault::Unsent => unreachable("it could not be reached"),
            PlatformFault::CallLost => unreachable("it did not answer"),
            PlatformFault::Error => unreachable("it answered 500"),
            fault => {
                let lasts = self.platforms.lasts();
                let mut inner = self.platforms.lock();
                if fault == PlatformFault::Revoked {
                    inner.grants.revoke(old);
                }
                let refreshed = inner.grants.refresh(old, self.spec, lasts, self.now());
                drop(inner);
                if refreshed.as_ref().is_err_and(|it| *it == Rejected::Reused) {
                    let mistake = format!("a refresh token of {} was used twice", self.spec.name);
                    self.platforms.world.note(&mistake);
                    // A worker that dies before it has stored its new tokens leaves the used ones
                    // behind, so a second use is only wrong in a run without faults.
                    if self.platforms.world.faults() == 0 {
                        self.platforms.lock().mistakes.push(mistake);
                    }
                }
                match refreshed {
                    Ok(_) if fault == PlatformFault::ResponseLost => unreachable("its answer was cut off"),
                    Ok(new) => Ok(new),
                    Err(rejected) => Err(RefreshError::Gone(format!("{rejected:?}"))),
                }
            }
        };
        call.respond().await;
        response
    }
}

#[async_trait]
impl Publish for Adapter {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let reference = Reference::read(request.reference);
        let reached = self.upload(request);
        let done = reached.map_or(0, |it| it.steps);
        if self.spec.steps <= done {
            return Ok(Step::Ready { progress: request.progress.map(str::to_owned) });
        }
        let what = format!("prepare {} {} step {}", self.spec.name, request.reference, done + 1);
        let (call, fault) = self.call(what, &chances(&self.platforms.world.probabilities, reached.is_some()));
        call.die(KillTime::Before).await;
        let _under_way = InFlight::enter(&self.platforms, reference);
        call.go().await;
        let account = self.account(request.credentials);
        let response = match (fault, account) {
            (PlatformFault::Unsent, _) => {
                Err(AttemptError::RetryLater { retry_at: None, reason: "it could not be reached".to_owned() })
            }
            (PlatformFault::CallLost | PlatformFault::DoneLater, _) => Err(AttemptError::Unknown {
                may_still_run: true,
                retry_at: None,
                reason: "it did not respond in time".to_owned(),
            }),
            (_, Err(error)) => Err(error),
            (PlatformFault::Limited, _) => Err(self.limit()),
            (PlatformFault::Error, _) => Err(AttemptError::Unknown {
                may_still_run: false,
                retry_at: None,
                reason: "it answered 500".to_owned(),
            }),
            (PlatformFault::Revoked, Ok(_)) => {
                self.platforms.lock().grants.revoke(request.credentials);
                Err(AttemptError::Unauthorized { reason: "the grant was taken back".to_owned() })
            }
            (PlatformFault::Refused, Ok(_)) => {
                self.platforms.lock().timeline.refused.insert(reference);
                Err(AttemptError::Refused { reason: "the file is not wanted here".to_owned() })
            }
            (fault, Ok(_)) => self.take_step(fault, reference, reached),
        };
        let response = match response {
            Ok(Step::Ready { progress: Some(reached) }) if self.spec.certainty == LookUpSupport::Recognized => {
                Ok(Step::Ready { progress: Some(looks::with_snapshot(self, request, &reached)) })
            }
            response => response,
        };
        call.respond().await;
        response
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        self.send(request, "publish").await
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        self.settle(request, since).await
    }

    fn follow_ups(&self, _: &PublishRequest<'_>) -> Vec<&'static str> {
        self.spec.follow_ups().to_vec()
    }

    async fn follow_up(&self, request: &PublishRequest<'_>, it: &FollowUp<'_>) -> Result<Followed, AttemptError> {
        following::take_step(self, request, it).await
    }

    fn recognizes_own_posts(&self) -> bool {
        self.spec.certainty == LookUpSupport::Recognized
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLES
    }

    fn look_up_policy(&self) -> LookUpPolicy {
        LookUpPolicy { settle_time: SETTLES, is_billed: self.spec.behavior == PlatformBehavior::Charging }
    }
}
