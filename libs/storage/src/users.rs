//! Users, and their identities at an OpenID Connect issuer.

mod admission;

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use chrono::{DateTime, Utc};
use domain::id::UserId;
use domain::time_zone::TimeZone;
use domain::token;
use domain::user::User;
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, s, to_item};
use crate::transaction::TransactionOutcome;
use crate::{Store, Table, WriteOutcome};
pub use admission::{Admitted, Stale};

/// The pair never changes, unlike an e-mail address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub issuer: String,
    /// The `sub` claim.
    pub subject: String,
}

/// The issuer of users who sign in with links.
const LINKS: &str = "e-mail";

impl Identity {
    /// The identity of a user who signs in with links that are sent to this address, in lower case.
    pub fn by_links(email: &str) -> Self {
        Self { issuer: LINKS.to_owned(), subject: email.to_owned() }
    }

    fn grant(&self) -> String {
        // Without the length, the pairs ("a|b", "c") and ("a", "b|c") would have equal texts.
        let pair = format!("{}|{}|{}", self.issuer.len(), self.issuer, self.subject);
        format!("identity#{}", token::hash(&pair))
    }
}

#[derive(Serialize, Deserialize)]
struct Pointer {
    grant: String,
    user_id: UserId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateUserOutcome {
    Ours,
    /// The identity or the user id is in use, because of a concurrent sign-in.
    Taken,
}

impl Store {
    pub async fn user(&self, user: UserId) -> Result<Option<User>, StorageError> {
        self.user_item(user).await?.map(from_item).transpose()
    }

    async fn user_item(&self, user: UserId) -> Result<Option<Item>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Users))
            .set_key(Some(key(user)))
            // A user who signs in for the first time is read immediately afterwards.
            .consistent_read(true)
            .send()
            .await?;
        Ok(found.item)
    }

    pub async fn user_of(&self, identity: &Identity) -> Result<Option<UserId>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(attributes([("grant", s(identity.grant()))])))
            .consistent_read(true)
            .send()
            .await?;
        let pointer: Option<Pointer> = found.item.map(from_item).transpose()?;
        Ok(pointer.map(|it| it.user_id))
    }

    /// Of concurrent first sign-ins of one identity, one gets [`CreateUserOutcome::Ours`].
    pub async fn join(&self, identity: &Identity, user: &User) -> Result<CreateUserOutcome, StorageError> {
        let pointer = self.put_pointer(identity, user.user_id)?;
        let user = Put::builder()
            .table_name(self.table(Table::Users))
            .set_item(Some(to_item(user)?))
            .condition_expression("attribute_not_exists(user_id)")
            .build()
            .map_err(StorageError::build)?;
        let user = TransactWriteItem::builder().put(user).build();
        Ok(match self.transact(vec![pointer, user]).await? {
            TransactionOutcome::Done => CreateUserOutcome::Ours,
            // Another first sign-in was faster. The caller looks up its user.
            TransactionOutcome::Refused(_) => CreateUserOutcome::Taken,
        })
    }

    /// [`WriteOutcome::Conflict`] if one of the identities has changed since it was read.
    pub async fn replace_identity(
        &self,
        old: &Identity,
        new: &Identity,
        user: UserId,
    ) -> Result<WriteOutcome, StorageError> {
        let delete = Delete::builder()
            .table_name(self.table(Table::Grants))
            .set_key(Some(attributes([("grant", s(old.grant()))])))
            .condition_expression("user_id = :user")
            .expression_attribute_values(":user", n(user));
        let delete = delete.build().map_err(StorageError::build)?;
        let writes = vec![self.put_pointer(new, user)?, TransactWriteItem::builder().delete(delete).build()];
        Ok(self.transact(writes).await?.outcome())
    }

    /// Fails if the identity has a user.
    fn put_pointer(&self, identity: &Identity, user: UserId) -> Result<TransactWriteItem, StorageError> {
        let put = Put::builder()
            .table_name(self.table(Table::Grants))
            .set_item(Some(to_item(&Pointer { grant: identity.grant(), user_id: user })?))
            .condition_expression("attribute_not_exists(#grant)")
            .expression_attribute_names("#grant", "grant");
        Ok(TransactWriteItem::builder().put(put.build().map_err(StorageError::build)?).build())
    }

    /// As the issuer reports them.
    pub async fn rename(&self, user: UserId, name: &str, email: &str) -> Result<(), StorageError> {
        self.update_user(user)
            .update_expression("SET #name = :name, #email = :email")
            .expression_attribute_names("#name", "name")
            .expression_attribute_names("#email", "email")
            .expression_attribute_values(":name", s(name))
            .expression_attribute_values(":email", s(email))
            .send()
            .await?;
        Ok(())
    }
}

impl Store {
    /// Fails if the user does not exist.
    fn update_user(&self, user: UserId) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(self.table(Table::Users))
            .set_key(Some(key(user)))
            .condition_expression("attribute_exists(user_id)")
    }

    pub async fn set_time_zone(&self, user: UserId, zone: &TimeZone) -> Result<(), StorageError> {
        self.update_user(user)
            .update_expression("SET time_zone = :zone")
            .expression_attribute_values(":zone", s(zone.name()))
            .send()
            .await?;
        Ok(())
    }

    /// Ends all sessions that started until now.
    pub async fn sign_out_everywhere(&self, user: UserId, now: DateTime<Utc>) -> Result<(), StorageError> {
        self.update_user(user)
            .update_expression("SET signed_out_at = :now")
            .expression_attribute_values(":now", at(now))
            .send()
            .await?;
        Ok(())
    }

    /// Disables or enables a user, as an operator does with `infra/disable-user`.
    /// [`crate::WriteOutcome::Conflict`] if the user does not exist.
    #[cfg(any(test, feature = "testing"))]
    pub async fn set_disabled(&self, user: UserId, disabled: bool) -> Result<crate::WriteOutcome, StorageError> {
        let update = self
            .update_user(user)
            .update_expression("SET disabled = :disabled")
            .expression_attribute_values(":disabled", aws_sdk_dynamodb::types::AttributeValue::Bool(disabled))
            .send()
            .await;
        crate::WriteOutcome::from_write(update)
    }
}

fn key(user: UserId) -> Item {
    attributes([("user_id", n(user))])
}

#[cfg(test)]
mod tests;
