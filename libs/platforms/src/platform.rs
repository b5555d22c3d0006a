//! The traits that adapters implement: [`Platform`], [`Connect`] and [`Publish`].

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
pub use domain::delivery::PreparationStep as Step;
use domain::delivery::{AttemptError, LookUpPolicy, Published, Resolution};
use domain::rules::Rules;

use crate::account::{Account, AccountDetails, Credentials};
use crate::app::AppSource;
use crate::choices::{Choice, ChoicesRequest};
use crate::connect_flow::{
    Approval, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, Field, FieldValues,
    PendingApproval, RefreshError,
};
use crate::creator_info::CreatorInfo;
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};
use crate::dependency_error::DependencyError;
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;

/// The maximum duration of a call of [`Publish`]. The calling function is stopped soon after it,
/// and needs the time until then to store the outcome.
pub const STEP_LIMIT: Duration = Duration::from_secs(40);

/// Something to do after the publish call, such as an entry in a playlist.
#[derive(Clone, Copy, Debug)]
pub struct FollowUp<'a> {
    /// A name from [`Publish::follow_ups`], possibly of an earlier version of the adapter.
    pub name: &'a str,
    pub published: &'a Published,
    /// The progress of its last step; `None` before the first.
    pub progress: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Finished, or there is nothing to do.
    Done,
    /// Not finished; `follow_up` is called again.
    Again {
        /// For [`FollowUp::progress`]; stored before the next call.
        progress: String,
        /// Not before this time.
        at: DateTime<Utc>,
    },
    /// The platform has removed the post since its publication, and nothing of it is public.
    Removed { reason: String },
}

/// The operations that every program with credentials needs. [`Connect`] and [`Publish`] have the
/// rest: every adapter implements all three, and a program is linked only with those that it calls.
#[async_trait::async_trait]
pub trait Platform: Send + Sync {
    /// In paths and in `provider`.
    fn name(&self) -> &'static str;

    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Never
    }

    /// Exchanges credentials that [`RefreshPolicy::can_refresh`], when they are about to expire or
    /// were refused. Returns within 30 seconds, which is less than the lease of the caller: a
    /// refresh token that two callers exchange may end the whole grant.
    ///
    /// # Errors
    /// [`RefreshError::Gone`] only if the platform reports that these credentials will never be
    /// refreshed. A temporary error, a wrong client secret of ours, and no response are
    /// [`RefreshError::Unreachable`]. Not called where the policy is [`RefreshPolicy::Never`].
    async fn refresh(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let _ = (credentials, now);
        Err(RefreshError::Unreachable("the credentials of this platform cannot be refreshed".to_owned()))
    }

    /// The host that these credentials lead to, if a user named it, or a server that a user named
    /// did. `None` for a host in the code or in the settings of the deployment: no user can make
    /// that one slow to harm others.
    fn host(&self, credentials: &Credentials) -> Option<String> {
        let _ = credentials;
        None
    }

    /// The current account info, and the rules of the account; `None` where the platform cannot be
    /// asked. Called every week, after a refresh where credentials are refreshed, with a timeout of
    /// 20 seconds.
    ///
    /// # Errors
    /// Only [`AttemptError::Unauthorized`] has an effect: the credentials are no longer accepted.
    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let _ = (profile, credentials, now);
        Ok(None)
    }
}

#[async_trait::async_trait]
pub trait Connect: Platform {
    /// The rules for an account whose own limits are unknown. Posts are checked against
    /// [`Account::rules`], which is read when the account is connected.
    fn rules(&self) -> Rules;

