//! Erases all data of a user, and in [`of_profile`] all data of a profile.
//!
//! The keys of most tables start with the user. The other tables are scanned: erasure is rare, and
//! an index for it would cost with every write.

mod of_profile;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::id::UserId;
use futures::{StreamExt, TryStreamExt, stream};

use crate::Store;
use crate::credentials::{self, CredentialsRecord, credentials_key};
use crate::error::StorageError;
use crate::item::{Item, n, s};
use crate::migration::ItemPage;
use crate::schema::{Table, TableSchema};
pub use of_profile::ProfileContents;

const CONCURRENCY: usize = 16;

/// How an item names its user, in a table whose key does not start with the user.
#[derive(Clone, Copy)]
enum UserReference {
    /// In one of these attributes.
    By(&'static [&'static str]),
    /// In `user_id`, or in the key of a marker of a connected account.
    InConnectFlow,
    /// In a part of its `subject`.
    InSubject,
    /// At the start of its `delivery`.
    InDelivery,
}

impl Store {
    /// Returns the number of deleted items.
    pub async fn erase(&self, table: Table, user: UserId) -> Result<usize, StorageError> {
        let reference = match table {
            Table::Users
            | Table::Connections
            | Table::Credentials
            | Table::Media
            | Table::Posts
            | Table::Deliveries
            | Table::Attempts
            | Table::Idempotency
            | Table::Profiles
            | Table::Webhooks
            | Table::WebhookDeliveries
            | Table::Outbox => return self.delete_where(table, Some(user), |_| true).await,
            Table::Grants => UserReference::By(&["owner", "user_id"]),
            Table::ConnectFlows => UserReference::InConnectFlow,
            Table::Limits => UserReference::InSubject,
            Table::Claims => UserReference::InDelivery,
            // Secrets of the deployment, not of users.
            Table::Vault => return Ok(0),
        };
        self.delete_where(table, None, |it| belongs_to(it, reference, user)).await
    }

    pub async fn all_credentials(&self, user: UserId) -> Result<Vec<CredentialsRecord>, StorageError> {
        let (mut records, mut start) = (Vec::new(), None);
        loop {
            let page = self.page(Table::Credentials, Some(user), start).await?;
            for item in page.items {
                records.push(credentials::read(item)?);
            }
            start = page.next;
            if start.is_none() {
                return Ok(records);
            }
        }
    }

    /// Deletes credentials even if connections use them.
    pub async fn erase_credentials(&self, record: &CredentialsRecord) -> Result<(), StorageError> {
        let key = credentials_key(record.user_id, &record.grant_name);
        self.client.delete_item().table_name(self.table(Table::Credentials)).set_key(Some(key)).send().await?;
        Ok(())
    }

    /// Returns the number of deleted items.
    async fn delete_where(
        &self,
        table: Table,
        user: Option<UserId>,
        belongs: impl Fn(&Item) -> bool,
    ) -> Result<usize, StorageError> {
        let (mut erased, mut start) = (0, None);
        loop {
            let page = self.page(table, user, start).await?;
            erased += self.delete_all(table, page.items.into_iter().filter(&belongs).collect()).await?;
            start = page.next;
            if start.is_none() {
                return Ok(erased);
            }
        }
    }

    async fn page(&self, table: Table, user: Option<UserId>, start: Option<Item>) -> Result<ItemPage, StorageError> {
        let Some(user) = user else { return self.item_page(table, start).await };
        let page = self
            .client
            .query()
            .table_name(self.table(table))
            .key_condition_expression("user_id = :user")
            .expression_attribute_values(":user", n(user))
            .consistent_read(true)
            .set_exclusive_start_key(start);
        let page = page.send().await?;
        Ok(ItemPage { items: page.items.unwrap_or_default(), next: page.last_evaluated_key })
    }

    async fn delete_all(&self, table: Table, items: Vec<Item>) -> Result<usize, StorageError> {
        let schema = schema(table)?;
        let deletions = items.into_iter().map(|item| {
            let names = [Some(schema.hash), schema.range].into_iter().flatten().map(|it| it.name);
            let key = names.filter_map(|it| Some((it.to_owned(), item.get(it)?.clone()))).collect();
            let delete = self.client.delete_item().table_name(self.table(table)).set_key(Some(key));
            async move { delete.send().await.map(|_| 1_usize).map_err(StorageError::from) }
        });
        stream::iter(deletions).buffer_unordered(CONCURRENCY).try_fold(0, async |all, one| Ok(all + one)).await
    }
}

