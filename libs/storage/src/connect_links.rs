//! Connect links. [`domain::connect_link`] decides how they change.

use chrono::{DateTime, Utc};
use domain::connect_link::ConnectLink;

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s, to_item, ttl};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

impl Store {
    pub async fn put_connect_link(&self, hash: &str, link: &ConnectLink) -> Result<(), StorageError> {
        let put = self.client.put_item().table_name(self.table(Table::ConnectFlows));
        let put = put.set_item(Some(item(hash, link)?)).condition_expression("attribute_not_exists(connect_flow)");
        put.send().await?;
        Ok(())
    }

    pub async fn connect_link(&self, hash: &str) -> Result<Option<ConnectLink>, StorageError> {
        let found = self.client.get_item().table_name(self.table(Table::ConnectFlows)).set_key(Some(key(hash)));
        found.consistent_read(true).send().await?.item.map(from_item).transpose()
    }

    /// `None` once the link is forgotten or its profile is deleted.
    pub async fn remembered_connect_link(
        &self,
        hash: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<ConnectLink>, StorageError> {
        let Some(link) = self.connect_link(hash).await?.filter(|it| now < it.remembered_until()) else {
            return Ok(None);
        };
        let profile = self.profile(link.user_id, link.of_profile.profile_id).await?;
        Ok(profile.map(|_| link))
    }

    /// [`WriteOutcome::Conflict`] unless the stored link has this `revision`.
    pub async fn replace_connect_link(
        &self,
        hash: &str,
        revision: u64,
        after: &ConnectLink,
    ) -> Result<WriteOutcome, StorageError> {
        let put = self.client.put_item().table_name(self.table(Table::ConnectFlows)).set_item(Some(item(hash, after)?));
        let put = put.condition_expression("revision = :read").expression_attribute_values(":read", n(revision));
        WriteOutcome::from_write(put.send().await)
    }
}

/// In the table of connect flows, which expire in the same way.
fn key(hash: &str) -> Item {
    attributes([("connect_flow", s(format!("link#{hash}")))])
}

fn item(hash: &str, link: &ConnectLink) -> Result<Item, StorageError> {
    let mut item = to_item(link)?;
    item.extend(key(hash));
    item.insert("ttl".to_owned(), ttl(link.remembered_until()));
    Ok(item)
}

#[cfg(test)]
mod tests {
    use domain::connect_flow::FlowOwner;
    use domain::testing::{a_connect_link, noon};

    use super::*;
    use crate::testing::store;

    #[tokio::test]
    async fn one_of_two_browsers_that_open_a_link_at_once_gets_it() {
        let store = store().await;
        let link = a_connect_link();
        store.put_connect_link("hash", &link).await.unwrap();
        assert!(store.put_connect_link("hash", &link).await.is_err(), "a second link under the same secret");
        assert_eq!(store.connect_link("another").await.unwrap(), None);

        let opened = |by: &str| link.clone().open(&FlowOwner::Guest(by.to_owned()), noon()).unwrap();
        let (first, second) = (opened("first"), opened("second"));
        assert_eq!(store.replace_connect_link("hash", link.revision, &first).await.unwrap(), WriteOutcome::Applied);
        assert_eq!(store.replace_connect_link("hash", link.revision, &second).await.unwrap(), WriteOutcome::Conflict);
        assert_eq!(store.connect_link("hash").await.unwrap(), Some(first));
        assert_eq!(store.connect_flow("hash").await.unwrap(), None, "a link is no connect flow");
    }
}