    fn fields(&self) -> &'static [Field] {
        &[]
    }

    /// Our app at the platform, which an operator registers. `None` where users need none.
    fn app(&self) -> Option<&dyn AppSource> {
        None
    }

    /// The host that the user names in the form, which [`Connect::authorize`] calls, or which says
    /// where its server is. `None` if the form names none.
    fn named_host(&self, values: &FieldValues) -> Option<String> {
        let _ = values;
        None
    }

    /// The client metadata that the platform reads, served as JSON at
    /// [`CallbackUrls::client_document`]. `None` where the platform reads none.
    async fn client_document(&self, urls: &CallbackUrls) -> Result<Option<serde_json::Value>, DependencyError> {
        let _ = urls;
        Ok(None)
    }

    /// Begins a connect flow, with a value for each of [`Connect::fields`]. Values of optional
    /// fields may be empty.
    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError>;

    /// Asks whether the user has given the approval of [`AuthorizeStep::WaitForApproval`]. Called
    /// every few seconds for ten minutes, never concurrently. Returns within eight seconds. After
    /// [`ConnectError::Unreachable`] it is called again; any other error ends the connect flow.
    async fn poll(&self, pending: &PendingApproval, now: DateTime<Utc>) -> Result<Approval, ConnectError> {
        let _ = (pending, now);
        Err(ConnectError::Refused("this platform has no approval to wait for".to_owned()))
    }

    /// Completes a connect flow: the accounts that the grant covers, at least one.
    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError>;

    /// The values that an option of the kind
    /// [`OptionKind::Choice`](domain::options::OptionKind::Choice) may have for an account. Called
    /// while a client waits, with a timeout of 12 seconds.
    async fn choices(&self, request: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        let _ = (request, now);
        Ok(Vec::new())
    }

    /// What an account permits at the moment; `None` where no post of the platform needs a person's consent, which is
    /// the rule [`PostRule::ConsentOptions`](domain::rules::PostRule::ConsentOptions). Called while a client waits, with a
    /// timeout of 12 seconds.
    async fn creator_info(
        &self,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<CreatorInfo>, AttemptError> {
        let _ = (credentials, now);
        Ok(None)
    }

    /// Whether [`Connect::revoke`] ends every token that was ever issued for the grant, and not
    /// only these. Then it is called when no user of this deployment has the grant any more.
    fn revokes_all(&self) -> bool {
        false
    }

    /// Reads a platform's notification that a grant has ended: the form field `signed_request`. Its
    /// sender is unknown until the signature is checked.
    async fn read_deauthorization(
        &self,
        message: &str,
        now: DateTime<Utc>,
    ) -> Result<DeauthorizationCallback, InvalidCallback> {
        let _ = (message, now);
        Err(InvalidCallback::NoneHere)
    }

    /// Revokes the grant. An error does not stop a disconnection.
    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError>;
}

/// Publishes posts. Each call returns within [`STEP_LIMIT`].
#[async_trait::async_trait]
pub trait Publish: Platform {
    /// The next step before the publish call. It must not make the segment public. Called from the
    /// platform's `LEAD` on, for all segments.
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        Ok(Step::Ready { progress: request.progress.map(str::to_owned) })
    }

    /// The publish call: the only one that makes the segment public. [`AttemptError::Accepted`] where its success does not
    /// prove that.
    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError>;

    /// Asks whether a call of [`Publish::publish`] with this reference took effect. The first call
    /// with an unknown outcome began at `since`, so its post can be that old; the latest one began
    /// at [`PublishRequest::called_at`].
    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution;

    /// The steps after the post is public, by name, such as `playlist`; empty for most posts.
    /// The steps run one after the other and are best effort: the post stays published.
    fn follow_ups(&self, request: &PublishRequest<'_>) -> Vec<&'static str> {
        let _ = request;
        Vec::new()
    }

    /// A step of one of [`Publish::follow_ups`], with one call that changes something, or none. It is
    /// retried within an hour if it certainly had no effect. A call with an unknown outcome is not
    /// repeated.
    async fn follow_up(
        &self,
        request: &PublishRequest<'_>,
        follow_up: &FollowUp<'_>,
    ) -> Result<Followed, AttemptError> {
        let _ = (request, follow_up);
        Ok(Followed::Done)
    }

    /// Whether [`Publish::look_up`] may recognize a post by its content. Then every delivery claims
    /// its post, at the cost of a write, so that no other delivery reports it. False where an
    /// idempotency key or an id that we chose identifies a post.
    fn recognizes_own_posts(&self) -> bool {
        true
    }

    /// Whether the platform fetches files from public URLs, at least for some posts.
    fn fetches_files(&self) -> bool {
        false
    }

    /// How long a cut-off publish call may still take effect.
    fn settle_time(&self) -> TimeDelta {
        TimeDelta::seconds(60)
    }

    /// [`Publish::settle_time`], and whether look-ups are billed.
    fn look_up_policy(&self) -> LookUpPolicy {
        self.settle_time().into()
    }
}
