//! Profiles. The table also has, for each user, the number of profiles, an entry for each external
//! id, which is thereby unique, and one for each deleted profile whose data upkeep erases. The
//! sparse index `erasures` lists the last kind by the time of the next pass.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem, Update};
use chrono::{DateTime, Utc};
use domain::erasure::ProfileErasure;
use domain::id::{ProfileId, UserId};
use domain::owner::Owner;
use domain::profile::{Profile, ProfileName};
use domain::text::ExternalId;
use domain::token;

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, number, s, to_item};
use crate::schema::Table;
use crate::transaction::TransactionOutcome;
use crate::write_outcome::{WriteOutcome, if_applied};
use crate::write_retries::WriteRetries;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileCreated {
    Done,
    Full,
    /// Another profile has this external id, or this id.
    Taken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileDeleted {
    Done,
    HasConnections(u64),
    NotThere,
}

impl Store {
    /// `max` is `None` for no limit.
    pub async fn create_profile(&self, profile: &Profile, max: Option<u32>) -> Result<ProfileCreated, StorageError> {
        let table = self.table(Table::Profiles);
        let user = profile.user_id;
        let count =
            Update::builder().table_name(&table).set_key(Some(count_key(user))).update_expression("ADD profiles :one");
        let count = count.expression_attribute_values(":one", n(1));
        let count = match max {
            // An absent count is compared as a missing attribute, which `<` refuses.
            Some(max) if 0 < max => count
                .condition_expression("attribute_not_exists(profiles) OR profiles < :max")
                .expression_attribute_values(":max", n(max)),
            Some(_) => return Ok(ProfileCreated::Full),
            None => count,
        };
        let mut writes = vec![TransactWriteItem::builder().update(count.build().map_err(StorageError::build)?).build()];
        let mut item = to_item(profile)?;
        item.extend(profile_key(user, profile.profile_id));
        item.insert("connections".to_owned(), n(0));
        writes.push(self.put_if_absent(item)?);
        if let Some(external_id) = &profile.external_id {
            let mut item = external_id_key(user, external_id);
            item.insert("profile_id".to_owned(), n(profile.profile_id));
            writes.push(self.put_if_absent(item)?);
        }
        Ok(match self.transact(writes).await? {
            TransactionOutcome::Done => ProfileCreated::Done,
            TransactionOutcome::Refused(0) => ProfileCreated::Full,
            TransactionOutcome::Refused(_) => ProfileCreated::Taken,
        })
    }

    fn put_if_absent(&self, item: Item) -> Result<TransactWriteItem, StorageError> {
        let put = Put::builder()
            .table_name(self.table(Table::Profiles))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(entry)");
        Ok(TransactWriteItem::builder().put(put.build().map_err(StorageError::build)?).build())
    }

    pub async fn profile(&self, owner: impl Into<Owner>, id: ProfileId) -> Result<Option<Profile>, StorageError> {
        let owner = owner.into();
        if !owner.may_see_profile(id) {
            return Ok(None);
        }
        self.profiles_entry(profile_key(owner.user_id, id)).await?.map(from_item).transpose()
    }

    pub async fn profile_by_external_id(
        &self,
        owner: impl Into<Owner>,
        external_id: &ExternalId,
    ) -> Result<Option<Profile>, StorageError> {
        let owner = owner.into();
        let entry = self.profiles_entry(external_id_key(owner.user_id, external_id)).await?;
        match entry.and_then(|it| ProfileId::new(number(&it, "profile_id")?)) {
            Some(id) => self.profile(owner, id).await,
            None => Ok(None),
        }
    }

    async fn profiles_entry(&self, key: Item) -> Result<Option<Item>, StorageError> {
        let request = self.client.get_item().table_name(self.table(Table::Profiles)).set_key(Some(key));
        Ok(request.consistent_read(true).send().await?.item)
    }

    /// Oldest first.
    pub async fn profiles(&self, owner: impl Into<Owner>) -> Result<Vec<Profile>, StorageError> {
        let owner = owner.into();
        if let Some(id) = owner.limited_to {
            return Ok(self.profile(owner, id).await?.into_iter().collect());
        }
        let mut entries = self.query_profiles(owner.user_id).into_paginator().items().send();
        let mut found = Vec::new();
        while let Some(entry) = entries.next().await {
            found.push(from_item(entry?)?);
        }
        Ok(found)
    }

    /// Oldest first, at most `limit` and what one call reads.
    pub async fn oldest_profiles(&self, user: UserId, limit: usize) -> Result<Vec<Profile>, StorageError> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let found = self.query_profiles(user).limit(limit).send().await?;
        found.items.unwrap_or_default().into_iter().map(from_item).collect()
    }

    fn query_profiles(&self, user: UserId) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(self.table(Table::Profiles))
            .key_condition_expression("user_id = :user AND begins_with(entry, :profile)")
            .expression_attribute_values(":user", n(user))
            .expression_attribute_values(":profile", s(PROFILE))
            .consistent_read(true)
    }

    /// `None` if the profile does not exist.
    pub async fn rename_profile(
        &self,
        user: UserId,
        id: ProfileId,
        name: &ProfileName,
    ) -> Result<Option<Profile>, StorageError> {
        let sent = self
            .client
            .update_item()
            .table_name(self.table(Table::Profiles))
            .set_key(Some(profile_key(user, id)))
            .update_expression("SET #name = :name")
            .condition_expression("attribute_exists(entry)")
            .expression_attribute_names("#name", "name")
            .expression_attribute_values(":name", s(name.as_str()))
            .return_values(aws_sdk_dynamodb::types::ReturnValue::AllNew)
            .send()
            .await;
        if_applied(sent)?.and_then(|it| it.attributes).map(from_item).transpose()
    }

    /// Deletes a profile without connections. Its data stays, unless `erase_at` requests an erasure that begins then.
    pub async fn delete_profile(
        &self,
        user: UserId,
        id: ProfileId,
        erase_at: Option<DateTime<Utc>>,
    ) -> Result<ProfileDeleted, StorageError> {
        let mut retries = WriteRetries::with_backoff(&self.random);
        loop {
            let Some(entry) = self.profiles_entry(profile_key(user, id)).await? else {
                return Ok(ProfileDeleted::NotThere);
            };
            let connections = number(&entry, "connections").unwrap_or_default();
            if connections != 0 {
                return Ok(ProfileDeleted::HasConnections(connections));
            }
            let profile: Profile = from_item(entry)?;
            let delete = |key| Delete::builder().table_name(self.table(Table::Profiles)).set_key(Some(key));
            let write = |it: aws_sdk_dynamodb::types::builders::DeleteBuilder| {
                Ok::<_, StorageError>(
                    TransactWriteItem::builder().delete(it.build().map_err(StorageError::build)?).build(),
                )
            };
            let own = delete(profile_key(user, id)).condition_expression("connections = :none");
            let count = Update::builder()
                .table_name(self.table(Table::Profiles))
                .set_key(Some(count_key(user)))
                .update_expression("ADD profiles :less")
                .expression_attribute_values(":less", n(-1));
            let count = TransactWriteItem::builder().update(count.build().map_err(StorageError::build)?).build();
            let mut writes = vec![write(own.expression_attribute_values(":none", n(0)))?, count];
            if let Some(external_id) = &profile.external_id {
                writes.push(write(delete(external_id_key(user, external_id)))?);
            }
            if let Some(requested_at) = erase_at {
                writes.push(self.put_if_absent(erasure_item(user, id, requested_at)?)?);
            }
            if self.transact(writes).await? == TransactionOutcome::Done {
                return Ok(ProfileDeleted::Done);
            }
            // An account was connected, or the profile was deleted, since it was read.
            retries.next_attempt().await?;
        }
    }

    /// Longest due first, at most `limit`.
    pub async fn due_erasures(&self, now: DateTime<Utc>, limit: i32) -> Result<Vec<ProfileErasure>, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Profiles))
            .index_name("erasures")
            .key_condition_expression("erasure_shard = :shard AND erase_at <= :now")
            .expression_attribute_values(":shard", s(ERASURE_SHARD))
            .expression_attribute_values(":now", at(now))
            .limit(limit)
            .send()
            .await?;
        found.items.unwrap_or_default().into_iter().map(from_item).collect()
    }

    /// Sets when the next pass of an erasure is due. [`WriteOutcome::Conflict`] if its entry is gone.
    pub async fn move_erasure(
        &self,
        erasure: &ProfileErasure,
        to: DateTime<Utc>,
    ) -> Result<WriteOutcome, StorageError> {
        let moved = self
            .client
            .update_item()
            .table_name(self.table(Table::Profiles))
            .set_key(Some(erasure_key(erasure.user_id, erasure.profile_id)))
            .update_expression("SET erase_at = :to")
            .condition_expression("attribute_exists(entry)")
            .expression_attribute_values(":to", at(to))
            .send()
            .await;
        WriteOutcome::from_write(moved)
    }

    pub async fn remove_erasure(&self, erasure: &ProfileErasure) -> Result<(), StorageError> {
        let key = erasure_key(erasure.user_id, erasure.profile_id);
        self.client.delete_item().table_name(self.table(Table::Profiles)).set_key(Some(key)).send().await?;
        Ok(())
    }

    /// The profile must exist.
    pub(crate) fn count_connections(
        &self,
        user: UserId,
        profile: ProfileId,
        change: i64,
    ) -> Result<TransactWriteItem, StorageError> {
        let count = Update::builder()
            .table_name(self.table(Table::Profiles))
            .set_key(Some(profile_key(user, profile)))
            .update_expression("ADD connections :change")
            .condition_expression("attribute_exists(entry)")
            .expression_attribute_values(":change", n(change));
        Ok(TransactWriteItem::builder().update(count.build().map_err(StorageError::build)?).build())
    }
}

