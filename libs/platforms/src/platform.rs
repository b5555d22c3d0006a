//! What every platform can be asked.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, LookUpPolicy, Published, Resolution};
use domain::rules::Rules;

use crate::account::{Account, AccountDetails, Credentials};
use crate::choices::{Choice, Choosing};
use crate::connect_flow::{
    Approval, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, Field, FieldValues,
    PendingApproval, RefreshError,
};
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};
use crate::dependency_error::DependencyError;
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;

/// The longest time that an adapter takes for one question of [`Publish`]. The
/// function that asks is stopped soon after it, and needs the time until then to
/// store the outcome.
pub const STEP_LIMIT: Duration = Duration::from_secs(40);

/// How far preparation got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Only the public call is left.
    Ready {
        /// For [`PublishRequest::progress`].
        progress: Option<String>,
    },
    /// One step further; `prepare` is to be called again.
    Again {
        /// For [`PublishRequest::progress`]; stored before the next call.
        progress: String,
        /// Not before this.
        at: DateTime<Utc>,
    },
}

/// Something that is to be done after a publication.
#[derive(Clone, Copy, Debug)]
pub struct FollowUp<'a> {
    /// One of the names that [`Publish::follow_ups`] gave, perhaps of an earlier
    /// version of the adapter.
    pub name: &'a str,
    /// The public post.
    pub published: &'a Published,
    /// What the last step of it reached; `None` before the first.
    pub progress: Option<&'a str>,
}

/// How far it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It is done, or there is nothing to do.
    Done,
    /// One step further; `follow_up` is to be called again.
    Again {
        /// For [`FollowUp::progress`]; stored before the next call.
        progress: String,
        /// Not before this.
        at: DateTime<Utc>,
    },
}

/// A social platform, as everything that keeps credentials asks it. What else
/// there is to ask of one is in [`Connect`] and [`Publish`]: every adapter has
/// all three, and a program carries no more of them than it calls.
#[async_trait::async_trait]
pub trait Platform: Send + Sync {
    /// Its name in paths and in `provider`.
    fn name(&self) -> &'static str;

    /// How credentials are renewed.
    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Never
    }

    /// New credentials for old ones that [`RefreshPolicy::can_refresh`]: asked when
    /// they are about to end, or were not accepted. It answers or gives up
    /// within 30 seconds, which is less than the lease of whoever asks: a
    /// refresh token that two exchange may end the whole grant.
    ///
    /// # Errors
    /// [`RefreshError::Gone`] when the platform says that these credentials
    /// will never be renewed, and nothing else: a failure that may pass, our
    /// own wrong client secret, and silence are [`RefreshError::Unreachable`].
    /// It is never asked where the answer is [`RefreshPolicy::Never`].
    async fn refresh(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let _ = (credentials, now);
        Err(RefreshError::Unreachable("its credentials are not renewed".to_owned()))
    }

    /// The host that these credentials lead to, where a user named it or a server
    /// that a user named did. `None` where it stands in the code or in the settings
    /// of the deployment: nobody can make that one slow to harm others.
    fn host(&self, credentials: &Credentials) -> Option<String> {
        let _ = credentials;
        None
    }

    /// How an account shows itself now, and what its platform accepts from it now;
    /// `None` where the platform cannot be asked. It is asked every week, where
    /// credentials are renewed after that, and given up after 20 seconds.
    ///
    /// # Errors
    /// Only [`AttemptError::Unauthorized`] has an effect: the credentials are not
    /// accepted any more.
    async fn about(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let _ = (profile, credentials, now);
        Ok(None)
    }
}

/// What connects accounts, and disconnects them.
#[async_trait::async_trait]
pub trait Connect: Platform {
    /// What it accepts from an account of which nothing more is known. What is
    /// checked is what [`Account::rules`] said when the account was connected.
    fn rules(&self) -> Rules;

