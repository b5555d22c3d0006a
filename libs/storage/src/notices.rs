//! Notices: events on their way to endpoints, and the index of those that
//! somebody must look at.

use aws_sdk_dynamodb::types::Select;
use chrono::{DateTime, Utc};
use domain::id::{UserId, WebhookId};
use domain::webhook::{KEPT_FOR, MessageId, Notice, NoticeName, NoticeState};

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, s, to_item, ttl};
use crate::open_calls::{self, CallsOf, OpenCalls, open_calls_key};
use crate::outbox::spread;
use crate::race::Race;
use crate::schema::Table;
use crate::webhooks::{self, EndpointRecord};

/// An entry of the due index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueNotice {
    /// Which.
    pub name: NoticeName,
    /// When its next attempt is to be made.
    pub look_at: DateTime<Utc>,
    due_at: DateTime<Utc>,
}

/// What a worker has to know before it makes an attempt.
#[derive(Debug)]
pub struct NoticeWork {
    /// The notice; `None` when it was removed.
    pub notice: Option<Notice>,
    /// Its endpoint; `None` when it was deleted.
    pub endpoint: Option<EndpointRecord>,
    /// The calls that are open to endpoints of its user.
    pub open_for_user: OpenCalls,
    /// The call that is open to its endpoint where calls to it timed out, and how often in a
    /// row they did.
    pub open_to_endpoint: OpenCalls,
}

/// A place in the list of an endpoint's notices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticePlace {
    /// When the notice there was made.
    pub created_at: DateTime<Utc>,
    /// Its event.
    pub message_id: MessageId,
}

impl Store {
    /// Adds a notice. Lost when the endpoint has one of this event already.
    pub async fn add_notice(&self, notice: &Notice) -> Result<Race, StorageError> {
        let put = self
            .client
            .put_item()
            .table_name(self.table(Table::Notices))
            .set_item(Some(self.notice_item(notice)?))
            .condition_expression("attribute_not_exists(notice)")
            .send()
            .await;
        Race::of(put)
    }

    /// A notice and its endpoint, in one call.
    pub async fn notice_and_endpoint(
        &self,
        name: &NoticeName,
    ) -> Result<(Option<Notice>, Option<EndpointRecord>), StorageError> {
        let endpoint = webhooks::key(name.user_id, name.webhook_id);
        let mut found = self.batch_get(vec![(Table::Notices, key(name)), (Table::Webhooks, endpoint)]).await?;
        let mut take = |table| found.remove(&table).and_then(|mut it| it.pop());
        let notice = take(Table::Notices).map(from_item).transpose()?;
        Ok((notice, take(Table::Webhooks).map(webhooks::read).transpose()?))
    }

    /// Everything for an attempt, in one call.
    pub async fn notice_work(&self, name: &NoticeName) -> Result<NoticeWork, StorageError> {
        let (user, webhook) = (name.user_id, name.webhook_id);
        let of_user = open_calls_key(&CallsOf::endpoints_of(user));
        let of_endpoint = open_calls_key(&CallsOf::endpoint(user, webhook));
        let keys = vec![
            (Table::Notices, key(name)),
            (Table::Webhooks, webhooks::key(user, webhook)),
            (Table::Limits, of_user.clone()),
            (Table::Limits, of_endpoint.clone()),
        ];
        let mut found = self.batch_get(keys).await?;
        let limits = found.remove(&Table::Limits).unwrap_or_default();
        let open = |key: &Item| {
            let item = limits.iter().find(|it| it.get("subject") == key.get("subject"));
            item.map(open_calls::read).unwrap_or_default()
        };
        let mut take = |table| found.remove(&table).and_then(|mut it| it.pop());
        Ok(NoticeWork {
            notice: take(Table::Notices).map(from_item).transpose()?,
            endpoint: take(Table::Webhooks).map(webhooks::read).transpose()?,
            open_for_user: open(&of_user),
            open_to_endpoint: open(&of_endpoint),
        })
    }

