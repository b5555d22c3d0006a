//! The number of uploads by platform and day. All users of a deployment share the quota of its app,
//! so the key has no user.

use std::collections::BTreeMap;

use domain::upload_day::UploadDay;

use crate::error::StorageError;
use crate::item::{Item, attributes, n, number, s, ttl};
use crate::{Store, Table};

impl Store {
    /// Uploads that are scheduled for this day, or have begun on it.
    pub async fn uploads_on(&self, platform: &str, day: UploadDay) -> Result<u64, StorageError> {
        let count = self.client.get_item().table_name(self.table(Table::Limits));
        let count = count.set_key(Some(key(platform, day))).send().await?;
        Ok(count.item.and_then(|it| number(&it, "uploads")).unwrap_or_default())
    }

    /// The count of a day is one item for all users, so it is not in the transaction of a post:
    /// writes of other users would conflict with it.
    pub async fn count_uploads(&self, changes: &BTreeMap<(&str, UploadDay), i64>) -> Result<(), StorageError> {
        for (&(platform, day), by) in changes {
            let update = self.client.update_item().table_name(self.table(Table::Limits));
            let update = update.set_key(Some(key(platform, day)));
            let update = update.update_expression("ADD uploads :by SET #ttl = :ttl");
            let update = update.expression_attribute_names("#ttl", "ttl");
            let update = update.expression_attribute_values(":by", n(by));
            update.expression_attribute_values(":ttl", ttl(day.ends_at())).send().await?;
        }
        Ok(())
    }
}

fn key(platform: &str, day: UploadDay) -> Item {
    attributes([("subject", s(format!("uploads#{platform}"))), ("minute", n(day.number()))])
}
