//! In-flight calls: which Lambda environments are calling platforms for a user, or a host that users
//! name, and how many calls to that host in a row were slow.
//!
//! An environment that makes several calls for the same subject holds one permit, because together
//! they occupy this one environment.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::LEASE_DURATION;
use domain::id::{ProfileId, UserId, WebhookId};

use crate::error::StorageError;
use crate::item::{Item, at, attributes, n, number, s, ttl};
use crate::write_outcome::WriteOutcome;
use crate::{Store, Table};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitSubject(String);

impl LimitSubject {
    pub fn user(user: UserId) -> Self {
        Self(format!("calls#user#{user}"))
    }

    /// Calls to platforms for a profile, which are also calls for its user.
    pub fn profile(user: UserId, profile: ProfileId) -> Self {
        Self(format!("calls#profile#{user}#{profile}"))
    }

    /// Calls to the webhook endpoints of a user, counted separately from publishing, so that a
    /// slow endpoint delays no post.
    pub fn user_endpoints(user: UserId) -> Self {
        Self(format!("calls#endpoints#{user}"))
    }

    /// Calls to the webhook endpoints of all users on a host.
    pub fn host_endpoints(host: &str) -> Self {
        Self(format!("calls#endpoints_on#{host}"))
    }

    pub fn endpoint(user: UserId, webhook: WebhookId) -> Self {
        Self(format!("calls#endpoint#{user}#{webhook}"))
    }

    pub fn host(name: &str) -> Self {
        Self(format!("calls#host#{name}"))
    }

    /// Calls during requests of a user, while the user waits. Deliveries are counted separately, so
    /// that neither uses permits of the other.
    pub fn requests_of_user(user: UserId) -> Self {
        Self(format!("requests#user#{user}"))
    }

    pub fn requests_to_host(name: &str) -> Self {
        Self(format!("requests#host#{name}"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InFlightCalls {
    /// When each permit expires, by the name of its environment.
    permits: BTreeMap<String, DateTime<Utc>>,
    /// Changes when a permit is acquired; `None` before the first.
    write_id: Option<u64>,
    pub slow_calls: u32,
    pub last_slow_call_at: Option<DateTime<Utc>>,
}

impl InFlightCalls {
    pub fn others(&self, environment: &str, now: DateTime<Utc>) -> usize {
        self.permits.iter().filter(|(name, ends)| *name != environment && now < **ends).count()
    }

    /// If no permit was acquired within this time, none will be released soon. For permits that
    /// expire after [`LEASE_DURATION`].
    pub fn are_older_than(&self, age: TimeDelta, now: DateTime<Utc>) -> bool {
        self.permits.values().filter(|it| now < **it).all(|ends| *ends - LEASE_DURATION + age <= now)
    }
}

const PERMIT_PREFIX: &str = "at_";

/// There is one item per subject, not per minute.
const NO_MINUTE: i64 = 0;

impl Store {
    pub async fn in_flight_calls(&self, subject: &LimitSubject) -> Result<InFlightCalls, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(subject)))
            .consistent_read(true)
            .send()
            .await?;
        Ok(found.item.as_ref().map(read).unwrap_or_default())
    }

    /// On condition that no permit was acquired since `in_flight` was read.
    pub async fn acquire_permit(
        &self,
        subject: &LimitSubject,
        in_flight: &InFlightCalls,
        environment: &str,
        lease: TimeDelta,
        now: DateTime<Utc>,
        write_id: u64,
    ) -> Result<WriteOutcome, StorageError> {
        let expires_at = now + lease;
        let expired = in_flight.permits.iter().filter(|(name, ends)| *name != environment && **ends <= now);
        let expired: Vec<_> = expired.map(|it| attribute(it.0)).collect();
        let names: Vec<_> = (0..expired.len()).map(|it| format!("#expired{it}")).collect();
        let remove = if names.is_empty() { String::new() } else { format!(" REMOVE {}", names.join(", ")) };
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(subject)))
            .update_expression(format!("SET #permit = :ends, write_id = :write_id, #ttl = :ttl{remove}"))
            .set_expression_attribute_names(Some(names.into_iter().zip(expired).collect()))
            .expression_attribute_names("#permit", attribute(environment))
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":ends", at(expires_at))
            .expression_attribute_values(":ttl", ttl(expires_at))
            .expression_attribute_values(":write_id", n(write_id));
        // When a response is lost, the SDK repeats the write and finds its own write_id.
        let update = match in_flight.write_id {
            None => update.condition_expression("attribute_not_exists(write_id) OR write_id = :write_id"),
            Some(read) => update
                .condition_expression("write_id = :read OR write_id = :write_id")
                .expression_attribute_values(":read", n(read)),
        };
        WriteOutcome::from_write(update.send().await)
    }

    /// Adds a permit, without a limit, for an environment whose call, started at `began`, turned out
    /// to be slow.
    pub async fn record_permit(
        &self,
        subject: &LimitSubject,
        environment: &str,
        began_at: DateTime<Utc>,
        write_id: u64,
    ) -> Result<(), StorageError> {
        let expires_at = began_at + LEASE_DURATION;
        self.client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(subject)))
            .update_expression("SET #permit = :ends, write_id = :write_id, #ttl = :ttl")
            .expression_attribute_names("#permit", attribute(environment))
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":ends", at(expires_at))
            .expression_attribute_values(":ttl", ttl(expires_at))
            .expression_attribute_values(":write_id", n(write_id))
            .send()
            .await?;
        Ok(())
    }

    pub async fn release_permit(&self, subject: &LimitSubject, environment: &str) -> Result<(), StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(subject)))
            // Does not create an item that has expired.
            .condition_expression("attribute_exists(subject)")
            .update_expression("REMOVE #permit")
            .expression_attribute_names("#permit", attribute(environment))
            .send()
            .await;
        WriteOutcome::from_write(update).map(drop)
    }

    pub async fn record_slow_call(&self, subject: &LimitSubject, now: DateTime<Utc>) -> Result<(), StorageError> {
        self.client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(subject)))
            .update_expression("ADD slow_calls :one SET last_slow_call_at = :now, #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":ttl", ttl(now))
            .send()
            .await?;
        Ok(())
    }

    pub async fn clear_slow_calls(&self, subject: &LimitSubject) -> Result<(), StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(subject)))
            .condition_expression("attribute_exists(subject)")
            .update_expression("REMOVE slow_calls, last_slow_call_at")
            .send()
            .await;
        WriteOutcome::from_write(update).map(drop)
    }
}