    /// The notices of an endpoint that wait beyond the newest `most`, at most `limit` of them,
    /// the newest first. One that was added or has ended within the last moment may be missing,
    /// or still be there.
    pub async fn surplus_notices(
        &self,
        user: UserId,
        webhook: WebhookId,
        most: u32,
        limit: u32,
    ) -> Result<Vec<NoticeName>, StorageError> {
        let waiting = || {
            self.client
                .query()
                .table_name(self.table(Table::Notices))
                .index_name("waiting")
                .key_condition_expression("waits_for = :endpoint")
                .expression_attribute_values(":endpoint", s(endpoint_name(user, webhook)))
                .scan_index_forward(false)
        };
        let (mut start, mut left) = (None, most);
        // A page ends at a megabyte.
        while 0 < left {
            let page = waiting().select(Select::Count).set_exclusive_start_key(start);
            let page = page.limit(i32::try_from(left).unwrap_or(i32::MAX)).send().await?;
            left = left.saturating_sub(u32::try_from(page.count).unwrap_or(0));
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(Vec::new());
            }
        }
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let surplus = waiting().set_exclusive_start_key(start).limit(limit).send().await?;
        Ok(surplus.items.unwrap_or_default().iter().filter_map(named).collect())
    }

    /// Writes a notice over the one that was read.
    pub async fn swap_notice(&self, before: &Notice, after: &Notice) -> Result<Race, StorageError> {
        let put = self
            .client
            .put_item()
            .table_name(self.table(Table::Notices))
            .set_item(Some(self.notice_item(after)?))
            .condition_expression("stamp = :stamp")
            .expression_attribute_values(":stamp", n(before.stamp))
            .send()
            .await;
        Race::of(put)
    }

    /// Removes a notice whose endpoint is gone.
    pub async fn remove_notice(&self, name: &NoticeName) -> Result<(), StorageError> {
        self.client.delete_item().table_name(self.table(Table::Notices)).set_key(Some(key(name))).send().await?;
        Ok(())
    }

    /// The notices of an endpoint, the newest first, from this place on and without
    /// it; at most `limit`, and the place where the next begin.
    pub async fn notices(
        &self,
        user: UserId,
        webhook: WebhookId,
        from: Option<&NoticePlace>,
        limit: u32,
    ) -> Result<(Vec<Notice>, Option<NoticePlace>), StorageError> {
        let endpoint = endpoint_name(user, webhook);
        let start = from.map(|it| {
            let name = NoticeName { user_id: user, webhook_id: webhook, message_id: it.message_id.clone() };
            let mut start = key(&name);
            start.extend(attributes([("endpoint", s(&endpoint)), ("created_at", at(it.created_at))]));
            start
        });
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Notices))
            .index_name("by_endpoint")
            .key_condition_expression("#endpoint = :endpoint")
            .expression_attribute_names("#endpoint", "endpoint")
            .expression_attribute_values(":endpoint", s(endpoint))
            .scan_index_forward(false)
            .set_exclusive_start_key(start)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await?;
        let next = found.last_evaluated_key.as_ref().and_then(place);
        let names = found.items.unwrap_or_default();
        let keys = names.iter().filter_map(|it| Some((Table::Notices, key(&named(it)?)))).collect();
        let found = self.batch_get(keys).await?.remove(&Table::Notices).unwrap_or_default();
        let mut notices: Vec<Notice> = found.into_iter().map(from_item).collect::<Result<_, _>>()?;
        notices.sort_by(|one, other| (other.created_at, &other.message.id).cmp(&(one.created_at, &one.message.id)));
        Ok((notices, next))
    }

    /// What stands in one shard of the due index by then, the oldest first, at most
    /// `limit`.
    pub async fn due_notices(
        &self,
        shard: u32,
        until: DateTime<Utc>,
        limit: i32,
    ) -> Result<Vec<DueNotice>, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Notices))
            .index_name("due")
            .key_condition_expression("due_shard = :shard AND due_at <= :until")
            .expression_attribute_values(":shard", s(format!("due#{shard}")))
            .expression_attribute_values(":until", at(until))
            .limit(limit)
            .send()
            .await?;
        Ok(found.items.unwrap_or_default().iter().filter_map(due).collect())
    }

    /// Moves an entry of the due index, unless it has moved since it was read.
    pub async fn move_due_notice(&self, due: &DueNotice, to: DateTime<Utc>) -> Result<Race, StorageError> {
        let moved = self
            .client
            .update_item()
            .table_name(self.table(Table::Notices))
            .set_key(Some(key(&due.name)))
            .update_expression("SET due_at = :to")
            .condition_expression("due_at = :from")
            .expression_attribute_values(":to", at(to))
            .expression_attribute_values(":from", at(due.due_at))
            .send()
            .await;
        Race::of(moved)
    }

    fn notice_item(&self, notice: &Notice) -> Result<Item, StorageError> {
        let name = notice.name();
        let mut item = to_item(notice)?;
        item.extend(key(&name));
        item.insert("endpoint".to_owned(), s(endpoint_name(name.user_id, name.webhook_id)));
        item.insert("ttl".to_owned(), ttl(notice.created_at + KEPT_FOR));
        if notice.state == NoticeState::Waiting {
            item.insert("waits_for".to_owned(), s(endpoint_name(name.user_id, name.webhook_id)));
        }
        if notice.due_at.is_some() {
            let shard = spread(notice.message.id.as_str()) % self.due_shards;
            item.insert("due_shard".to_owned(), s(format!("due#{shard}")));
        }
        Ok(item)
    }
}

