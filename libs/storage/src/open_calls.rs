//! Open calls: which environments are calling platforms for a user, or are
//! calling a host that users named, and how often that host was too slow.
//!
//! An environment that makes several calls at once for the same one holds one
//! place, because all of them together keep that one environment from others.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::LEASE;
use domain::id::{UserId, WebhookId};

use crate::error::StorageError;
use crate::item::{Item, at, attributes, n, s, ttl};
use crate::race::Race;
use crate::{Store, Table};

/// Whose calls are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallsOf(String);

impl CallsOf {
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
pub struct OpenCalls {
    /// When each place ends by itself, by the name of its environment.
    places: BTreeMap<String, DateTime<Utc>>,
    /// Changes when a place is taken; `None` before the first.
    stamp: Option<u64>,
    /// How often in a row a call was too slow.
    pub strikes: u32,
    /// When that was last so.
    pub struck_at: Option<DateTime<Utc>>,
}

impl OpenCalls {
    /// How many environments other than this one hold a place.
    pub fn others(&self, environment: &str, now: DateTime<Utc>) -> usize {
        self.places.iter().filter(|(name, ends)| *name != environment && now < **ends).count()
    }

    /// Whether no place was taken within this time: then none will be free soon.
    pub fn are_older_than(&self, age: TimeDelta, now: DateTime<Utc>) -> bool {
        self.places.values().filter(|it| now < **it).all(|ends| *ends - LEASE + age <= now)
    }
}

/// What the name of a place begins with as an attribute.
const PLACE: &str = "at_";

/// There is one item for each subject.
const NO_MINUTE: i64 = 0;

impl Store {
    /// The calls that are open.
    pub async fn open_calls(&self, of: &CallsOf) -> Result<OpenCalls, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(open_calls_key(of)))
            .consistent_read(true)
            .send()
            .await?;
        Ok(found.item.as_ref().map(read).unwrap_or_default())
    }

    /// Takes a place for an environment that begins to call, on condition that
    /// nobody took one since `open` was read.
    pub async fn take_place(
        &self,
        of: &CallsOf,
        open: &OpenCalls,
        environment: &str,
        now: DateTime<Utc>,
        stamp: u64,
    ) -> Result<Race, StorageError> {
        self.take_place_for(LEASE, of, open, environment, now, stamp).await
    }

    /// Like [`Store::take_place`], for a place that ends by itself after `lease`.
    pub async fn take_place_for(
        &self,
        lease: TimeDelta,
        of: &CallsOf,
        open: &OpenCalls,
        environment: &str,
        now: DateTime<Utc>,
        stamp: u64,
    ) -> Result<Race, StorageError> {
        let ends = now + lease;
        let ended = open.places.iter().filter(|(name, ends)| *name != environment && **ends <= now);
        let ended: Vec<_> = ended.map(|it| attribute(it.0)).collect();
        let names: Vec<_> = (0..ended.len()).map(|it| format!("#ended{it}")).collect();
        let remove = if names.is_empty() { String::new() } else { format!(" REMOVE {}", names.join(", ")) };
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(open_calls_key(of)))
            .update_expression(format!("SET #place = :ends, stamp = :stamp, #ttl = :ttl{remove}"))
            .set_expression_attribute_names(Some(names.into_iter().zip(ended).collect()))
            .expression_attribute_names("#place", attribute(environment))
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":ends", at(ends))
            .expression_attribute_values(":ttl", ttl(ends))
            .expression_attribute_values(":stamp", n(stamp));
        // The SDK sends a write again whose answer it did not hear, and then finds
        // its own stamp.
        let update = match open.stamp {
            None => update.condition_expression("attribute_not_exists(stamp) OR stamp = :stamp"),
            Some(read) => update
                .condition_expression("stamp = :read OR stamp = :stamp")
                .expression_attribute_values(":read", n(read)),
        };
        Race::of(update.send().await)
    }

    /// Adds a place for an environment whose call, begun at `began`, turned out
    /// to be slow, however many there are.
    pub async fn add_place(
        &self,
        of: &CallsOf,
        environment: &str,
        began: DateTime<Utc>,
        stamp: u64,
    ) -> Result<(), StorageError> {
        let ends = began + LEASE;
        self.client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(open_calls_key(of)))
            .update_expression("SET #place = :ends, stamp = :stamp, #ttl = :ttl")
            .expression_attribute_names("#place", attribute(environment))
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":ends", at(ends))
            .expression_attribute_values(":ttl", ttl(ends))
            .expression_attribute_values(":stamp", n(stamp))
            .send()
            .await?;
        Ok(())
    }

    /// Gives back the place of an environment.
    pub async fn give_back_place(&self, of: &CallsOf, environment: &str) -> Result<(), StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(open_calls_key(of)))
            // Nothing is made where the item has ended.
            .condition_expression("attribute_exists(subject)")
            .update_expression("REMOVE #place")
            .expression_attribute_names("#place", attribute(environment))
            .send()
            .await;
        Race::of(update).map(drop)
    }

    /// Notes that a call was too slow.
    pub async fn strike(&self, of: &CallsOf, now: DateTime<Utc>) -> Result<(), StorageError> {
        self.client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(open_calls_key(of)))
            .update_expression("ADD strikes :one SET struck_at = :now, #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":ttl", ttl(now))
            .send()
            .await?;
        Ok(())
    }

    /// Notes that a call was answered in time.
    pub async fn forget_strikes(&self, of: &CallsOf) -> Result<(), StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(open_calls_key(of)))
            .condition_expression("attribute_exists(subject)")
            .update_expression("REMOVE strikes, struck_at")
            .send()
            .await;
        Race::of(update).map(drop)
    }
}

