//! Files of a profile whose data is erased.

use chrono::{DateTime, Utc};
use domain::id::{MediaId, ProfileId, UserId};
use domain::profile::ProfileRef;

use super::{Medium, UNUSED_SHARDS, medium_key, shard_name};
use crate::error::StorageError;
use crate::item::{at, from_item, n, s};
use crate::{Store, Table};

impl Store {
    pub async fn media_of_profile(&self, user: UserId, profile: ProfileId) -> Result<Vec<Medium>, StorageError> {
        let mut files = self
            .client
            .query()
            .table_name(self.table(Table::Media))
            .key_condition_expression("user_id = :user")
            .filter_expression("of_profile.profile_id = :profile")
            .expression_attribute_values(":user", n(user))
            .expression_attribute_values(":profile", n(profile))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        let mut found = Vec::new();
        while let Some(file) = files.next().await.transpose()? {
            found.push(from_item(file)?);
        }
        Ok(found)
    }

    /// Makes a file, published or not, an unused file of a profile, so that it can be removed.
    /// Returns `false` if the file belongs to another profile, is being removed, or is gone.
    pub async fn claim_media(
        &self,
        user: UserId,
        profile: ProfileId,
        id: MediaId,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let of_profile = ProfileRef { profile_id: profile, profile_external_id: None };
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Media))
            .set_key(Some(medium_key(user, id)))
            .condition_expression(
                "attribute_exists(media_id) AND attribute_not_exists(doomed) \
                 AND (attribute_not_exists(of_profile) OR of_profile.profile_id = :id)",
            )
            .update_expression("SET unused_since = :now, unused_shard = :shard, of_profile = :profile")
            .expression_attribute_values(":id", n(profile))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":shard", s(shard_name(true, id.get() % UNUSED_SHARDS)))
            .expression_attribute_values(":profile", serde_dynamo::to_attribute_value(of_profile)?);
        self.send_update(update).await
    }

    pub async fn disown_media(&self, user: UserId, id: MediaId) -> Result<(), StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Media))
            .set_key(Some(medium_key(user, id)))
            .condition_expression("attribute_exists(media_id)")
            .update_expression("REMOVE of_profile");
        self.send_update(update).await.map(drop)
    }
}
