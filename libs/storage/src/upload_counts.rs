//! The number of uploads by platform and day. All users of a deployment share the quota of its app, so the key has no
//! user.

use aws_sdk_dynamodb::types::{TransactWriteItem, Update};
use domain::upload_day::UploadDay;

use crate::error::StorageError;
use crate::item::{Item, attributes, n, number, s, ttl};
use crate::{Store, Table};

impl Store {
    /// How many uploads to a platform are scheduled for this day, or have begun on it.
    pub async fn uploads_on(&self, platform: &str, day: UploadDay) -> Result<u64, StorageError> {
        let count = self.client.get_item().table_name(self.table(Table::Limits));
        let count = count.set_key(Some(key(platform, day))).send().await?;
        Ok(count.item.and_then(|it| number(&it, "uploads")).unwrap_or_default())
    }

    pub(crate) fn count_uploads_action(
        &self,
        platform: &str,
        day: UploadDay,
        by: i64,
    ) -> Result<TransactWriteItem, StorageError> {
        let update = Update::builder()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(platform, day)))
            .update_expression("ADD uploads :by SET #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":by", n(by))
            .expression_attribute_values(":ttl", ttl(day.ends_at()));
        let update = update.build().map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

fn key(platform: &str, day: UploadDay) -> Item {
    attributes([("subject", s(format!("uploads#{platform}"))), ("minute", n(day.number()))])
}
