//! Permits for webhook calls: how many environments of this function one user, or one host, may
//! hold at the same time.
//!
//! An environment is held by its slowest call. A call that gets no permit is postponed, and no
//! attempt is counted.

use domain::webhook::{EndpointResponse, WebhookEndpoint};
use publishing::{ConcurrencyLimiter, Permit};
use storage::{InFlightCalls, LimitSubject, StorageError};

use crate::App;

/// Environments that may call endpoints of one user at the same time, of the 10 that
/// `ScalingConfig` of `WebhooksFunction` in `template.yaml` permits. Each makes up to 10 calls at
/// the same time (`BatchSize`).
const ENVIRONMENTS_PER_USER: usize = 2;

/// Environments that may call endpoints on one host. More than one user can hold, so that a user
/// with slow endpoints delays nobody else's on the same host.
const ENVIRONMENTS_PER_HOST: usize = 4;

/// After so many time-outs in a row, an endpoint gets one call at a time, until it answers.
const TIME_OUTS: u32 = 5;

/// The permits of one call.
pub(crate) struct Permits {
    user: Permit,
    host: Permit,
    probe: Option<Permit>,
    has_strikes: bool,
}

impl App {
    /// The permits for a call to an endpoint; `None` when too many calls are open.
    pub(crate) async fn permits(
        &self,
        endpoint: &WebhookEndpoint,
        open_for_user: InFlightCalls,
        open_to_endpoint: &InFlightCalls,
    ) -> Result<Option<Permits>, StorageError> {
        let limiter = self.limiter();
        let probe = if TIME_OUTS <= open_to_endpoint.slow_calls {
            let Some(probe) = limiter.acquire_exclusive(calls_to(endpoint), open_to_endpoint).await? else {
                return Ok(None);
            };
            Some(probe)
        } else {
            None
        };
        let of_user = LimitSubject::endpoints_of(endpoint.user_id);
        let user = limiter.acquire(of_user, open_for_user, ENVIRONMENTS_PER_USER, true).await;
        let user = match user {
            Ok(Some(user)) => user,
            other => {
                self.return_all(probe).await;
                return other.map(|_| None);
            }
        };
        match self.host_permit(endpoint).await {
            Ok(Some(host)) => Ok(Some(Permits { user, host, probe, has_strikes: 0 < open_to_endpoint.slow_calls })),
            other => {
                self.return_all(probe.into_iter().chain([user])).await;
                other.map(|_| None)
            }
        }
    }

    /// Makes a call with its permits, and returns them.
    pub(crate) async fn call_with(
        &self,
        permits: Permits,
        endpoint: &WebhookEndpoint,
        call: impl Future<Output = EndpointResponse>,
    ) -> EndpointResponse {
        let Permits { user: of_user, host, probe, has_strikes } = permits;
        let limiter = self.limiter();
        let answer = limiter.with_permit(of_user, limiter.with_permit(host, call)).await;
        let noted = if answer.is_time_out() {
            self.api.store.record_slow_call(&calls_to(endpoint), self.api.clock.now()).await
        } else if has_strikes {
            self.api.store.clear_slow_calls(&calls_to(endpoint)).await
        } else {
            Ok(())
        };
        if let Err(error) = noted {
            tracing::warn!(%error, webhook_id = %endpoint.webhook_id, "a time-out of an endpoint is not counted");
        }
        self.return_all(probe).await;
        answer
    }

    /// No call is made after all.
    pub(crate) async fn return_permits(&self, permits: Permits) {
        let Permits { user, host, probe, .. } = permits;
        self.return_all(probe.into_iter().chain([user, host])).await;
    }

    async fn host_permit(&self, endpoint: &WebhookEndpoint) -> Result<Option<Permit>, StorageError> {
        let host = LimitSubject::endpoints_on(endpoint.url.url().host_str().unwrap_or_default());
        let open = self.api.store.in_flight_calls(&host).await?;
        self.limiter().acquire(host, open, ENVIRONMENTS_PER_HOST, true).await
    }

    async fn return_all(&self, permits: impl IntoIterator<Item = Permit>) {
        for permit in permits {
            self.limiter().release(permit).await;
        }
    }

    fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.api.store, clock: &self.api.clock, held_permits: &self.held_permits }
    }
}

fn calls_to(endpoint: &WebhookEndpoint) -> LimitSubject {
    LimitSubject::endpoint(endpoint.user_id, endpoint.webhook_id)
}

#[cfg(test)]
mod tests;
