//! Responses stored under idempotency keys, for requests that a client may repeat.
//!
//! A short request stores its response in the transaction of its change ([`stored_response_item`]). A long
//! request claims its key first, so that a repeated request does not start the same work
//! concurrently.

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use chrono::{DateTime, TimeDelta, Utc};
use domain::idempotency::IdempotencyKey;
use domain::owner::Owner;
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, s, to_item, ttl};
use crate::write_outcome::WriteOutcome;
use crate::{Store, Table};

const KEPT_FOR: TimeDelta = TimeDelta::hours(24);

/// How long a claim holds: longer than the timeout of any function, so that a running request never
/// loses its key. After a crash, the key is free again when the claim expires.
const CLAIM_DURATION: TimeDelta = TimeDelta::minutes(2);

/// Condition for writing [`stored_response_item`]; `#key` is `key` and `:now` is [`crate::item::at`] of the
/// current time.
pub(crate) const KEY_IS_FREE: &str = "attribute_not_exists(#key) OR expires_at < :now";

#[derive(Clone, Debug)]
pub struct IdempotentRequest {
    pub owner: Owner,
    /// Method and path, such as `POST /posts`.
    pub route: &'static str,
    pub key: IdempotencyKey,
    /// Distinguishes this request from another with the same key.
    pub body_hash: String,
}

impl IdempotentRequest {
    pub(crate) fn item_key(&self) -> Item {
        idempotency_key_attributes(self.owner, self.route, &self.key)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredResponseState {
    Running,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredResponse {
    pub body_hash: String,
    pub state: StoredResponseState,
    /// JSON; empty while running.
    pub response: String,
    /// The time of the first request.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    expires_at: DateTime<Utc>,
}

/// A key that is claimed until it is completed or released, or the claim expires.
#[derive(Clone, Debug)]
pub struct ClaimedKey {
    key: Item,
    claimed_at: DateTime<Utc>,
}

#[derive(Clone, Debug)]
pub enum KeyClaim {
    Ours(ClaimedKey),
    Running,
    Done(StoredResponse),
    OtherBody,
}

impl Store {
    /// `route` is a method and path, such as `POST /media`.
    pub async fn idempotency(
        &self,
        owner: impl Into<Owner>,
        route: &str,
        key: &IdempotencyKey,
        now: DateTime<Utc>,
    ) -> Result<Option<StoredResponse>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Idempotency))
            .set_key(Some(idempotency_key_attributes(owner.into(), route, key)))
            .consistent_read(true)
            .send()
            .await?;
        found.item.map_or(Ok(None), |it| parse_unexpired(it, now))
    }

