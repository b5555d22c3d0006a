//! Permits for webhook calls: how many environments of the function webhooks one user, or one host,
//! may hold at the same time.
//!
//! An environment is held by its slowest call. A call that gets no permit is postponed, and no
//! attempt is counted.

use chrono::{DateTime, Utc};
use domain::webhook::{EndpointResponse, WebhookEndpoint};
use permits::{ConcurrencyLimiter, PERMIT_WAIT, Permit};
use storage::{InFlightCalls, LimitSubject, StorageError};

use crate::WebhookService;

/// Environments that may call endpoints of one user at the same time, of the 10 that
/// `ScalingConfig` of `WebhooksFunction` in `template.yaml` permits. Each makes up to 10 calls
/// concurrently (`BatchSize`).
const ENVIRONMENTS_PER_USER: usize = 2;

/// Environments that may call endpoints on one host. More than one user can hold, so that a user
/// with slow endpoints does not delay those of other users on the same host.
const ENVIRONMENTS_PER_HOST: usize = 4;

/// After this many consecutive timeouts, an endpoint gets one call at a time until it responds.
const MAX_TIMEOUTS: u32 = 5;

pub(crate) struct Permits {
    user: Permit,
    host: Permit,
    probe: Option<Permit>,
    has_slow_calls: bool,
}

impl WebhookService {
    /// `None` if too many calls are in flight.
    pub(crate) async fn permits(
        &self,
        endpoint: &WebhookEndpoint,
        in_flight_for_user: InFlightCalls,
        in_flight_to_endpoint: &InFlightCalls,
    ) -> Result<Option<Permits>, StorageError> {
        let limiter = self.limiter();
        let probe = if MAX_TIMEOUTS <= in_flight_to_endpoint.slow_calls {
            let Some(probe) = limiter.acquire_exclusive(endpoint_subject(endpoint), in_flight_to_endpoint).await?
            else {
                return Ok(None);
            };
            Some(probe)
        } else {
            None
        };
        let wait_until = self.clock.now() + PERMIT_WAIT;
        let user_subject = LimitSubject::user_endpoints(endpoint.user_id);
        let user = limiter.acquire(user_subject, in_flight_for_user, ENVIRONMENTS_PER_USER, true, wait_until).await;
        let user = match user {
            Ok(Some(user)) => user,
            other => {
                self.release_all(probe).await;
                return other.map(|_| None);
            }
        };
        match self.host_permit(endpoint, wait_until).await {
            Ok(Some(host)) => {
                Ok(Some(Permits { user, host, probe, has_slow_calls: 0 < in_flight_to_endpoint.slow_calls }))
            }
            other => {
                self.release_all(probe.into_iter().chain([user])).await;
                other.map(|_| None)
            }
        }
    }

    pub(crate) async fn call_with(
        &self,
        permits: Permits,
        endpoint: &WebhookEndpoint,
        call: impl Future<Output = EndpointResponse>,
    ) -> EndpointResponse {
        let Permits { user: user_permit, host, probe, has_slow_calls } = permits;
        let limiter = self.limiter();
        let response = limiter.with_permit(user_permit, limiter.with_permit(host, call)).await;
        let recorded = if response.is_time_out() {
            self.store.record_slow_call(&endpoint_subject(endpoint), self.clock.now()).await
        } else if has_slow_calls {
            self.store.clear_slow_calls(&endpoint_subject(endpoint)).await
        } else {
            Ok(())
        };
        if let Err(error) = recorded {
            tracing::warn!(%error, webhook_id = %endpoint.webhook_id, "slow call of an endpoint not recorded");
        }
        self.release_all(probe).await;
        response
    }

    pub(crate) async fn release_permits(&self, permits: Permits) {
        let Permits { user, host, probe, .. } = permits;
        self.release_all(probe.into_iter().chain([user, host])).await;
    }

    async fn host_permit(
        &self,
        endpoint: &WebhookEndpoint,
        wait_until: DateTime<Utc>,
    ) -> Result<Option<Permit>, StorageError> {
        let host = LimitSubject::host_endpoints(endpoint.url.url().host_str().unwrap_or_default());
        let in_flight = self.store.in_flight_calls(&host).await?;
        self.limiter().acquire(host, in_flight, ENVIRONMENTS_PER_HOST, true, wait_until).await
    }

    async fn release_all(&self, permits: impl IntoIterator<Item = Permit>) {
        for permit in permits {
            self.limiter().release(permit).await;
        }
    }

    fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.store, clock: &self.clock, held_permits: &self.held_permits }
    }
}

fn endpoint_subject(endpoint: &WebhookEndpoint) -> LimitSubject {
    LimitSubject::endpoint(endpoint.user_id, endpoint.webhook_id)
}

#[cfg(test)]
mod tests;
