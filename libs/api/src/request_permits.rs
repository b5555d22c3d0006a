//! Permits for calls to hosts that users name, while the request waits for them.
//!
//! A slow host occupies the environment in which the request runs, and the number of environments
//! is limited. So each user and each host has a number of permits. A permit costs a read and a write
//! for the user and as many for the host, and a write each to release it. A request that is denied
//! because of its user costs one read.

use chrono::TimeDelta;
use domain::id::UserId;
use permits::{ConcurrencyLimiter, HeldPermits};
use storage::{LimitSubject, StorageError};

use crate::Api;
use crate::error::ApiError;
use crate::page::PageError;

/// How long a permit lasts if its process ends before it is released. Functions are stopped after
/// 29 seconds.
const LEASE: TimeDelta = TimeDelta::seconds(30);

/// How often a permit is tried that others acquire at the same moment. Each time one of them gets
/// it, so a limit of ten is reached sooner.
const TRIES: usize = 16;

/// Seconds.
const AGAIN_AFTER: u64 = 5;

/// The longest host name that is counted, in characters. No name that can be resolved is longer.
const MAX_HOST: usize = 255;

#[derive(Debug, thiserror::Error)]
pub enum PermitError {
    #[error("too many calls are in progress")]
    Busy,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Api {
    /// `host` is `None` if no user named it: then the calls need no permit.
    ///
    /// # Errors
    /// If no call was made.
    pub async fn with_permit<T>(
        &self,
        user: UserId,
        host: Option<&str>,
        calls: impl Future<Output = T>,
    ) -> Result<T, PermitError> {
        let Some(host) = host else { return Ok(calls.await) };
        let host: String = host.trim_end_matches('.').to_ascii_lowercase().chars().take(MAX_HOST).collect();
        // Permits are not shared with other requests of this process.
        let held_permits = HeldPermits::new(self.random.clone());
        let limiter = ConcurrencyLimiter { store: &self.store, clock: &self.clock, held_permits: &held_permits };
        let acquire = async |subject, max: u32| {
            let max_permits = usize::try_from(max).unwrap_or(usize::MAX);
            // Boxed, because futures of the SDK are large.
            let acquired = Box::pin(limiter.try_acquire(subject, max_permits, LEASE, TRIES)).await?;
            acquired.ok_or(PermitError::Busy)
        };
        // The permit of the user comes first: a flood of one user must not take the permits of the
        // host.
        let user_permit = acquire(LimitSubject::requests_of_user(user), self.limits.calls_per_user).await?;
        let host_permit = match acquire(LimitSubject::requests_to_host(&host), self.limits.calls_per_host).await {
            Ok(permit) => permit,
            Err(error) => {
                Box::pin(limiter.release(user_permit)).await;
                return Err(error);
            }
        };
        let output = calls.await;
        futures::join!(Box::pin(limiter.release(user_permit)), Box::pin(limiter.release(host_permit)));
        Ok(output)
    }
}

impl From<PermitError> for ApiError {
    fn from(refusal: PermitError) -> Self {
        match refusal {
            PermitError::Busy => Self::TooManyCalls { wait: AGAIN_AFTER },
            PermitError::Storage(error) => error.into(),
        }
    }
}

impl From<PermitError> for PageError {
    fn from(refusal: PermitError) -> Self {
        match refusal {
            PermitError::Busy => Self::too_many_calls(AGAIN_AFTER),
            PermitError::Storage(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use domain::testing::a_user;
    use futures::future::{join_all, pending};
    use http::header::RETRY_AFTER;
    use tokio::sync::oneshot;

    use super::*;
    use crate::testing::api;

    const HOST: Option<&str> = Some("slow.example");

    async fn abandon(api: &Api, user: UserId, host: &str) {
        let (started, call_started) = oneshot::channel();
        let call = async {
            let _ = started.send(());
            pending::<()>().await;
        };
        tokio::select! {
            ended = api.with_permit(user, Some(host), call) => panic!("there is no permit: {ended:?}"),
            _ = call_started => {}
        }
    }

    async fn is_permitted(api: &Api, user: UserId, host: &str) -> bool {
        match api.with_permit(user, Some(host), async {}).await {
            Ok(()) => true,
            Err(PermitError::Busy) => false,
            Err(PermitError::Storage(error)) => panic!("{error}"),
        }
    }

    #[tokio::test]
    async fn user_has_three_permits() {
        let api = api().await;
        let (user, other) = (a_user().user_id, a_user().user_id);
        let gate = tokio::sync::Semaphore::new(0);
        let call = || api.with_permit(user, HOST, async { gate.acquire().await.map(drop) });

        let slow = join_all((0..20).map(|_| call()));
        let meanwhile = async {
            // All twenty have tried once the denied ones are known.
            while !is_permitted(&api, other, "slow.example").await || is_permitted(&api, user, "b.example").await {
                tokio::task::yield_now().await;
            }
            gate.close();
        };
        let (ended, ()) = tokio::join!(slow, meanwhile);

        let busy = ended.iter().filter(|it| matches!(it, Err(PermitError::Busy))).count();
        assert_eq!((ended.len() - busy, busy), (3, 17));
        assert!(is_permitted(&api, user, "slow.example").await, "permits are released");
    }

    #[tokio::test]
    async fn host_has_ten_permits_in_any_spelling() {
        let api = api().await;
        for _ in 0..10 {
            abandon(&api, a_user().user_id, "slow.example").await;
        }
        let user = a_user().user_id;

        for host in ["slow.example", "SLOW.example."] {
            assert!(!is_permitted(&api, user, host).await, "{host}");
        }
        for _ in 0..4 {
            assert!(is_permitted(&api, user, "fast.example").await, "a refusal keeps no permit of the user");
        }
    }

    #[tokio::test]
    async fn permits_of_a_process_that_died_expire() {
        let api = api().await;
        let user = a_user().user_id;
        for host in ["a.example", "b.example", "c.example"] {
            abandon(&api, user, host).await;
        }

        api.clock.advance(LEASE - TimeDelta::seconds(1));
        assert!(!is_permitted(&api, user, "d.example").await);
        api.clock.advance(TimeDelta::seconds(1));
        assert!(is_permitted(&api, user, "d.example").await);
    }

    #[tokio::test]
    async fn requests_and_deliveries_have_separate_permits() {
        let api = api().await;
        let user = a_user().user_id;
        for _ in 0..3 {
            abandon(&api, user, "slow.example").await;
        }

        for of in [LimitSubject::user(user), LimitSubject::host("slow.example")] {
            assert_eq!(api.store.in_flight_calls(&of).await.unwrap().others("", api.clock.now()), 0);
        }
    }

    #[tokio::test]
    async fn a_request_that_names_no_host_needs_no_permit() {
        let api = api().await;
        let user = a_user().user_id;
        for _ in 0..3 {
            abandon(&api, user, "slow.example").await;
        }
        assert_eq!(api.with_permit(user, None, async { 7 }).await.unwrap(), 7);
    }

    #[test]
    fn denied_call_states_when_to_try_again() {
        let refusals =
            [ApiError::from(PermitError::Busy).into_response(), PageError::from(PermitError::Busy).into_response()];
        for refusal in refusals {
            assert_eq!((refusal.status().as_u16(), refusal.headers()[RETRY_AFTER].as_bytes()), (429, &b"5"[..]));
        }
    }
}
