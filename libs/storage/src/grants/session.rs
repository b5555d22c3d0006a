//! Sessions: browsers that are signed in to the service's own pages.

use chrono::serde::ts_milliseconds;
use chrono::{DateTime, Utc};
use domain::id::UserId;
use serde::{Deserialize, Serialize};

use super::key;
use crate::error::StorageError;
use crate::item::{attributes, s, to_item, ttl};
use crate::{Store, Table};

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
}

fn session_key(hash: &str) -> String {
    format!("session#{hash}")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;

    use super::*;
    use crate::testing::store;

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
