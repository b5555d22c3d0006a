//! What opens a door: access tokens, device codes on their way to one, and
//! sessions of the pages. All are known by their hash alone.

use std::net::IpAddr;

use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update};
use chrono::serde::ts_milliseconds;
use chrono::{DateTime, Utc};
use domain::id::UserId;
use domain::scope::Scopes;
use domain::token::Bucket;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, s, to_item, ttl};
use crate::race::Race;
use crate::{Store, Table};

/// An access token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenGrant {
    /// Whose.
    pub owner: UserId,
    /// Under which the owner's requests are counted.
    pub bucket: Bucket,
    /// What it may do.
    pub scopes: Scopes,
    /// When its owner approved it.
    #[serde(with = "ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// To the day: see [`Store::touch_token`].
    #[serde(with = "ts_milliseconds")]
    pub last_used_at: DateTime<Utc>,
    /// From then on it is as if it had never been.
    #[serde(with = "ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
}

/// A request of a device for access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceGrant {
    /// What it asks for.
    pub scopes: Scopes,
    /// Where it asked from.
    pub asked_from: IpAddr,
    /// When it asked.
    #[serde(with = "ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// From then on it can be neither approved nor exchanged.
    #[serde(with = "ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    /// How far it has come.
    pub stage: DeviceStage,
    /// Who approved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

/// How far a device's request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceStage {
    /// Nobody has decided.
    Waiting,
    /// To be exchanged for a token.
    Approved,
    /// Its user said no.
    Denied,
    /// Exchanged.
    Spent,
}

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionGrant {
    /// Who. Not named `owner`: the index of a user's tokens is by that.
    pub user_id: UserId,
    /// Sign-in.
    #[serde(with = "ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// From then on a new sign-in is needed.
    #[serde(with = "ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
}

impl Store {
    /// The token with this hash. Read consistently: a revoked token is refused
    /// from the moment of its revocation on.
    pub async fn token(&self, hash: &str) -> Result<Option<TokenGrant>, StorageError> {
        self.grant(token_key(hash)).await
    }

    /// Keeps a token.
    pub async fn put_token(&self, hash: &str, token: &TokenGrant) -> Result<(), StorageError> {
        let item = token_item(hash, token)?;
        self.client.put_item().table_name(self.table(Table::Grants)).set_item(Some(item)).send().await?;
        Ok(())
    }

