//! Permits to call hosts that users named. A host with repeated slow calls gets one call at a time.

use std::time::Duration;

use permits::{PERMIT_WAIT, Permit};
use storage::{LimitSubject, StorageError};

use crate::Publishing;
use crate::concurrency_limits::{SLOW_CALL, is_slow};

/// For a host whose last calls were slow.
const SLOW_HOST_TIMEOUT: Duration = Duration::from_secs(10);

/// Hosts in the code or in the settings need no permit; hosts that users name do.
#[derive(Debug, Default)]
pub(crate) struct HostPermit(Option<LimitedHost>);

#[derive(Debug)]
struct LimitedHost {
    permit: Permit,
    /// Set if the host had too many slow calls.
    within: Option<Duration>,
    has_slow_calls: bool,
}

impl Publishing {
    /// `None` if no permit is free.
    pub(crate) async fn acquire_host_permit(&self, host: Option<String>) -> Result<Option<HostPermit>, StorageError> {
        let Some(host) = host else { return Ok(Some(HostPermit::default())) };
        let subject = LimitSubject::host(&host);
        let in_flight = self.store.in_flight_calls(&subject).await?;
        let now = self.clock.now();
        let is_slow = is_slow(&in_flight, now);
        let max_permits = if is_slow { 1 } else { self.concurrency_limits.permits() };
        let has_slow_calls = 0 < in_flight.slow_calls;
        let permit = self.limiter().acquire(subject, in_flight, max_permits, is_slow, now + PERMIT_WAIT).await?;
        let timeout = is_slow.then_some(SLOW_HOST_TIMEOUT);
        Ok(permit.map(|permit| HostPermit(Some(LimitedHost { permit, within: timeout, has_slow_calls }))))
    }

    /// `None` if the call exceeded its timeout. A call that took too long is recorded as slow if
    /// `is_counted` returns true.
    pub(crate) async fn with_host_permit<T>(
        &self,
        host: HostPermit,
        call: impl Future<Output = T>,
        is_counted: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let HostPermit(Some(LimitedHost { permit, within: timeout, has_slow_calls })) = host else {
            return Some(call.await);
        };
        let (subject, began_at) = (permit.subject().clone(), self.clock.now());
        let timed = async {
            let ended = match timeout {
                Some(timeout) => tokio::time::timeout(timeout, call).await.ok(),
                None => Some(call.await),
            };
            (ended, self.clock.now())
        };
        let (ended, ended_at) = self.limiter().with_permit(permit, timed).await;
        let recorded = if began_at + SLOW_CALL <= ended_at {
            if ended.as_ref().is_none_or(is_counted) {
                self.store.record_slow_call(&subject, ended_at).await
            } else {
                Ok(())
            }
        } else if has_slow_calls {
            self.store.clear_slow_calls(&subject).await
        } else {
            Ok(())
        };
        if let Err(error) = recorded {
            tracing::warn!(%error, "slow call of a host not recorded");
        }
        ended
    }

    pub(crate) async fn release_host_permit(&self, host: HostPermit) {
        if let Some(limited) = host.0 {
            self.limiter().release(limited.permit).await;
        }
    }
}

#[cfg(test)]
mod tests;
