//! What opens a door: access tokens, the codes of devices on their way to one,
//! and sessions of the pages.
//!
//! The key of each is its kind and the SHA-256 of its secret, so that nobody
//! who reads the table can use what stands in it.

mod device;
mod session;
mod token;

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use serde::de::DeserializeOwned;

use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, s};
use crate::{Store, Table};
pub use device::{DeviceGrant, DeviceStage};
pub use session::SessionGrant;
pub use token::TokenGrant;

impl Store {
    /// The grant with this key, read consistently: one that was revoked is
    /// refused from that moment on.
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

fn key(grant: String) -> Item {
    attributes([("grant", s(grant))])
}

#[cfg(test)]
mod testing {
    use chrono::TimeDelta;
    use domain::id::UserId;
    use domain::scope::Scopes;
    use domain::testing::noon;
    use domain::token::Bucket;

    use super::TokenGrant;

    pub(super) fn a_token(owner: UserId) -> TokenGrant {
        TokenGrant {
            owner,
            bucket: Bucket::random(),
            scopes: Scopes::of(&[]),
            created_at: noon(),
            last_used_at: noon(),
            expires_at: noon() + TimeDelta::days(180),
        }
    }
}
