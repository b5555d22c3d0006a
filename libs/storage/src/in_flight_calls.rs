//! Open calls: which environments are calling platforms for a user, or are
//! calling a host that users named, and how often that host was too slow.
//!
//! An environment that makes several calls at once for the same one holds one
//! place, because all of them together keep that one environment from others.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::LEASE_DURATION;
use domain::id::{UserId, WebhookId};

use crate::error::StorageError;
use crate::item::{Item, at, attributes, n, s, ttl};
use crate::write_outcome::WriteOutcome;
use crate::{Store, Table};

/// Whose calls are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitSubject(String);

impl LimitSubject {
    /// Those made for a user.
    pub fn user(user: UserId) -> Self {
        Self(format!("calls#user#{user}"))
    }

    /// Those made to the webhook endpoints of a user. They are counted apart from publishing, so
    /// that a slow endpoint delays no post.
    pub fn endpoints_of(user: UserId) -> Self {
        Self(format!("calls#endpoints#{user}"))
    }

    /// Those made to the webhook endpoints of all users on a host.
    pub fn endpoints_on(host: &str) -> Self {
        Self(format!("calls#endpoints_on#{host}"))
    }

    /// Those made to a webhook endpoint.
    pub fn endpoint(user: UserId, webhook: WebhookId) -> Self {
        Self(format!("calls#endpoint#{user}#{webhook}"))
    }

    /// Those made to a host that users named.
    pub fn host(name: &str) -> Self {
        Self(format!("calls#host#{name}"))
    }

    /// Those that requests of a user make while the user waits. Deliveries have a
    /// count of their own, so that neither takes a place of the other.
    pub fn requests_of_user(user: UserId) -> Self {
        Self(format!("requests#user#{user}"))
    }

    /// Those that requests make to a host that users named.
    pub fn requests_to_host(name: &str) -> Self {
        Self(format!("requests#host#{name}"))
    }
}

/// The calls that are open, as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InFlightCalls {
    /// When each place ends by itself, by the name of its environment.
    permits: BTreeMap<String, DateTime<Utc>>,
    /// Changes when a place is taken; `None` before the first.
    write_id: Option<u64>,
    /// How often in a row a call was too slow.
    pub slow_calls: u32,
    pub last_slow_call_at: Option<DateTime<Utc>>,
}

impl InFlightCalls {
    /// How many environments other than this one hold a place.
    pub fn others(&self, environment: &str, now: DateTime<Utc>) -> usize {
        self.permits.iter().filter(|(name, ends)| *name != environment && now < **ends).count()
    }

    /// Whether no place was taken within this time: then none will be free soon.
    pub fn are_older_than(&self, age: TimeDelta, now: DateTime<Utc>) -> bool {
        self.permits.values().filter(|it| now < **it).all(|ends| *ends - LEASE_DURATION + age <= now)
    }
}

/// What the name of a place begins with as an attribute.
const PERMIT_PREFIX: &str = "at_";

/// There is one item for each subject.
const NO_MINUTE: i64 = 0;

impl Store {
    /// The calls that are open.
    pub async fn in_flight_calls(&self, of: &LimitSubject) -> Result<InFlightCalls, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(of)))
            .consistent_read(true)
            .send()
            .await?;
        Ok(found.item.as_ref().map(read).unwrap_or_default())
    }

    /// Takes a place for an environment that begins to call, on condition that
    /// nobody took one since `open` was read.
    pub async fn acquire_permit(
        &self,
        of: &LimitSubject,
        open: &InFlightCalls,
        environment: &str,
        now: DateTime<Utc>,
        write_id: u64,
    ) -> Result<WriteOutcome, StorageError> {
        self.take_place_for(LEASE_DURATION, of, open, environment, now, write_id).await
    }

    /// Like [`Store::acquire_permit`], for a place that ends by itself after `lease`.
    pub async fn take_place_for(
        &self,
        lease: TimeDelta,
        of: &LimitSubject,
        open: &InFlightCalls,
        environment: &str,
        now: DateTime<Utc>,
        write_id: u64,
    ) -> Result<WriteOutcome, StorageError> {
        let ends = now + lease;
        let ended = open.permits.iter().filter(|(name, ends)| *name != environment && **ends <= now);
        let ended: Vec<_> = ended.map(|it| attribute(it.0)).collect();
        let names: Vec<_> = (0..ended.len()).map(|it| format!("#ended{it}")).collect();
        let remove = if names.is_empty() { String::new() } else { format!(" REMOVE {}", names.join(", ")) };
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(of)))
            .update_expression(format!("SET #place = :ends, write_id = :write_id, #ttl = :ttl{remove}"))
            .set_expression_attribute_names(Some(names.into_iter().zip(ended).collect()))
            .expression_attribute_names("#place", attribute(environment))
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":ends", at(ends))
            .expression_attribute_values(":ttl", ttl(ends))
            .expression_attribute_values(":write_id", n(write_id));
        // The SDK sends a write again whose answer it did not hear, and then finds
        // its own write_id.
        let update = match open.write_id {
            None => update.condition_expression("attribute_not_exists(write_id) OR write_id = :write_id"),
            Some(read) => update
                .condition_expression("write_id = :read OR write_id = :write_id")
                .expression_attribute_values(":read", n(read)),
        };
        WriteOutcome::from_write(update.send().await)
    }

    /// Adds a place for an environment whose call, begun at `began`, turned out
    /// to be slow, however many there are.
    pub async fn record_permit(
        &self,
        of: &LimitSubject,
        environment: &str,
        began: DateTime<Utc>,
        write_id: u64,
    ) -> Result<(), StorageError> {
        let ends = began + LEASE_DURATION;
        self.client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(of)))
            .update_expression("SET #place = :ends, write_id = :write_id, #ttl = :ttl")
            .expression_attribute_names("#place", attribute(environment))
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":ends", at(ends))
            .expression_attribute_values(":ttl", ttl(ends))
            .expression_attribute_values(":write_id", n(write_id))
            .send()
            .await?;
        Ok(())
    }

    /// Gives back the place of an environment.
    pub async fn release_permit(&self, of: &LimitSubject, environment: &str) -> Result<(), StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(of)))
            // Nothing is made where the item has ended.
            .condition_expression("attribute_exists(subject)")
            .update_expression("REMOVE #place")
            .expression_attribute_names("#place", attribute(environment))
            .send()
            .await;
        WriteOutcome::from_write(update).map(drop)
    }

    /// Notes that a call was too slow.
    pub async fn record_slow_call(&self, of: &LimitSubject, now: DateTime<Utc>) -> Result<(), StorageError> {
        self.client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(of)))
            .update_expression("ADD slow_calls :one SET last_slow_call_at = :now, #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":ttl", ttl(now))
            .send()
            .await?;
        Ok(())
    }

    /// Notes that a call was answered in time.
    pub async fn clear_slow_calls(&self, of: &LimitSubject) -> Result<(), StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(in_flight_calls_key(of)))
            .condition_expression("attribute_exists(subject)")
            .update_expression("REMOVE slow_calls, last_slow_call_at")
            .send()
            .await;
        WriteOutcome::from_write(update).map(drop)
    }
}

