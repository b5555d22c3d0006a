//! Sessions: browsers that are signed in to the service's pages.

use std::net::IpAddr;

use chrono::serde::ts_milliseconds;
use chrono::{DateTime, Utc};
use domain::id::UserId;
use serde::{Deserialize, Serialize};

use super::key;
use crate::error::StorageError;
use crate::item::{attributes, n, s, to_item, ttl};
use crate::write_outcome::WriteOutcome;
use crate::{Store, Table};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionGrant {
    pub owner: UserId,
    pub address: IpAddr,
    #[serde(with = "ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    #[serde(with = "ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
}

impl Store {
    pub async fn put_session(&self, hash: &str, session: &SessionGrant) -> Result<(), StorageError> {
        let mut item = to_item(session)?;
        item.extend(attributes([("grant", s(session_key(hash))), ("ttl", ttl(session.expires_at))]));
        self.client.put_item().table_name(self.table(Table::Grants)).set_item(Some(item)).send().await?;
        Ok(())
    }

    pub async fn session(&self, hash: &str) -> Result<Option<SessionGrant>, StorageError> {
        self.grant(session_key(hash)).await
    }

    pub async fn end_session(&self, owner: UserId, hash: &str) -> Result<WriteOutcome, StorageError> {
        let deleted = self
            .client
            .delete_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(session_key(hash))))
            .condition_expression("#owner = :owner")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":owner", n(owner))
            .send()
            .await;
        WriteOutcome::from_write(deleted)
    }
}

pub(super) const SESSION: &str = "session#";

fn session_key(hash: &str) -> String {
    format!("{SESSION}{hash}")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn session_is_listed_for_its_owner_and_ended_only_by_them() {
        let store = store().await;
        let (owner, stranger) = (UserId::new(1).unwrap(), UserId::new(2).unwrap());
        let session = SessionGrant {
            owner,
            address: [192, 0, 2, 1].into(),
            created_at: noon(),
            expires_at: noon() + TimeDelta::days(7),
        };
        store.put_session("s", &session).await.unwrap();

        let listed = store.grants_of(owner).await.unwrap();
        assert_eq!((listed.sessions, listed.tokens), (vec![("s".to_owned(), session.clone())], Vec::new()));
        assert_eq!(store.end_session(stranger, "s").await.unwrap(), WriteOutcome::Conflict);
        assert_eq!(store.session("s").await.unwrap(), Some(session));
        assert_eq!(store.end_session(owner, "s").await.unwrap(), WriteOutcome::Applied);

        assert_eq!(store.session("s").await.unwrap(), None);
    }
}
