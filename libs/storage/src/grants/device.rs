//! Device grants (RFC 8628), from the device code to the token.
//!
//! A grant is stored under its device code. A second item points to it from the user code, which the
//! user types.

use std::net::IpAddr;

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use chrono::serde::ts_milliseconds;
use chrono::{DateTime, Utc};
use domain::id::UserId;
use domain::name::ClientName;
use domain::scope::Scopes;
use serde::{Deserialize, Serialize};

use super::key;
use super::token::{TokenGrant, token_item};
use crate::error::StorageError;
use crate::item::{at, attributes, n, s, to_item, ttl};
use crate::write_outcome::WriteOutcome;
use crate::{Store, Table};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceGrant {
    pub scopes: Scopes,
    /// Chosen by the client, so it proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<ClientName>,
    pub asked_from: IpAddr,
    #[serde(with = "ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// From then on, the grant can be neither approved nor exchanged.
    #[serde(with = "ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    pub state: DeviceGrantState,
    /// The user who approved or denied the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceGrantState {
    Pending,
    Approved,
    Denied,
    /// Exchanged for a token.
    Redeemed,
}

impl Store {
    /// Stores a device grant under both codes. [`WriteOutcome::Conflict`] if the user code is in use:
    /// the caller generates another.
    pub async fn put_device(
        &self,
        device_hash: &str,
        user_code_hash: &str,
        device: &DeviceGrant,
    ) -> Result<WriteOutcome, StorageError> {
        // Both outlive the grant by a day, in which an expired code is distinguished from an
        // unknown one; `ttl` adds that day.
        let mut item = to_item(device)?;
        item.extend(attributes([("grant", s(device_key(device_hash))), ("ttl", ttl(device.expires_at))]));
        let pointer = attributes([
            ("grant", s(user_code_key(user_code_hash))),
            ("device", s(device_hash)),
            ("ttl", ttl(device.expires_at)),
        ]);
        Ok(self.transact(vec![self.put_new_grant(item)?, self.put_new_grant(pointer)?]).await?.outcome())
    }

    pub async fn device(&self, device_hash: &str) -> Result<Option<DeviceGrant>, StorageError> {
        self.grant(device_key(device_hash)).await
    }

    /// The device grant with this user code, and the hash of its device code.
    pub async fn device_by_user_code(
        &self,
        user_code_hash: &str,
    ) -> Result<Option<(String, DeviceGrant)>, StorageError> {
        #[derive(Deserialize)]
        struct Pointer {
            device: String,
        }
        let Some(Pointer { device }) = self.grant(user_code_key(user_code_hash)).await? else {
            return Ok(None);
        };
        Ok(self.device(&device).await?.map(|grant| (device, grant)))
    }

    /// Approves a pending, unexpired device grant for this user, or denies it.
    pub async fn decide_device(
        &self,
        device_hash: &str,
        user: UserId,
        state: DeviceGrantState,
        now: DateTime<Utc>,
    ) -> Result<WriteOutcome, StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(device_key(device_hash))))
            .condition_expression("#state = :pending AND expires_at > :now")
            .update_expression("SET #state = :state, user_id = :user")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":pending", state_value(DeviceGrantState::Pending)?)
            .expression_attribute_values(":state", state_value(state)?)
            .expression_attribute_values(":user", n(user))
            .expression_attribute_values(":now", at(now))
            .send()
            .await;
        WriteOutcome::from_write(update)
    }

    /// Redeems an approved device code for this token. Of concurrent exchanges, at most one gets
    /// [`WriteOutcome::Applied`], and a code is never redeemed without storing its token. Call
    /// [`Store::mark_token`] first.
    pub async fn exchange_device(
        &self,
        device_hash: &str,
        token_hash: &str,
        token: &TokenGrant,
    ) -> Result<WriteOutcome, StorageError> {
        let redeem = Update::builder()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(device_key(device_hash))))
            .condition_expression("#state = :approved AND user_id = :user")
            .update_expression("SET #state = :redeemed")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":approved", state_value(DeviceGrantState::Approved)?)
            .expression_attribute_values(":redeemed", state_value(DeviceGrantState::Redeemed)?)
            .expression_attribute_values(":user", n(token.owner))
            .build()
            .map_err(StorageError::build)?;
        let redeem = TransactWriteItem::builder().update(redeem).build();
        let put = self.put_new_grant(token_item(token_hash, token)?)?;
        Ok(self.transact(vec![redeem, put]).await?.outcome())
    }
}