pub(crate) fn in_flight_calls_key(of: &LimitSubject) -> Item {
    attributes([("subject", s(of.0.clone())), ("minute", n(NO_MINUTE))])
}

pub(crate) fn read(item: &Item) -> InFlightCalls {
    let number = |name: &str| item.get(name).and_then(|it| it.as_n().ok()?.parse::<u64>().ok());
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
    async fn of_two_that_read_the_same_one_takes_a_place_and_a_place_ends_by_itself() {
        let (store, of) = (store().await, LimitSubject::host("harbour.example"));
        let none = store.in_flight_calls(&of).await.unwrap();
        assert_eq!((none.clone(), none.others("a", noon())), (InFlightCalls::default(), 0));

        assert_eq!(store.acquire_permit(&of, &none, "a", noon(), 1).await.unwrap(), WriteOutcome::Applied);
        assert_eq!(store.acquire_permit(&of, &none, "b", noon(), 2).await.unwrap(), WriteOutcome::Conflict);
        assert_eq!(
            store.acquire_permit(&of, &none, "a", noon(), 1).await.unwrap(),
            WriteOutcome::Applied,
            "sent again"
        );

        let one = store.in_flight_calls(&of).await.unwrap();
        assert_eq!((one.others("a", noon()), one.others("b", noon())), (0, 1));
        assert!(!one.are_older_than(TimeDelta::seconds(1), noon()));
        assert!(one.are_older_than(TimeDelta::seconds(1), noon() + TimeDelta::seconds(1)));
        let over = noon() + LEASE_DURATION;
        assert_eq!(one.others("b", over), 0);
        assert_eq!(store.acquire_permit(&of, &one, "b", over, 3).await.unwrap(), WriteOutcome::Applied);
        let names: Vec<_> = store.in_flight_calls(&of).await.unwrap().permits.into_keys().collect();
        assert_eq!(names, ["b"], "what has ended is not kept");
    }

    #[tokio::test]
    async fn a_slow_call_is_counted_in_any_case_until_it_ends() {
        let (store, of) = (store().await, LimitSubject::user(UserId::new(7).unwrap()));
        let none = store.in_flight_calls(&of).await.unwrap();
        store.release_permit(&of, "a").await.unwrap();
        store.clear_slow_calls(&of).await.unwrap();
        let limits = store.client.scan().table_name(store.table(Table::Limits)).send().await.unwrap();
        assert_eq!(limits.count, 0, "nothing is kept of what never was");
        store.record_permit(&of, "a", noon(), 1).await.unwrap();
        assert_eq!(
            store.acquire_permit(&of, &none, "b", noon(), 2).await.unwrap(),
            WriteOutcome::Conflict,
            "one came meanwhile"
        );
        store.record_permit(&of, "b", noon(), 3).await.unwrap();
        assert_eq!(store.in_flight_calls(&of).await.unwrap().others("c", noon()), 2);

        store.release_permit(&of, "a").await.unwrap();

        assert_eq!(store.in_flight_calls(&of).await.unwrap().others("c", noon()), 1);
    }

    #[tokio::test]
    async fn strikes_are_counted_until_one_call_is_in_time() {
        let (store, of) = (store().await, LimitSubject::host("harbour.example"));
        store.record_slow_call(&of, noon()).await.unwrap();
        store.record_slow_call(&of, noon() + TimeDelta::seconds(1)).await.unwrap();
        let struck = store.in_flight_calls(&of).await.unwrap();
        assert_eq!((struck.slow_calls, struck.last_slow_call_at), (2, Some(noon() + TimeDelta::seconds(1))));

        store.clear_slow_calls(&of).await.unwrap();

        assert_eq!(store.in_flight_calls(&of).await.unwrap().slow_calls, 0);
    }
}
