//! Requests of OAuth clients for access with the authorization code flow, from the consent page to
//! the token.
//!
//! A request is stored under the hash of a secret that only the user's browser has until approval.
//! The authorization code consists of that secret and a second one.

use aws_sdk_dynamodb::types::{TransactWriteItem, Update};
use chrono::serde::ts_milliseconds;
use chrono::{DateTime, Utc};
use domain::id::{ProfileId, UserId};
use domain::name::ClientName;
use domain::oauth::{Challenge, ClientId, RedirectUri, Resource};
use domain::scope::Scopes;
use serde::{Deserialize, Serialize};

use super::key;
use super::token::{TokenGrant, token_item};
use crate::error::StorageError;
use crate::item::{at, attributes, n, s, to_item, ttl};
use crate::write_outcome::WriteOutcome;
use crate::{Store, Table};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuthorizationGrant {
    /// The user in whose browser the request was made; only this user can decide.
    pub user_id: UserId,
    pub client_id: ClientId,
    /// The name in the client's metadata document.
    pub client_name: ClientName,
    pub redirect_uri: RedirectUri,
    /// The `state` parameter, returned with the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub challenge: Challenge,
    /// RFC 8707.
    pub resource: Resource,
    /// The requested scopes; after approval, the granted ones.
    pub scopes: Scopes,
    /// Set on approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    #[serde(with = "ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// From then on, the request can be neither approved nor exchanged.
    #[serde(with = "ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_hash: Option<String>,
}

impl Store {
    pub async fn put_authorization(&self, hash: &str, request: &AuthorizationGrant) -> Result<(), StorageError> {
        let mut item = to_item(request)?;
        item.extend(attributes([("grant", s(authorization_key(hash))), ("ttl", ttl(request.expires_at))]));
        self.client.put_item().table_name(self.table(Table::Grants)).set_item(Some(item)).send().await?;
        Ok(())
    }

    pub async fn authorization(&self, hash: &str) -> Result<Option<AuthorizationGrant>, StorageError> {
        self.grant(authorization_key(hash)).await
    }

    /// Approves a pending, unexpired request of the user in `approved`. Its code is valid until
    /// `expires_at`.
    pub async fn approve_authorization(
        &self,
        hash: &str,
        approved: &AuthorizationGrant,
        code_hash: &str,
        now: DateTime<Utc>,
        expires_at: DateTime<Utc>,
    ) -> Result<WriteOutcome, StorageError> {
        let limit = if approved.profile_id.is_some() { ", profile_id = :profile" } else { "" };
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(authorization_key(hash))))
            .condition_expression("user_id = :user AND attribute_not_exists(code_hash) AND expires_at > :now")
            .update_expression(format!(
                "SET code_hash = :code, scopes = :scopes, expires_at = :expires, #ttl = :ttl{limit}"
            ))
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":user", n(approved.user_id))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":code", s(code_hash))
            .expression_attribute_values(":scopes", serde_dynamo::to_attribute_value(&approved.scopes)?)
            .expression_attribute_values(":expires", at(expires_at))
            .expression_attribute_values(":ttl", ttl(expires_at));
        let update = match approved.profile_id {
            Some(profile) => update.expression_attribute_values(":profile", n(profile)),
            None => update,
        };
        WriteOutcome::from_write(update.send().await)
    }

    pub async fn deny_authorization(&self, hash: &str, user: UserId) -> Result<WriteOutcome, StorageError> {
        let deleted = self
            .client
            .delete_item()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(authorization_key(hash))))
            .condition_expression("user_id = :user AND attribute_not_exists(code_hash)")
            .expression_attribute_values(":user", n(user))
            .send()
            .await;
        WriteOutcome::from_write(deleted)
    }

    /// Redeems a code for this token. Of concurrent exchanges, at most one gets
    /// [`WriteOutcome::Applied`], and a code is never redeemed without storing its token. Call
    /// [`Store::mark_token`] first.
    pub async fn exchange_authorization(
        &self,
        hash: &str,
        code_hash: &str,
        token_hash: &str,
        token: &TokenGrant,
    ) -> Result<WriteOutcome, StorageError> {
        let redeem = Update::builder()
            .table_name(self.table(Table::Grants))
            .set_key(Some(key(authorization_key(hash))))
            .condition_expression("user_id = :user AND code_hash = :code AND attribute_not_exists(token_hash)")
            .update_expression("SET token_hash = :token")
            .expression_attribute_values(":user", n(token.owner))
            .expression_attribute_values(":code", s(code_hash))
            .expression_attribute_values(":token", s(token_hash))
            .build()
            .map_err(StorageError::build)?;
        let redeem = TransactWriteItem::builder().update(redeem).build();
        let put = self.put_new_grant(token_item(token_hash, token)?)?;
        Ok(self.transact(vec![redeem, put]).await?.outcome())
    }
}

