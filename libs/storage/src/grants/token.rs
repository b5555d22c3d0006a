use chrono::serde::ts_milliseconds;
use chrono::{DateTime, Utc};
use domain::access_token::TokenLifetime;
use domain::id::{ProfileId, UserId};
use domain::name::ClientName;
use domain::oauth::{ClientId, Resource};
use domain::owner::Owner;
use domain::scope::Scopes;
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::key;
use crate::error::StorageError;
use crate::item::{Item, at, attributes, n, s, to_item, ttl};
use crate::write_outcome::WriteOutcome;
use crate::{Store, Table};

pub(crate) const TOKEN: &str = "token#";

const DELETIONS: usize = 10;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenGrant {
    pub owner: UserId,
    /// The token counts as unknown once the profile is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    pub scopes: Scopes,
    /// Chosen by the client, so it proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<ClientName>,
    /// The URL of the client's metadata document; `None` for tokens of the device flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
    pub resource: Resource,
    #[serde(with = "ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Accurate to one day, see [`Store::touch_token`].
    #[serde(with = "ts_milliseconds")]
    pub last_used_at: DateTime<Utc>,
    /// From then on, the token counts as unknown.
    #[serde(with = "ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
}

impl TokenGrant {
    pub fn made(owner: UserId, scopes: Scopes, now: DateTime<Utc>, expires_at: DateTime<Utc>) -> Self {
        Self {
            owner,
            profile_id: None,
            scopes,
            client_name: None,
            client_id: None,
            resource: Resource::Service,
            created_at: now,
            last_used_at: now,
            expires_at,
        }
    }

    /// Whose resources requests with the token read and write.
    pub fn acts_for(&self) -> Owner {
        Owner { user_id: self.owner, limited_to: self.profile_id }
    }

    pub fn ends(&self, lifetime: TokenLifetime, used_at: DateTime<Utc>) -> DateTime<Utc> {
        let lifetime = if self.client_id.is_some() { lifetime.for_client() } else { lifetime };
        lifetime.ends(self.created_at, used_at)
    }
}

impl Store {
    /// Read consistently, so that revocation takes effect immediately.
    pub async fn token(&self, hash: &str) -> Result<Option<TokenGrant>, StorageError> {
        self.grant(token_key(hash)).await
    }

    /// [`WriteOutcome::Conflict`] if the user does not exist, is disabled, or has signed out
    /// everywhere since the token was requested.
    pub async fn put_token(&self, hash: &str, token: &TokenGrant) -> Result<WriteOutcome, StorageError> {
        if self.mark_token(token.owner, hash, token.created_at, token.expires_at).await?.is_none() {
            return Ok(WriteOutcome::Conflict);
        }
        let item = token_item(hash, token)?;
        self.client.put_item().table_name(self.table(Table::Grants)).set_item(Some(item)).send().await?;
        Ok(WriteOutcome::Applied)
    }

    /// Callers do this at most once a day: a write per request would cost more than the request.
    pub async fn touch_token(
        &self,
        owner: UserId,
        hash: &str,
        used_at: DateTime<Utc>,
        expires_at: DateTime<Utc>,
    ) -> Result<WriteOutcome, StorageError> {
        let update = async {
            let update = self
                .client
                .update_item()
                .table_name(self.table(Table::Grants))
                .set_key(Some(key(token_key(hash))))
                // A token that was revoked since it was read is not restored.
                .condition_expression("attribute_exists(#grant)")
                .update_expression("SET last_used_at = :used, expires_at = :expires, #ttl = :ttl")
                .expression_attribute_names("#grant", "grant")
                .expression_attribute_names("#ttl", "ttl")
                .expression_attribute_values(":used", at(used_at))
                .expression_attribute_values(":expires", at(expires_at))
                .expression_attribute_values(":ttl", ttl(expires_at))
                .send()
                .await;
            WriteOutcome::from_write(update)
        };
        let (touched, prolonged) = futures::join!(update, self.extend_mark(owner, hash, expires_at));
        prolonged?;
        touched
    }

