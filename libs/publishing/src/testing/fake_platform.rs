//! A scripted platform that records what it published.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Claim, Published, Resolution};
use platforms::{
    AccountDetails, Credentials, FollowUp, Followed, Platform, Publish, PublishRequest, RefreshError, Step,
};
use secrecy::ExposeSecret;
use tokio::sync::{Barrier, Notify};

/// How long a call that was cut off may still take effect.
pub const SETTLES: TimeDelta = TimeDelta::seconds(65);

#[derive(Clone, Debug)]
pub enum PublishFault {
    Public,
    Refused,
    Busy(Option<DateTime<Utc>>),
    Gone,
    Stale,
    /// The post becomes public, and the response is lost.
    LostResponse,
    /// The platform reviews the post, which becomes public.
    Accepted,
    /// The call never arrives, and there is no response.
    LostCall,
    /// The platform returns an error of its own, and nothing becomes public.
    TheirError,
    Duplicate,
}

#[derive(Clone, Debug)]
pub enum RefreshFault {
    /// With a new refresh token.
    Rotated,
    /// Without a refresh token.
    Extended,
    Gone,
    Unreachable,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    pub account: String,
    pub text: String,
    pub reference: String,
    pub at: DateTime<Utc>,
    pub progress: Option<String>,
    /// The ids of the root and the parent, for a reply or a comment.
    pub reply_to: Option<(String, String)>,
    pub token: String,
}

#[derive(Default)]
pub struct Gate {
    entered: Notify,
    open: Notify,
}

impl Gate {
    pub async fn entered(&self) {
        self.entered.notified().await;
    }

    pub fn open(&self) {
        self.open.notify_one();
    }

    async fn pass(&self) {
        self.entered.notify_one();
        self.open.notified().await;
    }
}

/// Whatever a test does not set succeeds.
#[derive(Default)]
pub struct FakePlatform {
    /// Replaces the name `sandbox`.
    pub name: Option<&'static str>,
    pub public: Mutex<Vec<Public>>,
    pub calls: Mutex<Vec<DateTime<Utc>>>,
    /// Whether each call was marked as possibly a repetition.
    pub may_have_published: Mutex<Vec<bool>>,
    pub faults: Mutex<VecDeque<PublishFault>>,
    pub resolutions: Mutex<VecDeque<Resolution>>,
    /// For all look-ups.
    pub always: Mutex<Option<Resolution>>,
    pub looks: Mutex<u32>,
    /// For each look-up: the time from which posts are read, and the begin of the latest call.
    pub looked_since: Mutex<Vec<(DateTime<Utc>, DateTime<Utc>)>>,
    /// The stored progress that each look-up received.
    pub looked_with: Mutex<Vec<Option<String>>>,
    /// How long after its publication a post is listed.
    pub listed_after: TimeDelta,
    /// Recognizes posts only by their content, and may return ids of other posts.
    pub by_looks: bool,
    pub ids: Mutex<VecDeque<String>>,
    pub lead: Option<TimeDelta>,
    pub steps: Mutex<VecDeque<Result<Step, AttemptError>>>,
    pub on_step: Option<Box<dyn Fn() + Send + Sync>>,
    pub prepared: Mutex<Vec<Option<String>>>,
    pub follow_ups: Vec<&'static str>,
    pub following: Mutex<VecDeque<Result<Followed, AttemptError>>>,
    /// The follow-ups that were called, with the progress that they received.
    pub followed: Mutex<Vec<(String, Option<String>)>>,
    pub about: Mutex<VecDeque<Result<Option<AccountDetails>, AttemptError>>>,
    pub refresh_policy: platforms::RefreshPolicy,
    pub refresh_faults: Mutex<VecDeque<RefreshFault>>,
    pub refreshes: Mutex<u32>,
    /// Refreshes in progress, and the highest number of them.
    pub refreshing: Mutex<(usize, usize)>,
    pub on_refresh: Option<Box<dyn Fn() + Send + Sync>>,
    /// Refreshes continue when this many have started.
    pub meeting: Option<Barrier>,
    pub publish_gate: Mutex<Option<Arc<Gate>>>,
    pub refresh_gate: Mutex<Option<Arc<Gate>>>,
}

