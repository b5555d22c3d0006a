//! What every platform can be asked.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Published, Resolution, Setback};
use domain::rules::Rules;

use crate::account::{Account, Credentials};
use crate::handoff::{Answers, Authorization, AuthorizationRequest, Callback, Field, HandOffRefusal, RefreshRefusal};
use crate::job::Job;
use crate::renewal::Renewal;

/// How far preparation got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Only the public call is left.
    Ready {
        /// For [`Job::progress`].
        progress: Option<String>,
    },
    /// One step further; `prepare` is to be called again.
    Again {
        /// For [`Job::progress`]; stored before the next call.
        progress: String,
        /// Not before this.
        at: DateTime<Utc>,
    },
}

/// A social platform.
#[async_trait::async_trait]
pub trait Platform: Send + Sync {
    /// Its name in paths and in `provider`.
    fn name(&self) -> &'static str;

    /// What it accepts from an account of which nothing more is known.
    fn rules(&self) -> Rules;

    /// What it has to know before its authorization page can be shown.
    fn fields(&self) -> &'static [Field] {
        &[]
    }

    /// Begins a hand-off, with an answer for each of [`Platform::fields`].
    async fn authorize(
        &self,
        answers: &Answers,
        request: &AuthorizationRequest,
    ) -> Result<Authorization, HandOffRefusal>;

    /// Ends a hand-off: the accounts that the grant covers, at least one.
    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal>;

    /// How credentials are renewed.
    fn renewal(&self) -> Renewal {
        Renewal::Never
    }

    /// New credentials for old ones that [`Renewal::can_renew`]: asked when
    /// they are about to end, or were not accepted. It answers or gives up
    /// within 30 seconds, which is less than the lease of whoever asks: a
    /// refresh token that two exchange may end the whole grant.
    ///
    /// # Errors
    /// [`RefreshRefusal::Gone`] when the platform says that these credentials
    /// will never be renewed, and nothing else: a failure that may pass, our
    /// own wrong client secret, and silence are [`RefreshRefusal::Unreachable`].
    async fn refresh(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshRefusal>;

    /// Gives the grant back. A failure does not stop a disconnection.
    async fn revoke(&self, credentials: &Credentials) -> Result<(), Setback>;

    /// How long before the due second preparation begins; `None` when these
    /// files need none.
    fn lead(&self, media: &[domain::media::Attachment]) -> Option<TimeDelta> {
        let _ = media;
        None
    }

    /// The next step before the public call. Nothing here may make the post public.
    async fn prepare(&self, job: &Job<'_>) -> Result<Step, Setback> {
        Ok(Step::Ready { progress: job.progress.map(str::to_owned) })
    }

    /// The one call that makes the post public.
    async fn publish(&self, job: &Job<'_>) -> Result<Published, Setback>;

    /// Asks whether a call of [`Platform::publish`] with this reference, begun
    /// at `since`, took effect.
    async fn resolve(&self, job: &Job<'_>, since: DateTime<Utc>) -> Resolution;

    /// How long a public call that was cut off may still take effect.
    fn settles(&self) -> TimeDelta {
        TimeDelta::seconds(60)
    }
}