    /// Notes that a token was used, and how long it now lives. Callers do it
    /// once a day at most: a write per request would cost more than the request.
    pub async fn touch_token(
        &self,
        hash: &str,
        used_at: DateTime<Utc>,
        expires_at: DateTime<Utc>,
    ) -> Result<Race, StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(token_key(hash))))
            // A token revoked since it was read does not come back.
            .condition_expression("attribute_exists(#grant)")
            .update_expression("SET last_used_at = :used, expires_at = :expires, #ttl = :ttl")
            .expression_attribute_names("#grant", "grant")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":used", at(used_at))
            .expression_attribute_values(":expires", at(expires_at))
            .expression_attribute_values(":ttl", ttl(expires_at))
            .send()
            .await;
        Race::of(update)
    }

    /// The tokens of a user with their hashes, the latest first.
    pub async fn tokens_of(&self, owner: UserId) -> Result<Vec<(String, TokenGrant)>, StorageError> {
        let mut pages = self
            .client
            .query()
            .table_name(self.table(Table::Grants))
            .index_name("by_user")
            .key_condition_expression("#owner = :owner")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":owner", n(owner))
            .scan_index_forward(false)
            .into_paginator()
            .items()
            .send();
        let mut tokens = Vec::new();
        while let Some(item) = pages.next().await.transpose()? {
            let hash = item.get("grant").and_then(|it| it.as_s().ok()).and_then(|it| it.strip_prefix("token#"));
            let hash = hash.unwrap_or_default().to_owned();
            tokens.push((hash, from_item(item)?));
        }
        Ok(tokens)
    }

    /// Ends a token of this user.
    pub async fn revoke_token(&self, owner: UserId, hash: &str) -> Result<Race, StorageError> {
        let deleted = self
            .client
            .delete_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(token_key(hash))))
            .condition_expression("#owner = :owner")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":owner", n(owner))
            .send()
            .await;
        Race::of(deleted)
    }

    /// Keeps a device's request under both of its codes. [`Race::Lost`] when
    /// somebody has the user code already: the caller takes another.
    pub async fn put_device(
        &self,
        device_hash: &str,
        user_code_hash: &str,
        device: &DeviceGrant,
    ) -> Result<Race, StorageError> {
        // Both outlive the request by the day in which its end is told apart
        // from a code that never was; `ttl` adds that day.
        let mut item = to_item(device)?;
        item.extend(attributes([("grant", s(device_key(device_hash))), ("ttl", ttl(device.expires_at))]));
        let pointer = attributes([
            ("grant", s(user_code_key(user_code_hash))),
            ("device", s(device_hash)),
            ("ttl", ttl(device.expires_at)),
        ]);
        let written = self
            .client
            .transact_write_items()
            .transact_items(self.put_new_grant(item)?)
            .transact_items(self.put_new_grant(pointer)?)
            .send()
            .await;
        Race::of_transaction(written)
    }

    /// The request with this device code.
    pub async fn device(&self, device_hash: &str) -> Result<Option<DeviceGrant>, StorageError> {
        self.grant(device_key(device_hash)).await
    }

    /// The request with this user code, and the hash of its device code.
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

    /// Approves a device's request for this user, or denies it for everyone.
    /// Only one that waits and has not expired can be decided, once.
    pub async fn decide_device(
        &self,
        device_hash: &str,
        user: UserId,
        stage: DeviceStage,
        now: DateTime<Utc>,
    ) -> Result<Race, StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(device_key(device_hash))))
            .condition_expression("#stage = :waiting AND expires_at > :now")
            .update_expression("SET #stage = :stage, user_id = :user")
            .expression_attribute_names("#stage", "stage")
            .expression_attribute_values(":waiting", stage_value(DeviceStage::Waiting)?)
            .expression_attribute_values(":stage", stage_value(stage)?)
            .expression_attribute_values(":user", n(user))
            .expression_attribute_values(":now", at(now))
            .send()
            .await;
        Race::of(update)
    }

    /// Spends an approved device code on this token. Of any number of
    /// exchanges at the same time, at most one gets [`Race::Won`], and no code
    /// is spent without its token being there.
    pub async fn exchange_device(
        &self,
        device_hash: &str,
        token_hash: &str,
        token: &TokenGrant,
    ) -> Result<Race, StorageError> {
        let spend = Update::builder()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(device_key(device_hash))))
            .condition_expression("#stage = :approved AND user_id = :user")
            .update_expression("SET #stage = :spent")
            .expression_attribute_names("#stage", "stage")
            .expression_attribute_values(":approved", stage_value(DeviceStage::Approved)?)
            .expression_attribute_values(":spent", stage_value(DeviceStage::Spent)?)
            .expression_attribute_values(":user", n(token.owner))
            .build()
            .map_err(StorageError::build)?;
        let written = self
            .client
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().update(spend).build())
            .transact_items(self.put_new_grant(token_item(token_hash, token)?)?)
            .send()
            .await;
        Race::of_transaction(written)
    }

    /// Keeps a session.
    pub async fn put_session(&self, hash: &str, session: &SessionGrant) -> Result<(), StorageError> {
        let mut item = to_item(session)?;
        item.extend(attributes([("grant", s(session_key(hash))), ("ttl", ttl(session.expires_at))]));
        self.client.put_item().table_name(self.table(Table::Grants)).set_item(Some(item)).send().await?;
        Ok(())
    }

    /// The session with this hash.
    pub async fn session(&self, hash: &str) -> Result<Option<SessionGrant>, StorageError> {
        self.grant(session_key(hash)).await
    }

    /// Ends a session.
    pub async fn end_session(&self, hash: &str) -> Result<(), StorageError> {
        self.client
            .delete_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(session_key(hash))))
            .send()
            .await?;
        Ok(())
    }

    async fn grant<T: DeserializeOwned>(&self, grant: String) -> Result<Option<T>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(grant)))
            .consistent_read(true)
            .send()
            .await?;
        found.item.map(from_item).transpose()
    }

    fn put_new_grant(&self, item: Item) -> Result<TransactWriteItem, StorageError> {
        let put = Put::builder()
            .table_name(self.table(Table::Grants))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(#grant)")
            .expression_attribute_names("#grant", "grant")
            .build()
            .map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().put(put).build())
    }
}

fn stage_value(stage: DeviceStage) -> Result<aws_sdk_dynamodb::types::AttributeValue, StorageError> {
    Ok(serde_dynamo::to_attribute_value(stage)?)
}

fn token_item(hash: &str, token: &TokenGrant) -> Result<Item, StorageError> {
    let mut item = to_item(token)?;
    item.extend(attributes([("grant", s(token_key(hash))), ("ttl", ttl(token.expires_at))]));
    Ok(item)
}

fn key(grant: String) -> Item {
    attributes([("grant", s(grant))])
}

fn token_key(hash: &str) -> String {
    format!("token#{hash}")
}

fn device_key(hash: &str) -> String {
    format!("device#{hash}")
}

fn user_code_key(hash: &str) -> String {
    format!("user_code#{hash}")
}