    /// Of concurrent requests, one gets [`KeyClaim::Ours`].
    pub async fn claim_idempotency(
        &self,
        owner: impl Into<Owner>,
        route: &str,
        key: &IdempotencyKey,
        body_hash: &str,
        now: DateTime<Utc>,
    ) -> Result<KeyClaim, StorageError> {
        let owner = owner.into();
        let running = StoredResponse {
            body_hash: body_hash.to_owned(),
            state: StoredResponseState::Running,
            response: String::new(),
            created_at: now,
            expires_at: now + CLAIM_DURATION,
        };
        let claimed = self
            .client
            .put_item()
            .table_name(self.table(Table::Idempotency))
            .set_item(Some(item(owner, route, key, &running)?))
            .condition_expression(KEY_IS_FREE)
            .expression_attribute_names("#key", "key")
            .expression_attribute_values(":now", at(now))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        let Err(error) = claimed else {
            let key = idempotency_key_attributes(owner, route, key);
            return Ok(KeyClaim::Ours(ClaimedKey { key, claimed_at: now }));
        };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                let stored: StoredResponse = from_item(failed.item().cloned().unwrap_or_default())?;
                Ok(match stored.state {
                    _ if stored.body_hash != body_hash => KeyClaim::OtherBody,
                    StoredResponseState::Running => KeyClaim::Running,
                    StoredResponseState::Done => KeyClaim::Done(stored),
                })
            }
            _ => Err(error.into()),
        }
    }

    /// Stores the response until a day after the claim. Changes nothing if the claim has expired.
    pub async fn complete_idempotency(&self, claimed: ClaimedKey, response: String) -> Result<(), StorageError> {
        let expires_at = claimed.claimed_at + KEPT_FOR;
        let completed = self
            .client
            .update_item()
            .table_name(self.table(Table::Idempotency))
            .set_key(Some(claimed.key))
            .condition_expression("created_at = :claimed_at AND #state = :running")
            .update_expression("SET #state = :done, #response = :response, expires_at = :expires_at, #ttl = :ttl")
            .expression_attribute_names("#state", "state")
            .expression_attribute_names("#response", "response")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":claimed_at", at(claimed.claimed_at))
            .expression_attribute_values(":running", s("running"))
            .expression_attribute_values(":done", s("done"))
            .expression_attribute_values(":response", s(response))
            .expression_attribute_values(":expires_at", at(expires_at))
            .expression_attribute_values(":ttl", ttl(expires_at))
            .send()
            .await;
        WriteOutcome::from_write(completed).map(drop)
    }

    /// Releases a key after an invalid request, so that a corrected request may use it.
    pub async fn release_idempotency(&self, claimed: ClaimedKey) -> Result<(), StorageError> {
        let released = self
            .client
            .delete_item()
            .table_name(self.table(Table::Idempotency))
            .set_key(Some(claimed.key))
            .condition_expression("created_at = :claimed_at AND #state = :running")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":claimed_at", at(claimed.claimed_at))
            .expression_attribute_values(":running", s("running"))
            .send()
            .await;
        WriteOutcome::from_write(released).map(drop)
    }
}

/// For the transaction of the change. Its condition is [`KEY_IS_FREE`].
pub(crate) fn stored_response_item(
    owner: Owner,
    route: &str,
    key: &IdempotencyKey,
    body_hash: &str,
    response: &str,
    now: DateTime<Utc>,
) -> Result<Item, StorageError> {
    let stored = StoredResponse {
        body_hash: body_hash.to_owned(),
        state: StoredResponseState::Done,
        response: response.to_owned(),
        created_at: now,
        expires_at: now + KEPT_FOR,
    };
    item(owner, route, key, &stored)
}

/// Each profile has its own keys: a token that is limited to one gets no response of another token.
pub(crate) fn idempotency_key_attributes(owner: Owner, route: &str, key: &IdempotencyKey) -> Item {
    let profile = owner.limited_to.map(|it| format!("profile#{it}#")).unwrap_or_default();
    attributes([("user_id", n(owner.user_id)), ("key", s(format!("{profile}{route}#{}", key.hash())))])
}

/// `None` if the item has expired.
pub(crate) fn parse_unexpired(item: Item, now: DateTime<Utc>) -> Result<Option<StoredResponse>, StorageError> {
    let stored: StoredResponse = from_item(item)?;
    Ok((now <= stored.expires_at).then_some(stored))
}

fn item(owner: Owner, route: &str, key: &IdempotencyKey, stored: &StoredResponse) -> Result<Item, StorageError> {
    let mut item = to_item(stored)?;
    item.extend(idempotency_key_attributes(owner, route, key));
    item.insert("ttl".to_owned(), ttl(stored.expires_at));
    Ok(item)
}

#[cfg(test)]
mod tests {
    use domain::id::{ProfileId, UserId};
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

    const ROUTE: &str = "POST /media";

    fn user() -> UserId {
        UserId::new(7).unwrap()
    }

    fn key() -> IdempotencyKey {
        IdempotencyKey::parse(b"once").unwrap()
    }

    async fn claim(store: &Store, body_hash: &str, now: DateTime<Utc>) -> KeyClaim {
        store.claim_idempotency(user(), ROUTE, &key(), body_hash, now).await.unwrap()
    }