impl FakePlatform {
    pub fn name(&self) -> &'static str {
        self.name.unwrap_or("sandbox")
    }

    pub fn with_faults(self, faults: impl IntoIterator<Item = PublishFault>) -> Self {
        self.faults.lock().unwrap().extend(faults);
        self
    }

    pub fn texts(&self) -> Vec<String> {
        self.public.lock().unwrap().iter().map(|it| it.text.clone()).collect()
    }

    pub fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    pub fn hold_publish(&self) -> Arc<Gate> {
        let gate = Arc::new(Gate::default());
        *self.publish_gate.lock().unwrap() = Some(Arc::clone(&gate));
        gate
    }

    pub fn hold_refresh(&self) -> Arc<Gate> {
        let gate = Arc::new(Gate::default());
        *self.refresh_gate.lock().unwrap() = Some(Arc::clone(&gate));
        gate
    }

    /// Returns the number of the refresh.
    fn begin_refresh(&self) -> u32 {
        if let Some(on_refresh) = &self.on_refresh {
            on_refresh();
        }
        let mut refreshing = self.refreshing.lock().unwrap();
        let in_progress = refreshing.0 + 1;
        *refreshing = (in_progress, refreshing.1.max(in_progress));
        let mut refreshes = self.refreshes.lock().unwrap();
        *refreshes += 1;
        *refreshes
    }

    /// A post with the same content that no other delivery has claimed.
    async fn recognize(&self, request: &PublishRequest<'_>) -> Resolution {
        let public = self.public.lock().unwrap().clone();
        let matching = public
            .iter()
            .zip(1..)
            .filter(|(it, _)| it.text == request.text && it.account == request.profile.account_id);
        let matching: Vec<(String, DateTime<Utc>)> =
            matching.map(|(it, number)| (format!("p{number}"), it.at)).collect();
        let ids: Vec<_> = matching.iter().map(|it| it.0.clone()).collect();
        let claims = request.claims.find(&ids).await.unwrap();
        let claim = |id: &str| claims.iter().find(|it| it.0 == id).map(|it| it.1);
        let published =
            |(platform_post_id, at): &(String, DateTime<Utc>)| Published::new(platform_post_id.clone(), *at);
        if let Some(ours) = matching.iter().find(|(id, _)| claim(id) == Some(Claim::Ours)) {
            return Resolution::Found(published(ours));
        }
        let unclaimed = matching.iter().find(|(id, _)| claim(id).is_none());
        unclaimed.map_or(Resolution::NotFound, |it| Resolution::Candidate(published(it)))
    }

    fn make_public(&self, request: &PublishRequest<'_>) -> Published {
        let mut public = self.public.lock().unwrap();
        public.push(Public {
            account: request.profile.account_id.clone(),
            text: request.text.to_owned(),
            reference: request.reference.to_owned(),
            at: request.now,
            progress: request.progress.map(str::to_owned),
            reply_to: request.reply_to.map(|it| (it.root.platform_post_id.clone(), it.parent.platform_post_id.clone())),
            token: request.credentials.access_token.expose_secret().to_owned(),
        });
        let id = self.ids.lock().unwrap().pop_front();
        Published::new(id.unwrap_or_else(|| format!("p{}", public.len())), request.now)
    }
}

pub struct Registered(pub Arc<FakePlatform>);

impl std::ops::Deref for Registered {
    type Target = FakePlatform;

    fn deref(&self) -> &FakePlatform {
        &self.0
    }
}

#[async_trait]
impl Platform for Registered {
    fn name(&self) -> &'static str {
        FakePlatform::name(self)
    }

    fn refresh_policy(&self) -> platforms::RefreshPolicy {
        self.refresh_policy
    }

    async fn refresh(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let gate = self.refresh_gate.lock().unwrap().take();
        if let Some(gate) = gate {
            gate.pass().await;
        }
        let number = self.begin_refresh();
        if let Some(barrier) = &self.meeting {
            barrier.wait().await;
        }
        self.refreshing.lock().unwrap().0 -= 1;
        let refresh_token = match self.refresh_faults.lock().unwrap().pop_front().unwrap_or(RefreshFault::Extended) {
            RefreshFault::Rotated => Some(format!("refresh{number}").into()),
            RefreshFault::Extended => None,
            RefreshFault::Gone => return Err(RefreshError::Gone("revoked".to_owned())),
            RefreshFault::Unreachable => return Err(RefreshError::Unreachable("down".to_owned())),
        };
        assert!(self.refresh_policy.can_refresh(credentials));
        Ok(Credentials {
            refresh_token,
            expires_at: Some(now + TimeDelta::hours(2)),
            ..Credentials::new(format!("token{number}").into())
        })
    }

    async fn account_details(
        &self,
        _: &AccountInfo,
        _: &Credentials,
        _: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        self.about.lock().unwrap().pop_front().unwrap_or(Ok(None))
    }
}

