//! Limits on entering user codes. There are 25 billion codes; without a limit, an attacker could find
//! one of another user's device.

use api::ClientIp;
use chrono::{DateTime, TimeDelta, Utc};
use cloud::audit::{self, Event};
use domain::device_grant::{DecisionError, DeviceGrant};
use domain::id::UserId;
use domain::token::UserCode;
use storage::{StorageError, Store};

/// Wrong entries are counted for this long from the first one.
const WINDOW: TimeDelta = TimeDelta::minutes(15);

const MAX_OF_USER: u32 = 5;

/// Many people may share an address, each with entries of their own.
const MAX_OF_ADDRESS: u32 = 50;

/// While a thousand codes are open, that many guesses hit one of them in one window of 25,000.
const MAX_OF_EVERYONE: u32 = 1000;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// A device that awaits a decision, and the hash of its device code.
    Waiting(String, DeviceGrant),
    Used,
    Expired,
    Wrong,
    /// Too many wrong entries; the code was not looked up.
    Locked {
        until: DateTime<Utc>,
    },
}

/// The entry is counted before the look-up and uncounted if the code was right. Otherwise concurrent
/// entries could exceed the limit.
pub(crate) async fn enter(
    store: &Store,
    user: UserId,
    ip: ClientIp,
    typed: &str,
    now: DateTime<Utc>,
) -> Result<Entry, StorageError> {
    // Counted one after the other, so that an entry over the user's limit does not count for others
    // with this IP address.
    let counters = [
        (format!("codes#user#{user}"), MAX_OF_USER),
        (format!("codes#{}", ip.subject()), MAX_OF_ADDRESS),
        ("codes#everyone".to_owned(), MAX_OF_EVERYONE),
    ];
    let mut counted = Vec::with_capacity(counters.len());
    for (subject, limit) in &counters {
        let entries = store.count_entry(subject, WINDOW, now).await?;
        if *limit < entries.count {
            uncount(store, &counted).await?;
            audit::Entry::new(Event::LockedOut).user(user).address(ip.0).write();
            return Ok(Entry::Locked { until: entries.window_ends });
        }
        counted.push((subject.as_str(), entries.window_ends));
    }

    let Some(code) = UserCode::parse(typed) else {
        return Ok(Entry::Wrong);
    };
    let Some((hash, device)) = store.device_by_user_code(&code.hash()).await? else {
        return Ok(Entry::Wrong);
    };
    uncount(store, &counted).await?;
    Ok(match device.check_undecided(now) {
        Ok(()) => Entry::Waiting(hash, device),
        Err(error) => error.into(),
    })
}

impl From<DecisionError> for Entry {
    fn from(error: DecisionError) -> Self {
        match error {
            DecisionError::Decided => Self::Used,
            DecisionError::Expired => Self::Expired,
        }
    }
}

async fn uncount(store: &Store, counted: &[(&str, DateTime<Utc>)]) -> Result<(), StorageError> {
    let undone = counted.iter().map(|(subject, window_ends)| store.uncount_entry(subject, *window_ends));
    futures::future::try_join_all(undone).await.map(drop)
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::testing::service;

    const IP: [ClientIp; 2] = [
        ClientIp(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1))),
        ClientIp(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2))),
    ];

    fn user(number: u64) -> UserId {
        UserId::new(number).unwrap()
    }

    #[tokio::test]
    async fn five_wrong_codes_block_a_right_one_for_fifteen_minutes() {
        let service = service().await;
        let store = &service.store;
        for _ in 0..5 {
            assert_eq!(enter(store, user(1), IP[0], "BBBB-BBBB", noon()).await.unwrap(), Entry::Wrong);
        }
        let device = service.device().await;
        let enter = async |now| enter(store, user(1), IP[1], &device.user_code, now).await.unwrap();

        let until = noon() + WINDOW;
        assert_eq!(enter(noon()).await, Entry::Locked { until });
        assert_eq!(enter(until - TimeDelta::milliseconds(1)).await, Entry::Locked { until });
        assert!(matches!(enter(until).await, Entry::Expired), "the device's own 15 minutes are over too");
    }

    #[tokio::test]
    async fn address_is_limited_after_ten_users_with_five_errors_each() {
        let service = service().await;
        let device = service.device().await;
        for number in 1..=10 {
            for _ in 0..5 {
                let entry = enter(&service.store, user(number), IP[0], "no code", noon()).await.unwrap();
                assert_eq!(entry, Entry::Wrong, "{number}");
            }
        }
        let enter = async |by, ip| enter(&service.store, user(by), ip, &device.user_code, noon()).await.unwrap();

        assert!(matches!(enter(11, IP[0]).await, Entry::Locked { .. }));
        assert!(matches!(enter(11, IP[1]).await, Entry::Waiting(..)));
    }

    #[tokio::test]
    async fn limited_user_does_not_count_for_the_address() {
        let service = service().await;
        let (store, device) = (&service.store, service.device().await);
        for _ in 0..3 {
            let entries = (0..60).map(|_| enter(store, user(1), IP[0], "BBBB-BBBB", noon()));
            futures::future::join_all(entries).await;
        }
        let other = enter(store, user(2), IP[0], &device.user_code, noon()).await.unwrap();
        assert!(matches!(other, Entry::Waiting(..)), "{other:?}");
    }

    #[tokio::test]
    async fn right_codes_are_not_counted() {
        let service = service().await;
        let device = service.device().await;
        for _ in 0..20 {
            let entry = enter(&service.store, user(1), IP[0], &device.user_code, noon()).await.unwrap();
            assert!(matches!(entry, Entry::Waiting(..)), "{entry:?}");
        }
    }

    #[tokio::test]
    async fn concurrent_wrong_codes_cannot_exceed_the_limit() {
        let service = service().await;
        let entries = (0..20).map(|_| enter(&service.store, user(1), IP[0], "BBBB-BBBB", noon()));

        let entries = futures::future::join_all(entries).await;

        let looked_up = entries.into_iter().filter(|it| matches!(it, Ok(Entry::Wrong))).count();
        assert_eq!(looked_up, 5);
    }
}