    async fn claimed(store: &Store, now: DateTime<Utc>) -> ClaimedKey {
        match claim(store, "body", now).await {
            KeyClaim::Ours(claimed) => claimed,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn key_is_claimed_by_one_request_at_a_time() {
        let store = store().await;

        let claims = futures::future::join_all((0..8).map(|_| claim(&store, "body", noon()))).await;

        assert_eq!(claims.iter().filter(|it| matches!(it, KeyClaim::Ours(_))).count(), 1);
        assert_eq!(claims.iter().filter(|it| matches!(it, KeyClaim::Running)).count(), 7);
    }

    #[tokio::test]
    async fn response_is_stored_for_a_day() {
        let store = store().await;
        let first = claimed(&store, noon()).await;
        store.complete_idempotency(first, "{}".to_owned()).await.unwrap();

        let day = noon() + TimeDelta::hours(24);
        let KeyClaim::Done(stored) = claim(&store, "body", day).await else { panic!("not done") };
        assert_eq!((stored.response.as_str(), stored.body_hash.as_str()), ("{}", "body"));
        assert_eq!(store.idempotency(user(), ROUTE, &key(), day).await.unwrap(), Some(stored));
        let over = day + TimeDelta::milliseconds(1);
        assert_eq!(store.idempotency(user(), ROUTE, &key(), over).await.unwrap(), None);
        assert!(matches!(claim(&store, "other", over).await, KeyClaim::Ours(_)));
    }

    #[tokio::test]
    async fn key_is_not_valid_for_another_body() {
        let store = store().await;
        let first = claimed(&store, noon()).await;

        assert!(matches!(claim(&store, "other", noon()).await, KeyClaim::OtherBody));
        store.complete_idempotency(first, "{}".to_owned()).await.unwrap();
        assert!(matches!(claim(&store, "other", noon()).await, KeyClaim::OtherBody));
    }

    #[tokio::test]
    async fn released_key_can_be_used_with_a_corrected_body() {
        let store = store().await;
        let first = claimed(&store, noon()).await;

        store.release_idempotency(first).await.unwrap();

        assert!(matches!(claim(&store, "corrected", noon()).await, KeyClaim::Ours(_)));
    }

    #[tokio::test]
    async fn expired_claim_changes_nothing() {
        let store = store().await;
        let slow = claimed(&store, noon()).await;
        let later = noon() + CLAIM_DURATION + TimeDelta::milliseconds(1);
        let next = claimed(&store, later).await;

        store.complete_idempotency(slow.clone(), "slow".to_owned()).await.unwrap();
        store.release_idempotency(slow).await.unwrap();
        assert!(matches!(claim(&store, "body", later).await, KeyClaim::Running));
        store.complete_idempotency(next, "next".to_owned()).await.unwrap();

        let KeyClaim::Done(stored) = claim(&store, "body", later).await else { panic!("not done") };
        assert_eq!(stored.response, "next");
    }

    #[tokio::test]
    async fn keys_belong_to_user_and_route() {
        let store = store().await;
        claimed(&store, noon()).await;

        let other = UserId::new(8).unwrap();
        for (user, route) in [(other, ROUTE), (user(), "POST /posts")] {
            let claim = store.claim_idempotency(user, route, &key(), "other", noon()).await.unwrap();
            assert!(matches!(claim, KeyClaim::Ours(_)), "{user} {route}");
        }
    }

    #[tokio::test]
    async fn limited_owner_has_separate_keys() {
        let store = store().await;
        claimed(&store, noon()).await;

        for profile in [1, 2] {
            let owner = Owner { user_id: user(), limited_to: ProfileId::new(profile) };
            let claim = store.claim_idempotency(owner, ROUTE, &key(), "other", noon()).await.unwrap();
            assert!(matches!(claim, KeyClaim::Ours(_)), "{profile}");
        }
    }

    #[test]
    fn response_of_a_transaction_reads_back() {
        let item = stored_response_item(user().into(), ROUTE, &key(), "body", "{}", noon()).unwrap();

        let stored = parse_unexpired(item, noon()).unwrap().unwrap();

        assert_eq!((stored.state, stored.response.as_str()), (StoredResponseState::Done, "{}"));
    }
}