#[async_trait]
impl Publish for Registered {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        self.prepared.lock().unwrap().push(request.progress.map(str::to_owned));
        if let Some(on_step) = &self.on_step {
            on_step();
        }
        let ready = || Ok(Step::Ready { progress: request.progress.map(str::to_owned) });
        self.steps.lock().unwrap().pop_front().unwrap_or_else(ready)
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        self.calls.lock().unwrap().push(request.now);
        self.may_have_published.lock().unwrap().push(request.may_have_published);
        let gate = self.publish_gate.lock().unwrap().take();
        if let Some(gate) = gate {
            gate.pass().await;
        }
        let fault = self.faults.lock().unwrap().pop_front().unwrap_or(PublishFault::Public);
        let unknown = |may_still_run| {
            Err(AttemptError::Unknown { may_still_run, retry_at: None, reason: "no answer".to_owned() })
        };
        match fault {
            PublishFault::Public => Ok(self.make_public(request)),
            PublishFault::Refused => Err(AttemptError::Refused { reason: "not polite enough".to_owned() }),
            PublishFault::Busy(retry_at) => {
                Err(AttemptError::RetryLater { retry_at, reason: "too many posts".to_owned() })
            }
            PublishFault::Gone => Err(AttemptError::Unauthorized { reason: "revoked".to_owned() }),
            PublishFault::Stale => Err(AttemptError::PreparationExpired { reason: "a file has expired".to_owned() }),
            PublishFault::LostResponse => {
                self.make_public(request);
                unknown(true)
            }
            PublishFault::Accepted => {
                self.make_public(request);
                let progress = Some("accepted".to_owned());
                Err(AttemptError::Accepted { progress, reason: "it is reviewed".to_owned() })
            }
            PublishFault::LostCall => unknown(true),
            PublishFault::TheirError => unknown(false),
            PublishFault::Duplicate => Err(AttemptError::Duplicate { reason: "you said that already".to_owned() }),
        }
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        *self.looks.lock().unwrap() += 1;
        self.looked_since.lock().unwrap().push((since, request.called_at));
        self.looked_with.lock().unwrap().push(request.progress.map(str::to_owned));
        let resolution = self.resolutions.lock().unwrap().pop_front().or_else(|| self.always.lock().unwrap().clone());
        if let Some(resolution) = resolution {
            return resolution;
        }
        if self.by_looks {
            return self.recognize(request).await;
        }
        let public = self.public.lock().unwrap();
        let is_listed = |it: &Public| since <= it.at && it.at + self.listed_after <= request.now;
        match public.iter().position(|it| it.reference == request.reference && is_listed(it)) {
            Some(index) => {
                let platform_post_id = format!("p{}", index + 1);
                Resolution::Found(Published::new(platform_post_id, public[index].at))
            }
            None => Resolution::NotFound,
        }
    }

    fn follow_ups(&self, _: &PublishRequest<'_>) -> Vec<&'static str> {
        self.follow_ups.clone()
    }

    async fn follow_up(&self, _: &PublishRequest<'_>, follow_up: &FollowUp<'_>) -> Result<Followed, AttemptError> {
        let public = self.public.lock().unwrap().len();
        assert_eq!(follow_up.published.platform_post_id, format!("p{public}"), "it is public first");
        self.followed.lock().unwrap().push((follow_up.name.to_owned(), follow_up.progress.map(str::to_owned)));
        self.following.lock().unwrap().pop_front().unwrap_or(Ok(Followed::Done))
    }

    fn recognizes_own_posts(&self) -> bool {
        self.by_looks
    }

    fn settle_time(&self) -> TimeDelta {
        SETTLES
    }
}

/// A post that an earlier call published at noon.
pub fn a_public_post(text: &str, reference: &str) -> Public {
    Public {
        account: "0".to_owned(),
        text: text.to_owned(),
        reference: reference.to_owned(),
        at: domain::testing::noon(),
        progress: None,
        reply_to: None,
        token: "first".to_owned(),
    }
}