fn schema(table: Table) -> Result<TableSchema, StorageError> {
    let found = Table::ALL.into_iter().find(|it| it.table == table);
    found.ok_or_else(|| StorageError::Request(format!("no table {}", table.as_str())))
}

fn belongs_to(item: &Item, reference: UserReference, user: UserId) -> bool {
    let text = |name: &str| text(item, name);
    match reference {
        UserReference::By(attributes) => attributes.iter().any(|it| item.get(*it).is_some_and(|it| is_user(it, user))),
        UserReference::InConnectFlow => {
            let marker_prefix = format!("account#{user}#");
            item.get("user_id").is_some_and(|it| is_user(it, user))
                || text("connect_flow").is_some_and(|it| it.starts_with(&marker_prefix))
        }
        UserReference::InSubject => {
            // E-mail and IP addresses contain no number sign, so no part of one is mistaken for an id.
            text("subject").is_some_and(|it| it.split('#').skip(1).any(|part| part == user.to_string()))
        }
        UserReference::InDelivery => text("delivery").is_some_and(|it| it.starts_with(&format!("{user}/"))),
    }
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

fn is_user(value: &AttributeValue, user: UserId) -> bool {
    *value == n(user) || *value == s(user.to_string())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::media::MimeType;
    use domain::scope::Scopes;
    use domain::testing::{a_connection, a_user, ids, noon};
    use domain::user::User;

    use super::*;
    use crate::testing::{connect, join, store};
    use crate::{AddMediaOutcome, Medium, Room, SessionGrant, TokenGrant};

    async fn populate(store: &Store, user: &User) {
        join(store, user).await;
        let connection = a_connection(user);
        connect(store, &connection, &[1], None).await;
        let medium = Medium::expected(user.user_id, ids().fresh(), MimeType::Png, noon()).holding(1);
        let room = Room { bytes: 10, files: 10, bytes_of_profile: None };
        assert_eq!(store.add_media_file(&medium, room).await.unwrap(), AddMediaOutcome::Added);
        let session = SessionGrant {
            owner: user.user_id,
            address: [192, 0, 2, 1].into(),
            created_at: noon(),
            expires_at: noon() + TimeDelta::hours(1),
        };
        store.put_session(&format!("session of {}", user.user_id), &session).await.unwrap();
        let token = TokenGrant::made(user.user_id, Scopes::from_requested(&[]), noon(), noon() + TimeDelta::days(180));
        store.put_token(&format!("token of {}", user.user_id), &token).await.unwrap();
        store.count(&format!("entries#{}", user.user_id), false, noon()).await.unwrap();
    }

    async fn erase_all(store: &Store, user: &User) -> Vec<(Table, usize)> {
        let mut erased = Vec::new();
        for schema in Table::ALL {
            let count = store.erase(schema.table, user.user_id).await.unwrap();
            erased.push((schema.table, count));
        }
        erased.retain(|it| it.1 != 0);
        erased
    }

    #[tokio::test]
    async fn all_items_of_a_user_are_erased_and_none_of_another() {
        let store = store().await;
        let (one, other) = (a_user(), User { user_id: UserId::new(77).unwrap(), ..a_user() });
        populate(&store, &one).await;
        let before = erase_all(&store, &other).await;
        populate(&store, &other).await;

        let erased = erase_all(&store, &one).await;
        let again = erase_all(&store, &one).await;
        let theirs = erase_all(&store, &other).await;

        assert_eq!(before, [], "nothing is erased for another user");
        let expected = [
            (Table::Users, 1),
            (Table::Grants, 3),
            (Table::Limits, 1),
            (Table::Connections, 1),
            (Table::ConnectFlows, 2),
            (Table::Media, 2),
            (Table::Credentials, 1),
        ];
        assert_eq!(erased, expected);
        assert_eq!(again, []);
        assert_eq!(theirs, expected);
    }
}