    pub async fn revoke_token(&self, owner: UserId, hash: &str) -> Result<WriteOutcome, StorageError> {
        // A token without its mark is invalid, so the mark is removed first. Only a mark of this
        // owner is removed.
        self.unmark_token(owner, hash).await?;
        self.delete_token(owner, hash).await
    }

    /// Returns the hashes of the tokens.
    pub async fn revoke_all_tokens(&self, owner: UserId) -> Result<Vec<String>, StorageError> {
        let hashes = self.unmark_tokens(owner).await?;
        let delete = |hash: String| async move { self.delete_token(owner, &hash).await.map(|_| hash) };
        stream::iter(hashes).map(delete).buffer_unordered(DELETIONS).try_collect().await
    }

    async fn delete_token(&self, owner: UserId, hash: &str) -> Result<WriteOutcome, StorageError> {
        let deleted = self
            .client
            .delete_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(token_key(hash))))
            .condition_expression("#owner = :owner")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":owner", n(owner))
            .send()
            .await;
        WriteOutcome::from_write(deleted)
    }
}

pub(super) fn token_item(hash: &str, token: &TokenGrant) -> Result<Item, StorageError> {
    let mut item = to_item(token)?;
    item.extend(attributes([("grant", s(token_key(hash))), ("ttl", ttl(token.expires_at))]));
    Ok(item)
}

/// Also the name of the token's mark on the item of its user.
pub(crate) fn token_key(hash: &str) -> String {
    format!("{TOKEN}{hash}")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{a_user, noon};
    use domain::user::User;

    use super::super::testing::a_token;
    use super::*;
    use crate::testing::{join, store};

    #[tokio::test]
    async fn token_is_revoked_only_by_its_owner_and_stays_revoked() {
        let store = store().await;
        let (owner, stranger) = (a_user(), a_user());
        join(&store, &owner).await;
        join(&store, &stranger).await;
        let (owner, stranger) = (owner.user_id, stranger.user_id);
        store.put_token("t", &a_token(owner)).await.unwrap();

        assert_eq!(store.revoke_token(stranger, "t").await.unwrap(), WriteOutcome::Conflict);
        assert!(store.token("t").await.unwrap().is_some());
        assert!(store.admit(owner, "t", false, noon()).await.unwrap().is_some());
        assert_eq!(store.revoke_token(owner, "t").await.unwrap(), WriteOutcome::Applied);
        let touched = store.touch_token(owner, "t", noon(), noon() + TimeDelta::days(1)).await.unwrap();

        assert_eq!(touched, WriteOutcome::Conflict);
        assert_eq!(store.token("t").await.unwrap(), None);
        assert_eq!(store.admit(owner, "t", false, noon()).await.unwrap(), None);
    }

    #[tokio::test]
    async fn tokens_are_listed_for_their_owner_latest_first() {
        let store = store().await;
        let (owner, other) = (a_user(), a_user());
        join(&store, &owner).await;
        join(&store, &other).await;
        let later = TokenGrant { created_at: noon() + TimeDelta::days(1), ..a_token(owner.user_id) };
        store.put_token("early", &a_token(owner.user_id)).await.unwrap();
        store.put_token("late", &later).await.unwrap();
        store.put_token("other", &a_token(other.user_id)).await.unwrap();

        let hashes: Vec<String> =
            store.grants_of(owner.user_id).await.unwrap().tokens.into_iter().map(|it| it.0).collect();

        assert_eq!(hashes, ["late", "early"]);
    }

    #[tokio::test]
    async fn disabled_or_unknown_user_gets_no_token() {
        let store = store().await;
        let disabled = User { disabled: true, ..a_user() };
        join(&store, &disabled).await;

        assert_eq!(store.put_token("t", &a_token(disabled.user_id)).await.unwrap(), WriteOutcome::Conflict);
        assert_eq!(store.put_token("t", &a_token(a_user().user_id)).await.unwrap(), WriteOutcome::Conflict);

        assert_eq!(store.token("t").await.unwrap(), None);
    }
}