fn session_key(hash: &str) -> String {
    format!("session#{hash}")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{a_user, noon};

    use super::*;
    use crate::testing::store;

    fn a_token(owner: UserId) -> TokenGrant {
        TokenGrant {
            owner,
            bucket: Bucket::random(),
            scopes: Scopes::of(&[]),
            created_at: noon(),
            last_used_at: noon(),
            expires_at: noon() + TimeDelta::days(180),
        }
    }

    fn a_device() -> DeviceGrant {
        DeviceGrant {
            scopes: Scopes::of(&[]),
            asked_from: IpAddr::from([192, 0, 2, 7]),
            created_at: noon(),
            expires_at: noon() + TimeDelta::seconds(900),
            stage: DeviceStage::Waiting,
            user_id: None,
        }
    }

    #[tokio::test]
    async fn a_code_is_spent_by_one_of_ten_exchanges_at_once() {
        let store = store().await;
        let user = a_user().user_id;
        store.put_device("d", "u", &a_device()).await.unwrap();
        store.decide_device("d", user, DeviceStage::Approved, noon()).await.unwrap();

        let hashes: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
        let token = a_token(user);
        let won = futures::future::join_all(hashes.iter().map(|it| store.exchange_device("d", it, &token))).await;

        let won: Vec<Race> = won.into_iter().map(Result::unwrap).collect();
        assert_eq!(won.iter().filter(|it| **it == Race::Won).count(), 1, "{won:?}");
        assert_eq!(store.tokens_of(user).await.unwrap().len(), 1);
        assert_eq!(store.device("d").await.unwrap().unwrap().stage, DeviceStage::Spent);
    }

    #[tokio::test]
    async fn a_device_is_decided_once_and_in_time() {
        let store = store().await;
        let user = a_user().user_id;
        store.put_device("one", "1", &a_device()).await.unwrap();
        store.put_device("two", "2", &a_device()).await.unwrap();
        let end = a_device().expires_at;

        let denied = store.decide_device("one", user, DeviceStage::Denied, noon()).await.unwrap();
        let approved = store.decide_device("one", user, DeviceStage::Approved, noon()).await.unwrap();
        let late = store.decide_device("two", user, DeviceStage::Approved, end).await.unwrap();
        let unknown = store.decide_device("three", user, DeviceStage::Approved, noon()).await.unwrap();

        assert_eq!([denied, approved, late, unknown], [Race::Won, Race::Lost, Race::Lost, Race::Lost]);
        assert_eq!(store.exchange_device("one", "t", &a_token(user)).await.unwrap(), Race::Lost);
    }

    #[tokio::test]
    async fn a_user_code_leads_to_one_device() {
        let store = store().await;
        store.put_device("one", "same", &a_device()).await.unwrap();

        let second = store.put_device("two", "same", &a_device()).await.unwrap();

        assert_eq!(second, Race::Lost);
        assert_eq!(store.device("two").await.unwrap(), None);
        let (hash, device) = store.device_by_user_code("same").await.unwrap().unwrap();
        assert_eq!((hash.as_str(), device), ("one", a_device()));
    }

    #[tokio::test]
    async fn a_token_is_revoked_by_its_owner_alone_and_stays_so() {
        let store = store().await;
        let owner = UserId::new(1).unwrap();
        let stranger = UserId::new(2).unwrap();
        store.put_token("t", &a_token(owner)).await.unwrap();

        assert_eq!(store.revoke_token(stranger, "t").await.unwrap(), Race::Lost);
        assert!(store.token("t").await.unwrap().is_some());
        assert_eq!(store.revoke_token(owner, "t").await.unwrap(), Race::Won);
        let touched = store.touch_token("t", noon(), noon()).await.unwrap();

        assert_eq!(touched, Race::Lost);
        assert_eq!(store.token("t").await.unwrap(), None);
    }

    #[tokio::test]
    async fn tokens_are_listed_for_their_owner_the_latest_first() {
        let store = store().await;
        let owner = UserId::new(1).unwrap();
        let later = TokenGrant { created_at: noon() + TimeDelta::days(1), ..a_token(owner) };
        store.put_token("early", &a_token(owner)).await.unwrap();
        store.put_token("late", &later).await.unwrap();
        store.put_token("other", &a_token(UserId::new(2).unwrap())).await.unwrap();

        let hashes: Vec<String> = store.tokens_of(owner).await.unwrap().into_iter().map(|it| it.0).collect();

        assert_eq!(hashes, ["late", "early"]);
    }

    #[tokio::test]
    async fn a_session_ends() {
        let store = store().await;
        let session = SessionGrant {
            user_id: UserId::new(1).unwrap(),
            created_at: noon(),
            expires_at: noon() + TimeDelta::days(7),
        };
        store.put_session("s", &session).await.unwrap();
        assert_eq!(store.session("s").await.unwrap(), Some(session));

        store.end_session("s").await.unwrap();

        assert_eq!(store.session("s").await.unwrap(), None);
    }
}
