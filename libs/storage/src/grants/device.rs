//! Device grants (RFC 8628). [`domain::device_grant`] decides how they change.
//!
//! A grant is stored under its device code. A second item points to it from the user code, which the
//! user types.

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use domain::device_grant::{DeviceGrant, DeviceGrantState};
use serde::Deserialize;

use super::key;
use super::token::{TokenGrant, token_item};
use crate::change::Change;
use crate::error::StorageError;
use crate::item::{attributes, n, s, to_item, ttl};
use crate::write_outcome::WriteOutcome;
use crate::{Store, Table};

impl Store {
    /// [`WriteOutcome::Conflict`] if the user code is in use: the caller generates another.
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

    /// [`WriteOutcome::Conflict`] unless the stored grant is the one that was read.
    pub async fn replace_device(
        &self,
        device_hash: &str,
        before: &DeviceGrant,
        after: &DeviceGrant,
    ) -> Result<WriteOutcome, StorageError> {
        let Replacement { condition, change } = Replacement::new(before, after)?;
        let replaced = self
            .client
            .update_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(device_key(device_hash))))
            .condition_expression(condition)
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .send()
            .await;
        WriteOutcome::from_write(replaced)
    }

    /// Redeems a device code for this token. Of concurrent exchanges, at most one gets
    /// [`WriteOutcome::Applied`], and a code is never redeemed without storing its token. Call
    /// [`Store::mark_token`] first.
    pub async fn exchange_device(
        &self,
        device_hash: &str,
        before: &DeviceGrant,
        redeemed: &DeviceGrant,
        token_hash: &str,
        token: &TokenGrant,
    ) -> Result<WriteOutcome, StorageError> {
        let Replacement { condition, change } = Replacement::new(before, redeemed)?;
        let redeem = Update::builder()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(device_key(device_hash))))
            .condition_expression(condition)
            .update_expression(change.expression())
            .set_expression_attribute_names(Some(change.names))
            .set_expression_attribute_values(Some(change.values))
            .build()
            .map_err(StorageError::build)?;
        let redeem = TransactWriteItem::builder().update(redeem).build();
        let put = self.put_new_grant(token_item(token_hash, token)?)?;
        Ok(self.transact(vec![redeem, put]).await?.outcome())
    }
}

struct Replacement {
    condition: String,
    change: Change,
}

impl Replacement {
    fn new(before: &DeviceGrant, after: &DeviceGrant) -> Result<Self, StorageError> {
        let mut change = Change::default();
        change.set("state", state_value(after.state)?);
        change.set_or_remove("user_id", after.user_id.map(n));
        change.set_or_remove("profile_id", after.profile_id.map(n));
        change.names.insert("#user_id".to_owned(), "user_id".to_owned());
        change.values.insert(":was".to_owned(), state_value(before.state)?);
        let is_same_user = match before.user_id {
            Some(user) => {
                change.values.insert(":was_user".to_owned(), n(user));
                "#user_id = :was_user"
            }
            None => "attribute_not_exists(#user_id)",
        };
        Ok(Self { condition: format!("#state = :was AND {is_same_user}"), change })
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
    use std::net::IpAddr;

    use domain::name::ClientName;
    use domain::scope::Scopes;
    use domain::testing::{a_profile, a_user, limited_to, noon};

    use super::super::testing::a_token;
    use super::*;
    use crate::testing::store;

    fn a_device() -> DeviceGrant {
        let name = ClientName::parse("Planner").unwrap();
        DeviceGrant::request(Scopes::from_requested(&[]), Some(name), IpAddr::from([192, 0, 2, 7]), noon())
    }

    #[tokio::test]
    async fn one_of_ten_concurrent_exchanges_redeems_a_code() {
        let store = store().await;
        let user = a_user().user_id;
        store.put_device("d", "u", &a_device()).await.unwrap();
        let approved = a_device().approve(user, noon()).unwrap();
        store.replace_device("d", &a_device(), &approved).await.unwrap();

        let hashes: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
        let (redeemed, _) = approved.clone().redeem(noon()).unwrap();
        let token = a_token(user);
        let exchanges = hashes.iter().map(|it| store.exchange_device("d", &approved, &redeemed, it, &token));
        let outcomes = futures::future::join_all(exchanges).await;

        let outcomes: Vec<WriteOutcome> = outcomes.into_iter().map(Result::unwrap).collect();
        assert_eq!(outcomes.iter().filter(|it| **it == WriteOutcome::Applied).count(), 1, "{outcomes:?}");
        assert_eq!(store.grants_of(user).await.unwrap().tokens.len(), 1);
        assert_eq!(store.device("d").await.unwrap(), Some(redeemed));
    }

    #[tokio::test]
    async fn decided_grant_is_not_overwritten() {
        let store = store().await;
        let user = a_user().user_id;
        store.put_device("one", "1", &a_device()).await.unwrap();
        let denied = a_device().deny(user, noon()).unwrap();
        let approved = a_device().approve(user, noon()).unwrap();

        let first = store.replace_device("one", &a_device(), &denied).await.unwrap();
        let second = store.replace_device("one", &a_device(), &approved).await.unwrap();
        let unknown = store.replace_device("three", &a_device(), &approved).await.unwrap();

        assert_eq!([first, second, unknown], [WriteOutcome::Applied, WriteOutcome::Conflict, WriteOutcome::Conflict]);
        let (redeemed, _) = approved.clone().redeem(noon()).unwrap();
        let exchanged = store.exchange_device("one", &approved, &redeemed, "t", &a_token(user)).await.unwrap();
        assert_eq!(exchanged, WriteOutcome::Conflict);
        assert_eq!(store.device("one").await.unwrap(), Some(denied));
    }

    #[tokio::test]
    async fn approval_for_a_profile_is_read_back() {
        let store = store().await;
        store.put_device("d", "u", &a_device()).await.unwrap();
        let owner = limited_to(&a_profile(&a_user()));
        let approved = a_device().approve(owner, noon()).unwrap();

        assert_eq!(store.replace_device("d", &a_device(), &approved).await.unwrap(), WriteOutcome::Applied);

        let stored = store.device("d").await.unwrap().unwrap();
        assert_eq!((stored.profile_id, &stored), (owner.limited_to, &approved));
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