fn key(name: &NoticeName) -> Item {
    let sort = format!("{:016}#{}", name.webhook_id.get(), name.message_id);
    attributes([("user_id", n(name.user_id)), ("notice", s(sort))])
}

fn endpoint_name(user: UserId, webhook: WebhookId) -> String {
    format!("{user}#{webhook}")
}

fn named(entry: &Item) -> Option<NoticeName> {
    let user_id = entry.get("user_id")?.as_n().ok()?.parse().ok()?;
    let (webhook, message) = entry.get("notice")?.as_s().ok()?.split_once('#')?;
    Some(NoticeName {
        user_id: UserId::new(user_id)?,
        webhook_id: WebhookId::new(webhook.parse().ok()?)?,
        message_id: MessageId::parse(message)?,
    })
}

fn instant(entry: &Item, name: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(entry.get(name)?.as_n().ok()?.parse().ok()?)
}

fn place(entry: &Item) -> Option<NoticePlace> {
    Some(NoticePlace { created_at: instant(entry, "created_at")?, message_id: named(entry)?.message_id })
}

fn due(entry: &Item) -> Option<DueNotice> {
    Some(DueNotice { name: named(entry)?, look_at: instant(entry, "look_at")?, due_at: instant(entry, "due_at")? })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::schedule::show;
    use domain::testing::{a_notice, noon};
    use domain::webhook::{Answer, Message};
    use serde_json::json;

    use super::*;
    use crate::testing::store;

    fn beside(notice: &Notice, number: i64) -> Notice {
        let detail = json!({ "id": format!("post.published:{number}:1"), "occurred_at": show(noon()) });
        let message = Message::of(notice.message.kind, notice.webhook_id, &detail).unwrap();
        Notice::new(notice.user_id, notice.webhook_id, message, noon() + TimeDelta::seconds(number / 2))
    }

    async fn due(store: &Store, until: DateTime<Utc>) -> Vec<DueNotice> {
        let mut all = Vec::new();
        for shard in 0..store.due_shards() {
            all.extend(store.due_notices(shard, until, 100).await.unwrap());
        }
        all
    }

    #[tokio::test]
    async fn an_endpoint_has_one_notice_of_an_event() {
        let store = store().await;
        let notice = a_notice();
        assert_eq!(store.add_notice(&notice).await.unwrap(), Race::Won);
        assert_eq!(store.add_notice(&notice).await.unwrap(), Race::Lost);
        let name = notice.name();
        assert_eq!(store.notice_and_endpoint(&name).await.unwrap(), (Some(notice), None));
        store.remove_notice(&name).await.unwrap();
        assert_eq!(store.notice_and_endpoint(&name).await.unwrap(), (None, None));
    }

    #[tokio::test]
    async fn of_two_workers_one_holds_it_and_what_has_ended_is_due_no_more() {
        let store = store().await;
        let notice = a_notice();
        store.add_notice(&notice).await.unwrap();
        assert_eq!(due(&store, noon()).await, []);
        let found = due(&store, noon() + TimeDelta::hours(1)).await;
        assert_eq!(found.iter().map(|it| it.name.clone()).collect::<Vec<_>>(), [notice.name()]);

        let held = notice.begun(noon() + TimeDelta::seconds(1));
        assert_eq!(store.swap_notice(&notice, &held).await.unwrap(), Race::Won);
        assert_eq!(store.swap_notice(&notice, &held).await.unwrap(), Race::Lost);
        assert_eq!(store.move_due_notice(&found[0], noon()).await.unwrap(), Race::Lost, "it has moved");
        let answer = Answer { status: Some(204), ..Answer::none("", 0) };
        let ended = held.settled(&answer, noon(), noon(), 0);
        assert_eq!(store.swap_notice(&held, &ended).await.unwrap(), Race::Won);
        assert_eq!(due(&store, noon() + TimeDelta::days(9)).await, []);
    }

    #[tokio::test]
    async fn notices_beyond_the_newest_that_wait_are_the_surplus() {
        let store = store().await;
        let first = a_notice();
        // Ties of time are among the newest.
        for number in 0..9 {
            store.add_notice(&beside(&first, number)).await.unwrap();
        }
        store.add_notice(&a_notice()).await.unwrap();
        let (user, webhook) = (first.user_id, first.webhook_id);
        let surplus = async |most, limit| store.surplus_notices(user, webhook, most, limit).await.unwrap();
        assert_eq!((surplus(9, 50).await, surplus(10, 50).await), (vec![], vec![]));

        let oldest = beside(&first, 0);
        assert_eq!(surplus(7, 50).await.len(), 2);
        assert_eq!(surplus(7, 1).await.len(), 1);
        store.swap_notice(&oldest, &oldest.dropped()).await.unwrap();
        let left = surplus(7, 50).await;
        assert_eq!(left, [beside(&first, 1).name()], "what has ended is not counted");
    }

    #[tokio::test]
    async fn an_attempt_reads_what_is_open_for_its_user_and_to_its_endpoint() {
        let store = store().await;
        let notice = a_notice();
        store.add_notice(&notice).await.unwrap();
        let (of_user, name) = (CallsOf::endpoints_of(notice.user_id), notice.name());
        store.add_place(&of_user, "one", noon(), 1).await.unwrap();
        store.strike(&CallsOf::endpoint(notice.user_id, notice.webhook_id), noon()).await.unwrap();

        let work = store.notice_work(&name).await.unwrap();

        assert_eq!((work.notice, work.endpoint), (Some(notice), None));
        assert_eq!((work.open_for_user.others("me", noon()), work.open_for_user.strikes), (1, 0));
        assert_eq!((work.open_to_endpoint.others("me", noon()), work.open_to_endpoint.strikes), (0, 1));
    }

    #[tokio::test]
    async fn the_newest_are_listed_first_and_a_page_goes_on_where_the_last_ended() {
        let store = store().await;
        let first = a_notice();
        let all: Vec<_> = (0..7).map(|it| beside(&first, it)).collect();
        for notice in all.iter().chain([&a_notice()]) {
            store.add_notice(notice).await.unwrap();
        }
        let (mut listed, mut from) = (Vec::new(), None);
        loop {
            let (page, next) = store.notices(first.user_id, first.webhook_id, from.as_ref(), 3).await.unwrap();
            assert!(page.windows(2).all(|it| it[1].created_at <= it[0].created_at));
            listed.extend(page);
            from = next;
            if from.is_none() {
                break;
            }
        }
        listed.sort_by_key(|it| (it.created_at, it.message.id.clone()));
        let mut expected = all;
        expected.sort_by_key(|it| (it.created_at, it.message.id.clone()));
        assert_eq!(listed, expected);
    }
}
