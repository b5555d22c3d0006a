use domain::testing::{a_user, noon};
use storage::testing::store;

use super::*;

#[derive(Clone)]
struct Environment {
    store: Store,
    clock: Clock,
    held_permits: HeldPermits,
}

impl Environment {
    async fn new() -> Self {
        Self { store: store().await, clock: Clock::manual(noon()), held_permits: HeldPermits::new(Random::Os) }
    }

    fn another(&self) -> Self {
        Self { held_permits: HeldPermits::new(Random::Os), ..self.clone() }
    }

    fn limiter(&self) -> ConcurrencyLimiter<'_> {
        ConcurrencyLimiter { store: &self.store, clock: &self.clock, held_permits: &self.held_permits }
    }

    async fn in_flight(&self, subject: &LimitSubject) -> InFlightCalls {
        self.store.in_flight_calls(subject).await.unwrap()
    }

    async fn permits(&self, subject: &LimitSubject) -> usize {
        self.in_flight(subject).await.others("none", self.clock.now())
    }
}

#[tokio::test]
async fn single_call_needs_a_permit_only_if_slow() {
    let environment = Environment::new().await;
    let subject = LimitSubject::user(a_user().user_id);
    let limiter = environment.limiter();
    let acquire = || limiter.acquire(subject.clone(), InFlightCalls::default(), 5, false, noon() + PERMIT_WAIT);

    limiter.with_permit(acquire().await.unwrap().unwrap(), async {}).await;
    assert_eq!(environment.in_flight(&subject).await, InFlightCalls::default());

    let seen = limiter.with_permit(acquire().await.unwrap().unwrap(), async {
        tokio::time::sleep(RECORDED_AFTER + Duration::from_millis(200)).await;
        environment.permits(&subject).await
    });
    assert_eq!(Box::pin(seen).await, 1);
    assert_eq!(environment.permits(&subject).await, 0);
}

#[tokio::test]
async fn permits_of_fast_calls_are_awaited() {
    let environment = Environment::new().await;
    let subject = LimitSubject::user(a_user().user_id);
    environment.store.record_permit(&subject, "other", noon(), 1).await.unwrap();
    let in_flight = environment.in_flight(&subject).await;
    // The permit is released while this one waits for it.
    let limiter = environment.limiter();
    let (permit, _) = tokio::join!(
        limiter.acquire(subject.clone(), in_flight, 1, true, noon() + PERMIT_WAIT),
        environment.store.release_permit(&subject, "other")
    );

    assert!(permit.unwrap().unwrap().stored.is_some());
    assert!(environment.clock.now() < noon() + TimeDelta::seconds(1));
}

#[tokio::test(start_paused = true)]
async fn burst_of_fast_calls_is_not_rescheduled() {
    const PERMITS: usize = 5;
    // Time passes only while all workers wait, so neither a waiting worker nor a busy machine uses
    // up the time of the others.
    let started_at = tokio::time::Instant::now();
    let clock = Clock::from_fn(move || noon() + TimeDelta::from_std(started_at.elapsed()).unwrap());
    let first = Environment { clock, ..Environment::new().await };
    let subject = LimitSubject::user(a_user().user_id);
    let environments: Vec<_> = (0..5 * PERMITS).map(|_| first.another()).collect();

    let calls = environments.iter().map(async |it| {
        let permit = it
            .limiter()
            .acquire(subject.clone(), InFlightCalls::default(), PERMITS, true, noon() + PERMIT_WAIT)
            .await
            .unwrap()?;
        it.limiter().with_permit(permit, tokio::time::sleep(Duration::from_millis(20))).await;
        Some(())
    });
    let called = futures::future::join_all(calls).await;

    assert_eq!(called.into_iter().flatten().count(), environments.len());
}

#[tokio::test]
async fn exclusive_call_gets_the_only_permit_even_in_one_environment() {
    let environment = Environment::new().await;
    let subject = LimitSubject::host("slow.example");
    let limiter = environment.limiter();
    let in_flight = async || environment.in_flight(&subject).await;

    let first = limiter.acquire_exclusive(subject.clone(), &in_flight().await).await.unwrap().unwrap();
    assert!(limiter.acquire_exclusive(subject.clone(), &in_flight().await).await.unwrap().is_none());
    limiter.release(first).await;
    let read = in_flight().await;
    assert!(limiter.acquire_exclusive(subject.clone(), &read).await.unwrap().is_some());
    assert!(limiter.acquire_exclusive(subject.clone(), &read).await.unwrap().is_none(), "another call was faster");
}

#[tokio::test]
async fn call_that_waits_for_no_permit_is_denied_at_the_limit_until_a_lease_ends() {
    let (lease, subject) = (TimeDelta::seconds(30), LimitSubject::host("slow.example"));
    let first = Environment::new().await;
    let other = first.another();
    let acquire = async |it: &Environment| it.limiter().try_acquire(subject.clone(), 1, lease, 3).await.unwrap();

    let abandoned = acquire(&first).await;
    assert!(abandoned.is_some());
    first.clock.advance(lease - TimeDelta::seconds(1));
    assert!(acquire(&other).await.is_none());
    first.clock.advance(TimeDelta::seconds(1));
    let permit = acquire(&other).await.unwrap();
    assert_eq!(first.permits(&subject).await, 1);

    other.limiter().release(permit).await;
    assert_eq!(first.permits(&subject).await, 0);
}

#[tokio::test]
async fn dropped_permit_is_no_longer_counted_in_its_process() {
    let environment = Environment::new().await;
    let subject = LimitSubject::host("slow.example");

    let permit = environment.limiter().acquire(subject, InFlightCalls::default(), 1, true, noon() + PERMIT_WAIT).await;
    drop(permit.unwrap().unwrap());

    assert!(environment.held_permits.all().is_empty());
}
