//! Access: tokens, pending requests of devices and OAuth clients for one, and sessions of the pages.
//!
//! The key of each is its kind and the SHA-256 of its secret, so that read access to the table is not
//! enough to use them.

mod authorization;
mod device;
mod session;
mod token;

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use domain::id::UserId;
use serde::de::DeserializeOwned;

use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s};
use crate::{Store, Table};
pub use authorization::AuthorizationGrant;
pub use session::SessionGrant;
pub use token::TokenGrant;
pub(crate) use token::{TOKEN, token_key};

/// Latest first, each with its hash.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    pub tokens: Vec<(String, TokenGrant)>,
    pub sessions: Vec<(String, SessionGrant)>,
}

impl Store {
    /// Read consistently, so that revocation takes effect immediately.
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

    /// From an index that may lag behind.
    pub async fn grants_of(&self, owner: UserId) -> Result<Grants, StorageError> {
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
        let mut grants = Grants::default();
        while let Some(item) = pages.next().await.transpose()? {
            let grant = item.get("grant").and_then(|it| it.as_s().ok()).cloned().unwrap_or_default();
            if let Some(hash) = grant.strip_prefix(TOKEN) {
                grants.tokens.push((hash.to_owned(), from_item(item)?));
            } else if let Some(hash) = grant.strip_prefix(session::SESSION) {
                grants.sessions.push((hash.to_owned(), from_item(item)?));
            }
        }
        Ok(grants)
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

    use super::TokenGrant;

    pub(super) fn a_token(owner: UserId) -> TokenGrant {
        TokenGrant::made(owner, Scopes::from_requested(&[]), noon(), noon() + TimeDelta::days(180))
    }
}