fn authorization_key(hash: &str) -> String {
    format!("authorization#{hash}")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{a_user, noon};
    use domain::token;

    use super::super::testing::a_token;
    use super::*;
    use crate::testing::store;

    fn a_request(user: UserId) -> AuthorizationGrant {
        AuthorizationGrant {
            user_id: user,
            client_id: ClientId::parse("https://app.example/client.json").unwrap(),
            client_name: ClientName::parse("Planner").unwrap(),
            redirect_uri: RedirectUri::parse("http://127.0.0.1:1/back").unwrap(),
            state: Some("s".to_owned()),
            challenge: Challenge::parse(&token::hash("v")).unwrap(),
            resource: Resource::Service,
            scopes: Scopes::from_requested(&[]),
            profile_id: None,
            created_at: noon(),
            expires_at: noon() + TimeDelta::minutes(10),
            code_hash: None,
            token_hash: None,
        }
    }

    #[tokio::test]
    async fn request_is_approved_once_by_its_user_before_expiry() {
        let store = store().await;
        let (user, other) = (a_user().user_id, a_user().user_id);
        let (mine, theirs) = (a_request(user), a_request(other));
        store.put_authorization("a", &mine).await.unwrap();
        let end = noon() + TimeDelta::minutes(1);
        let approve = async |hash: &'static str, request: &AuthorizationGrant, now| {
            store.approve_authorization(hash, request, "c", now, end).await.unwrap()
        };

        assert_eq!(approve("a", &theirs, noon()).await, WriteOutcome::Conflict, "another user");
        assert_eq!(approve("b", &mine, noon()).await, WriteOutcome::Conflict, "unknown");
        assert_eq!(approve("a", &mine, mine.expires_at).await, WriteOutcome::Conflict, "late");
        assert_eq!(store.deny_authorization("a", other).await.unwrap(), WriteOutcome::Conflict);
        assert_eq!(approve("a", &mine, noon()).await, WriteOutcome::Applied);
        assert_eq!(approve("a", &mine, noon()).await, WriteOutcome::Conflict, "again");
        assert_eq!(store.deny_authorization("a", user).await.unwrap(), WriteOutcome::Conflict, "decided");

        let stored = store.authorization("a").await.unwrap().unwrap();
        assert_eq!((stored.code_hash.as_deref(), stored.expires_at), (Some("c"), end));
        store.put_authorization("b", &mine).await.unwrap();
        assert_eq!(store.deny_authorization("b", user).await.unwrap(), WriteOutcome::Applied);
        assert_eq!(store.authorization("b").await.unwrap(), None);
    }

    #[tokio::test]
    async fn approval_for_a_profile_is_read_back() {
        let store = store().await;
        let request = a_request(a_user().user_id);
        store.put_authorization("a", &request).await.unwrap();
        let approved = AuthorizationGrant { profile_id: ProfileId::new(7), ..request };

        let end = noon() + TimeDelta::minutes(1);
        store.approve_authorization("a", &approved, "c", noon(), end).await.unwrap();

        assert_eq!(store.authorization("a").await.unwrap().unwrap().profile_id, ProfileId::new(7));
    }

    #[tokio::test]
    async fn one_of_ten_concurrent_exchanges_redeems_a_code() {
        let store = store().await;
        let user = a_user().user_id;
        let (request, token) = (a_request(user), a_token(user));
        store.put_authorization("a", &request).await.unwrap();
        let exchange =
            async |code: &'static str, hash: &str| store.exchange_authorization("a", code, hash, &token).await.unwrap();
        assert_eq!(exchange("c", "early").await, WriteOutcome::Conflict, "not approved");
        store.approve_authorization("a", &request, "c", noon(), request.expires_at).await.unwrap();
        assert_eq!(exchange("x", "wrong").await, WriteOutcome::Conflict, "another code");

        let hashes: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
        let outcomes = futures::future::join_all(hashes.iter().map(|it| exchange("c", it))).await;

        assert_eq!(outcomes.iter().filter(|it| **it == WriteOutcome::Applied).count(), 1, "{outcomes:?}");
        assert_eq!(store.grants_of(user).await.unwrap().tokens.len(), 1);
        let redeemed = store.authorization("a").await.unwrap().unwrap();
        assert!(redeemed.token_hash.is_some_and(|it| hashes.contains(&it)));
    }
}