pub(crate) fn in_flight_calls_key(subject: &LimitSubject) -> Item {
    attributes([("subject", s(subject.0.clone())), ("minute", n(NO_MINUTE))])
}

pub(crate) fn read(item: &Item) -> InFlightCalls {
    let number = |name: &str| number(item, name);
    let instant = |name: &str| DateTime::from_timestamp_millis(i64::try_from(number(name)?).ok()?);
    InFlightCalls {
        permits: item
            .keys()
            .filter_map(|name| Some((name.strip_prefix(PERMIT_PREFIX)?.to_owned(), instant(name)?)))
            .collect(),
        write_id: number("write_id"),
        slow_calls: number("slow_calls").and_then(|it| it.try_into().ok()).unwrap_or_default(),
        last_slow_call_at: instant("last_slow_call_at"),
    }
}

fn attribute(environment: &str) -> String {
    format!("{PERMIT_PREFIX}{environment}")
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn one_of_two_concurrent_callers_gets_a_permit_and_permits_expire() {
        let (store, subject) = (store().await, LimitSubject::host("harbour.example"));
        let none = store.in_flight_calls(&subject).await.unwrap();
        assert_eq!((none.clone(), none.others("a", noon())), (InFlightCalls::default(), 0));

        assert_eq!(
            store.acquire_permit(&subject, &none, "a", LEASE_DURATION, noon(), 1).await.unwrap(),
            WriteOutcome::Applied
        );
        assert_eq!(
            store.acquire_permit(&subject, &none, "b", LEASE_DURATION, noon(), 2).await.unwrap(),
            WriteOutcome::Conflict
        );
        assert_eq!(
            store.acquire_permit(&subject, &none, "a", LEASE_DURATION, noon(), 1).await.unwrap(),
            WriteOutcome::Applied,
            "sent again"
        );

        let one = store.in_flight_calls(&subject).await.unwrap();
        assert_eq!((one.others("a", noon()), one.others("b", noon())), (0, 1));
        assert!(!one.are_older_than(TimeDelta::seconds(1), noon()));
        assert!(one.are_older_than(TimeDelta::seconds(1), noon() + TimeDelta::seconds(1)));
        let over = noon() + LEASE_DURATION;
        assert_eq!(one.others("b", over), 0);
        assert_eq!(
            store.acquire_permit(&subject, &one, "b", LEASE_DURATION, over, 3).await.unwrap(),
            WriteOutcome::Applied
        );
        let names: Vec<_> = store.in_flight_calls(&subject).await.unwrap().permits.into_keys().collect();
        assert_eq!(names, ["b"], "expired permits are removed");
    }

    #[tokio::test]
    async fn slow_call_holds_a_permit_without_limit() {
        let (store, subject) = (store().await, LimitSubject::user(UserId::new(7).unwrap()));
        let none = store.in_flight_calls(&subject).await.unwrap();
        store.release_permit(&subject, "a").await.unwrap();
        store.clear_slow_calls(&subject).await.unwrap();
        let limits = store.client.scan().table_name(store.table(Table::Limits)).send().await.unwrap();
        assert_eq!(limits.count, 0, "no item is created");
        store.record_permit(&subject, "a", noon(), 1).await.unwrap();
        assert_eq!(
            store.acquire_permit(&subject, &none, "b", LEASE_DURATION, noon(), 2).await.unwrap(),
            WriteOutcome::Conflict,
            "another permit was recorded meanwhile"
        );
        store.record_permit(&subject, "b", noon(), 3).await.unwrap();
        assert_eq!(store.in_flight_calls(&subject).await.unwrap().others("c", noon()), 2);

        store.release_permit(&subject, "a").await.unwrap();

        assert_eq!(store.in_flight_calls(&subject).await.unwrap().others("c", noon()), 1);
    }

    #[tokio::test]
    async fn slow_calls_are_counted_until_a_call_is_in_time() {
        let (store, subject) = (store().await, LimitSubject::host("harbour.example"));
        store.record_slow_call(&subject, noon()).await.unwrap();
        store.record_slow_call(&subject, noon() + TimeDelta::seconds(1)).await.unwrap();
        let read = store.in_flight_calls(&subject).await.unwrap();
        assert_eq!((read.slow_calls, read.last_slow_call_at), (2, Some(noon() + TimeDelta::seconds(1))));

        store.clear_slow_calls(&subject).await.unwrap();

        assert_eq!(store.in_flight_calls(&subject).await.unwrap().slow_calls, 0);
    }
}