fn state_value(state: DeviceGrantState) -> Result<AttributeValue, StorageError> {
    Ok(serde_dynamo::to_attribute_value(state)?)
}

fn device_key(hash: &str) -> String {
    format!("device#{hash}")
}

fn user_code_key(hash: &str) -> String {
    format!("user_code#{hash}")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{a_user, noon};

    use super::super::testing::a_token;
    use super::*;
    use crate::testing::store;

    fn a_device() -> DeviceGrant {
        DeviceGrant {
            client_name: Some(ClientName::parse("Planner").unwrap()),
            scopes: Scopes::from_requested(&[]),
            asked_from: IpAddr::from([192, 0, 2, 7]),
            created_at: noon(),
            expires_at: noon() + TimeDelta::seconds(900),
            state: DeviceGrantState::Pending,
            user_id: None,
        }
    }

    #[tokio::test]
    async fn one_of_ten_concurrent_exchanges_redeems_a_code() {
        let store = store().await;
        let user = a_user().user_id;
        store.put_device("d", "u", &a_device()).await.unwrap();
        store.decide_device("d", user, DeviceGrantState::Approved, noon()).await.unwrap();

        let hashes: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
        let token = a_token(user);
        let outcomes = futures::future::join_all(hashes.iter().map(|it| store.exchange_device("d", it, &token))).await;

        let outcomes: Vec<WriteOutcome> = outcomes.into_iter().map(Result::unwrap).collect();
        assert_eq!(outcomes.iter().filter(|it| **it == WriteOutcome::Applied).count(), 1, "{outcomes:?}");
        assert_eq!(store.grants_of(user).await.unwrap().tokens.len(), 1);
        assert_eq!(store.device("d").await.unwrap().unwrap().state, DeviceGrantState::Redeemed);
    }

    #[tokio::test]
    async fn device_grant_is_decided_once_before_expiry() {
        let store = store().await;
        let user = a_user().user_id;
        store.put_device("one", "1", &a_device()).await.unwrap();
        store.put_device("two", "2", &a_device()).await.unwrap();
        let end = a_device().expires_at;

        let denied = store.decide_device("one", user, DeviceGrantState::Denied, noon()).await.unwrap();
        let approved = store.decide_device("one", user, DeviceGrantState::Approved, noon()).await.unwrap();
        let late = store.decide_device("two", user, DeviceGrantState::Approved, end).await.unwrap();
        let unknown = store.decide_device("three", user, DeviceGrantState::Approved, noon()).await.unwrap();

        assert_eq!(
            [denied, approved, late, unknown],
            [WriteOutcome::Applied, WriteOutcome::Conflict, WriteOutcome::Conflict, WriteOutcome::Conflict]
        );
        assert_eq!(store.exchange_device("one", "t", &a_token(user)).await.unwrap(), WriteOutcome::Conflict);
    }

    #[tokio::test]
    async fn user_code_belongs_to_one_device_grant() {
        let store = store().await;
        store.put_device("one", "same", &a_device()).await.unwrap();

        let second = store.put_device("two", "same", &a_device()).await.unwrap();

        assert_eq!(second, WriteOutcome::Conflict);
        assert_eq!(store.device("two").await.unwrap(), None);
        let (hash, device) = store.device_by_user_code("same").await.unwrap().unwrap();
        assert_eq!((hash.as_str(), device), ("one", a_device()));
    }
}