pub(crate) fn open_calls_key(of: &CallsOf) -> Item {
    attributes([("subject", s(of.0.clone())), ("minute", n(NO_MINUTE))])
}

pub(crate) fn read(item: &Item) -> OpenCalls {
    let number = |name: &str| item.get(name).and_then(|it| it.as_n().ok()?.parse::<u64>().ok());
    let instant = |name: &str| DateTime::from_timestamp_millis(i64::try_from(number(name)?).ok()?);
    OpenCalls {
        places: item.keys().filter_map(|name| Some((name.strip_prefix(PLACE)?.to_owned(), instant(name)?))).collect(),
        stamp: number("stamp"),
        strikes: number("strikes").and_then(|it| it.try_into().ok()).unwrap_or_default(),
        struck_at: instant("struck_at"),
    }
}

fn attribute(environment: &str) -> String {
    format!("{PLACE}{environment}")
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn of_two_that_read_the_same_one_takes_a_place_and_a_place_ends_by_itself() {
        let (store, of) = (store().await, CallsOf::host("harbour.example"));
        let none = store.open_calls(&of).await.unwrap();
        assert_eq!((none.clone(), none.others("a", noon())), (OpenCalls::default(), 0));

        assert_eq!(store.take_place(&of, &none, "a", noon(), 1).await.unwrap(), Race::Won);
        assert_eq!(store.take_place(&of, &none, "b", noon(), 2).await.unwrap(), Race::Lost);
        assert_eq!(store.take_place(&of, &none, "a", noon(), 1).await.unwrap(), Race::Won, "sent again");

        let one = store.open_calls(&of).await.unwrap();
        assert_eq!((one.others("a", noon()), one.others("b", noon())), (0, 1));
        assert!(!one.are_older_than(TimeDelta::seconds(1), noon()));
        assert!(one.are_older_than(TimeDelta::seconds(1), noon() + TimeDelta::seconds(1)));
        let over = noon() + LEASE;
        assert_eq!(one.others("b", over), 0);
        assert_eq!(store.take_place(&of, &one, "b", over, 3).await.unwrap(), Race::Won);
        let names: Vec<_> = store.open_calls(&of).await.unwrap().places.into_keys().collect();
        assert_eq!(names, ["b"], "what has ended is not kept");
    }

    #[tokio::test]
    async fn a_slow_call_is_counted_in_any_case_until_it_ends() {
        let (store, of) = (store().await, CallsOf::user(UserId::new(7).unwrap()));
        let none = store.open_calls(&of).await.unwrap();
        store.give_back_place(&of, "a").await.unwrap();
        store.forget_strikes(&of).await.unwrap();
        let limits = store.client.scan().table_name(store.table(Table::Limits)).send().await.unwrap();
        assert_eq!(limits.count, 0, "nothing is kept of what never was");
        store.add_place(&of, "a", noon(), 1).await.unwrap();
        assert_eq!(store.take_place(&of, &none, "b", noon(), 2).await.unwrap(), Race::Lost, "one came meanwhile");
        store.add_place(&of, "b", noon(), 3).await.unwrap();
        assert_eq!(store.open_calls(&of).await.unwrap().others("c", noon()), 2);

        store.give_back_place(&of, "a").await.unwrap();

        assert_eq!(store.open_calls(&of).await.unwrap().others("c", noon()), 1);
    }

    #[tokio::test]
    async fn strikes_are_counted_until_one_call_is_in_time() {
        let (store, of) = (store().await, CallsOf::host("harbour.example"));
        store.strike(&of, noon()).await.unwrap();
        store.strike(&of, noon() + TimeDelta::seconds(1)).await.unwrap();
        let struck = store.open_calls(&of).await.unwrap();
        assert_eq!((struck.strikes, struck.struck_at), (2, Some(noon() + TimeDelta::seconds(1))));

        store.forget_strikes(&of).await.unwrap();

        assert_eq!(store.open_calls(&of).await.unwrap().strikes, 0);
    }
}