    /// What it has to know before its authorization page can be shown.
    fn fields(&self) -> &'static [Field] {
        &[]
    }

    /// The host that the user names by these answers, which [`Connect::authorize`]
    /// calls, or which says where its server is. `None` where the answers name none.
    fn named_host(&self, answers: &FieldValues) -> Option<String> {
        let _ = answers;
        None
    }

    /// What it wants to read about this service, which is served under
    /// [`CallbackUrls::client_document`] as JSON. `None` where there is no such
    /// document.
    async fn client_document(&self, here: &CallbackUrls) -> Result<Option<serde_json::Value>, DependencyError> {
        let _ = here;
        Ok(None)
    }

    /// Begins a connect flow, with an answer for each of [`Connect::fields`];
    /// those that may stay empty may be empty.
    async fn authorize(
        &self,
        answers: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError>;

    /// Asks whether the person has given the approval that [`AuthorizeStep::WaitForApproval`]
    /// waits for: every few seconds, never twice at the same time, and for ten
    /// minutes. It answers within eight seconds. [`ConnectFlowRefusal::Unreachable`] is
    /// asked again, any other refusal ends the connect flow.
    async fn poll(&self, awaited: &PendingApproval, now: DateTime<Utc>) -> Result<Approval, ConnectError> {
        let _ = (awaited, now);
        Err(ConnectError::Refused("nothing is approved elsewhere".to_owned()))
    }

    /// Ends a connect flow: the accounts that the grant covers, at least one.
    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError>;

    /// What an option whose values are listed
    /// ([`OptionKind::Choice`](domain::options::OptionKind::Choice)) may be for an
    /// account. It is asked while a client waits, and given up after 12 seconds.
    async fn choices(&self, asked: &Choosing<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        let _ = (asked, now);
        Ok(Vec::new())
    }

    /// Whether [`Connect::revoke`] ends every token that the same grant was ever
    /// given for, and not only these: then it is asked when nobody of this
    /// deployment has the grant any more.
    fn revokes_all(&self) -> bool {
        false
    }

    /// Reads a message that the platform sends by itself, which says that a grant was ended
    /// there: what stands in its form under `signed_request`. Who sends it is not known
    /// before.
    async fn read_deauthorization(
        &self,
        message: &str,
        now: DateTime<Utc>,
    ) -> Result<DeauthorizationCallback, InvalidCallback> {
        let _ = (message, now);
        Err(InvalidCallback::NoneHere)
    }

    /// Gives the grant back. A failure does not stop a disconnection.
    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError>;
}

/// What takes posts to it. Each question is answered or given up within
/// [`STEP_LIMIT`].
#[async_trait::async_trait]
pub trait Publish: Platform {
    /// The next step before the public call. Nothing here may make the post
    /// public. It is asked from the platform's `LEAD` on.
    async fn prepare(&self, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        Ok(Step::Ready { progress: job.progress.map(str::to_owned) })
    }

    /// The one call that makes the post public.
    async fn publish(&self, job: &PublishRequest<'_>) -> Result<Published, AttemptError>;

    /// Asks whether a call of [`Publish::publish`] with this reference took effect.
    /// The first one whose outcome is not known began at `since`, so its post can be as
    /// old as that; the latest one began at [`PublishRequest::called_at`].
    async fn look_up(&self, job: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution;

    /// What is to be done once this is public, each by a name, such as
    /// `first_comment`; nothing for most posts. It is done one after the other, and
    /// is best effort: the post is published, whatever becomes of it.
    fn follow_ups(&self, job: &PublishRequest<'_>) -> Vec<&'static str> {
        let _ = job;
        Vec::new()
    }

    /// A step of one of [`Publish::follow_ups`]: one call that changes something.
    /// It is tried again within an hour where it certainly did nothing; one of
    /// which nobody knows what it did is not made again.
    async fn follow_up(&self, job: &PublishRequest<'_>, it: &FollowUp<'_>) -> Result<Followed, AttemptError> {
        let _ = (job, it);
        Ok(Followed::Done)
    }

    /// Whether [`Publish::look_up`] may recognise a post by what it looks like. Then
    /// every delivery claims the post that it has made, at the cost of a write, so
    /// that no other delivery takes it for its own. False where an idempotency key
    /// or an id that we chose identifies a post.
    fn recognizes_own_posts(&self) -> bool {
        true
    }

    /// Whether the platform fetches files from public addresses, at least of some posts.
    fn fetches_files(&self) -> bool {
        false
    }

    /// Whether a success of [`Publish::publish`] does not prove that this post is public, so
    /// that its outcome is unknown until [`Publish::look_up`] finds it. Such outcomes are no
    /// sign of an outage.
    fn is_confirmed_later(&self, job: &PublishRequest<'_>) -> bool {
        let _ = job;
        false
    }

    /// How long a public call that was cut off may still take effect.
    fn settle_time(&self) -> TimeDelta {
        TimeDelta::seconds(60)
    }

    /// What is to be known before [`Publish::look_up`] is asked: [`Publish::settle_time`], and
    /// whether the platform takes money for what it is asked.
    fn look_up_policy(&self) -> LookUpPolicy {
        self.settle_time().into()
    }
}