const PROFILE: &str = "profile#";

/// Sorted by id, which has at most 16 digits.
fn profile_key(user: UserId, id: ProfileId) -> Item {
    attributes([("user_id", n(user)), ("entry", s(format!("{PROFILE}{:016}", id.get())))])
}

/// A sort key has at most 1,024 bytes, and an external id can have nearly as many.
fn external_id_key(user: UserId, external_id: &ExternalId) -> Item {
    attributes([("user_id", n(user)), ("entry", s(format!("external_id#{}", token::hash(external_id.as_str()))))])
}

fn erasure_key(user: UserId, id: ProfileId) -> Item {
    attributes([("user_id", n(user)), ("entry", s(format!("erasure#{:016}", id.get())))])
}

/// Erasures are rare, so the index has one partition.
const ERASURE_SHARD: &str = "due";

fn erasure_item(user: UserId, id: ProfileId, requested_at: DateTime<Utc>) -> Result<Item, StorageError> {
    let mut item = to_item(&ProfileErasure { user_id: user, profile_id: id, requested_at })?;
    item.extend(erasure_key(user, id));
    item.extend(attributes([("erasure_shard", s(ERASURE_SHARD)), ("erase_at", at(requested_at))]));
    Ok(item)
}

fn count_key(user: UserId) -> Item {
    attributes([("user_id", n(user)), ("entry", s("count"))])
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_profile, a_user, limited_to};

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn external_id_is_unique_per_user_until_its_profile_is_deleted() {
        let store = store().await;
        let (user, other) = (a_user(), a_user());
        let external_id = ExternalId::parse(&"船".repeat(255)).unwrap();
        let profile = |user| Profile { external_id: Some(external_id.clone()), ..a_profile(user) };
        let first = profile(&user);

        assert_eq!(store.create_profile(&first, None).await.unwrap(), ProfileCreated::Done);
        assert_eq!(store.create_profile(&profile(&user), None).await.unwrap(), ProfileCreated::Taken);
        assert_eq!(store.create_profile(&profile(&other), None).await.unwrap(), ProfileCreated::Done);

        let found = store.profile_by_external_id(user.user_id, &external_id).await.unwrap();
        assert_eq!(found.as_ref(), Some(&first));
        let delete = async || store.delete_profile(user.user_id, first.profile_id, None).await.unwrap();
        assert_eq!((delete().await, delete().await), (ProfileDeleted::Done, ProfileDeleted::NotThere));
        assert_eq!(store.profile_by_external_id(user.user_id, &external_id).await.unwrap(), None);
        assert_eq!(store.create_profile(&profile(&user), None).await.unwrap(), ProfileCreated::Done);
    }

    #[tokio::test]
    async fn profiles_are_limited_listed_by_age_and_renamed() {
        let store = store().await;
        let user = a_user();
        let profiles = [a_profile(&user), a_profile(&user)];
        for profile in profiles.iter().rev() {
            assert_eq!(store.create_profile(profile, Some(2)).await.unwrap(), ProfileCreated::Done);
        }
        assert_eq!(store.create_profile(&a_profile(&user), Some(2)).await.unwrap(), ProfileCreated::Full);
        assert_eq!(store.create_profile(&a_profile(&a_user()), Some(0)).await.unwrap(), ProfileCreated::Full);
        assert_eq!(store.profiles(user.user_id).await.unwrap(), profiles);

        let name = ProfileName::parse("The Lighthouse").unwrap();
        let renamed = store.rename_profile(user.user_id, profiles[0].profile_id, &name).await.unwrap().unwrap();
        assert_eq!(renamed, Profile { name: name.clone(), ..profiles[0].clone() });
        assert_eq!(store.rename_profile(a_user().user_id, profiles[0].profile_id, &name).await.unwrap(), None);
        assert_eq!(store.profile(a_user().user_id, profiles[0].profile_id).await.unwrap(), None);
    }

    #[tokio::test]
    async fn limited_owner_finds_only_its_profile() {
        let store = store().await;
        let user = a_user();
        let external_id = |raw| ExternalId::parse(raw).ok();
        let own = Profile { external_id: external_id("own"), ..a_profile(&user) };
        let other = Profile { external_id: external_id("other"), ..a_profile(&user) };
        for profile in [&own, &other] {
            assert_eq!(store.create_profile(profile, None).await.unwrap(), ProfileCreated::Done);
        }
        let owner = limited_to(&own);
        let by_external_id = async |profile: &Profile| {
            let external_id = profile.external_id.as_ref().unwrap();
            store.profile_by_external_id(owner, external_id).await.unwrap()
        };

        assert_eq!(store.profiles(owner).await.unwrap(), std::slice::from_ref(&own));
        assert_eq!(store.profile(owner, own.profile_id).await.unwrap().as_ref(), Some(&own));
        assert_eq!(store.profile(owner, other.profile_id).await.unwrap(), None);
        assert_eq!((by_external_id(&own).await, by_external_id(&other).await), (Some(own.clone()), None));
        let oldest = store.oldest_profiles(user.user_id, 1).await.unwrap();
        assert_eq!(oldest, [own]);
    }
}
