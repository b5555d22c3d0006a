//! Authenticates a request and counts it, with one write to the item of the user.
//!
//! The item has an attribute (a mark) for each token of the user, with its expiry, and one for the
//! count of each minute. The count increases only if the token's mark exists and has not expired. So
//! a revoked, expired or forged token counts nothing for the user that it names, and a valid token is
//! verified and counted in one round trip.

use aws_sdk_dynamodb::types::ReturnValue;
use chrono::{DateTime, TimeDelta, Utc};
use domain::id::UserId;
use domain::user::User;

use super::key;
use crate::error::StorageError;
use crate::grants::token_key;
use crate::item::{Item, at, from_item, n};
use crate::limits::{Counted, minute_of};
use crate::write_outcome::{WriteOutcome, if_applied};
use crate::{Store, Table};

const REQUESTS: &str = "requests#";
const MEDIA: &str = "media#";
const TOKEN: &str = "token#";

/// Attributes of past minutes and expired tokens from which on removing them is worth a write. Each
/// has about twenty bytes.
const WORTH_A_WRITE: usize = 8;

const MOST_AT_ONCE: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    pub user: User,
    pub counted: Counted,
    /// Attributes to remove. Empty unless that is worth a write.
    pub stale: Stale,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stale(Vec<String>);

impl Stale {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Store {
    /// `None` if the token is invalid or of another user, or the user is disabled: then nothing is
    /// counted.
    pub async fn admit(
        &self,
        user: UserId,
        token_hash: &str,
        is_upload: bool,
        now: DateTime<Utc>,
    ) -> Result<Option<Admitted>, StorageError> {
        let (minute, window_ends) = minute_of(now);
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Users))
            .set_key(Some(key(user)))
            .condition_expression("#token > :now AND (attribute_not_exists(disabled) OR disabled = :no)")
            .update_expression("ADD #requests :one, #media :media")
            .expression_attribute_names("#token", token_key(token_hash))
            .expression_attribute_names("#requests", format!("{REQUESTS}{minute}"))
            .expression_attribute_names("#media", format!("{MEDIA}{minute}"))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":no", false_())
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":media", n(u8::from(is_upload)))
            .return_values(ReturnValue::AllNew)
            .send()
            .await;
        let Some(response) = if_applied(update)? else { return Ok(None) };
        let item = response.attributes.unwrap_or_default();
        let count = |kind: &str| number(&item, &format!("{kind}{minute}")).and_then(|it| it.try_into().ok());
        let counted = Counted {
            requests: count(REQUESTS).unwrap_or(u32::MAX),
            media: count(MEDIA).unwrap_or(u32::MAX),
            window_ends,
        };
        let stale = stale(&item, minute, now);
        Ok(Some(Admitted { user: from_item(item)?, counted, stale }))
    }

    /// Stores the mark of a token on its user. `None` if the user does not exist, is disabled, or has
    /// signed out everywhere since the token was requested.
    pub async fn mark_token(
        &self,
        user: UserId,
        token_hash: &str,
        requested_at: DateTime<Utc>,
        expires_at: DateTime<Utc>,
    ) -> Result<Option<User>, StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Users))
            .set_key(Some(key(user)))
            .condition_expression(
                "attribute_exists(user_id) AND (attribute_not_exists(disabled) OR disabled = :no) \
                 AND (attribute_not_exists(signed_out_at) OR signed_out_at < :asked)",
            )
            .update_expression("SET #token = :expires")
            .expression_attribute_names("#token", token_key(token_hash))
            .expression_attribute_values(":expires", at(expires_at))
            .expression_attribute_values(":asked", at(requested_at))
            .expression_attribute_values(":no", false_())
            .return_values(ReturnValue::AllNew)
            .send()
            .await;
        if_applied(update)?.map(|it| from_item(it.attributes.unwrap_or_default())).transpose()
    }

    pub async fn unmark_token(&self, user: UserId, token_hash: &str) -> Result<WriteOutcome, StorageError> {
        self.remove(user, &Stale(vec![token_key(token_hash)])).await
    }

    /// Returns the hashes of the tokens.
    pub async fn unmark_tokens(&self, user: UserId) -> Result<Vec<String>, StorageError> {
        let item = self.user_item(user).await?.unwrap_or_default();
        let marks: Vec<_> = item.into_keys().filter(|it| it.starts_with(TOKEN)).collect();
        for batch in marks.chunks(MOST_AT_ONCE) {
            self.remove(user, &Stale(batch.to_vec())).await?;
        }
        Ok(marks.iter().filter_map(|it| it.strip_prefix(TOKEN)).map(str::to_owned).collect())
    }

    pub async fn tidy(&self, user: UserId, stale: &Stale) -> Result<WriteOutcome, StorageError> {
        if stale.is_empty() { Ok(WriteOutcome::Applied) } else { self.remove(user, stale).await }
    }

    pub(crate) async fn extend_mark(
        &self,
        user: UserId,
        token_hash: &str,
        expires_at: DateTime<Utc>,
    ) -> Result<WriteOutcome, StorageError> {
        let update = self
            .client
            .update_item()
            .table_name(self.table(Table::Users))
            .set_key(Some(key(user)))
            // A token that was revoked since it was read is not restored.
            .condition_expression("attribute_exists(#token)")
            .update_expression("SET #token = :expires")
            .expression_attribute_names("#token", token_key(token_hash))
            .expression_attribute_values(":expires", at(expires_at))
            .send()
            .await;
        WriteOutcome::from_write(update)
    }

    async fn remove(&self, user: UserId, attributes: &Stale) -> Result<WriteOutcome, StorageError> {
        let placeholders: Vec<_> = (0..attributes.0.len()).map(|it| format!("#a{it}")).collect();
        let mut update = self
            .client
            .update_item()
            .table_name(self.table(Table::Users))
            .set_key(Some(key(user)))
            .condition_expression("attribute_exists(user_id)")
            .update_expression(format!("REMOVE {}", placeholders.join(", ")));
        for (placeholder, name) in placeholders.into_iter().zip(&attributes.0) {
            update = update.expression_attribute_names(placeholder, name);
        }
        WriteOutcome::from_write(update.send().await)
    }
}

fn false_() -> aws_sdk_dynamodb::types::AttributeValue {
    aws_sdk_dynamodb::types::AttributeValue::Bool(false)
}

fn number(item: &Item, name: &str) -> Option<i64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

fn stale(item: &Item, minute: i64, now: DateTime<Utc>) -> Stale {
    // A token that has just expired may be extended concurrently.
    let ended = (now - TimeDelta::days(1)).timestamp_millis();
    let is_stale = |name: &&String| {
        let counts = [REQUESTS, MEDIA].iter().find_map(|it| name.strip_prefix(it));
        let is_over = counts.and_then(|it| it.parse::<i64>().ok()).is_some_and(|it| it < minute);
        is_over || name.starts_with(TOKEN) && number(item, name).is_some_and(|it| it < ended)
    };
    let names: Vec<_> = item.keys().filter(is_stale).take(MOST_AT_ONCE).cloned().collect();
    if names.len() < WORTH_A_WRITE { Stale::default() } else { Stale(names) }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_user, noon};

    use super::*;
    use crate::testing::{join, store};

    async fn with_token() -> (Store, UserId) {
        let store = store().await;
        let user = a_user();
        join(&store, &user).await;
        store.mark_token(user.user_id, "t", noon(), noon() + TimeDelta::days(1)).await.unwrap().unwrap();
        (store, user.user_id)
    }

    async fn admit_and_count(store: &Store, user: UserId, token: &str, now: DateTime<Utc>) -> Option<(u32, u32)> {
        let admitted = store.admit(user, token, false, now).await.unwrap();
        admitted.map(|it| (it.counted.requests, it.counted.media))
    }

    #[tokio::test]
    async fn invalid_token_counts_nothing() {
        let (store, user) = with_token().await;
        store.mark_token(user, "old", noon(), noon()).await.unwrap();
        store.mark_token(user, "gone", noon(), noon() + TimeDelta::days(1)).await.unwrap();
        store.unmark_token(user, "gone").await.unwrap();

        for token in ["made up", "old", "gone"] {
            assert_eq!(admit_and_count(&store, user, token, noon()).await, None, "{token}");
        }

        assert_eq!(admit_and_count(&store, user, "t", noon()).await, Some((1, 0)));
        assert_eq!(admit_and_count(&store, a_user().user_id, "t", noon()).await, None);
    }

    #[tokio::test]
    async fn sign_out_everywhere_also_ends_tokens_requested_before() {
        let (store, user) = with_token().await;
        let tomorrow = noon() + TimeDelta::days(1);
        for number in 0..150 {
            store.mark_token(user, &format!("more{number}"), noon(), tomorrow).await.unwrap().unwrap();
        }

        store.sign_out_everywhere(user, noon()).await.unwrap();
        assert_eq!(store.unmark_tokens(user).await.unwrap().len(), 151);

        for token in ["t", "more0", "more149"] {
            assert_eq!(admit_and_count(&store, user, token, noon()).await, None, "{token}");
        }
        assert_eq!(store.mark_token(user, "late", noon(), tomorrow).await.unwrap(), None);
        let requested_at = noon() + TimeDelta::milliseconds(1);
        assert!(store.mark_token(user, "new", requested_at, tomorrow).await.unwrap().is_some());
        assert_eq!(admit_and_count(&store, user, "new", noon()).await, Some((1, 0)));
    }

    #[tokio::test]
    async fn requests_and_uploads_are_counted_by_the_minute() {
        let (store, user) = with_token().await;

        store.admit(user, "t", true, noon()).await.unwrap();
        let counted = admit_and_count(&store, user, "t", noon() + TimeDelta::seconds(59)).await;
        let next = admit_and_count(&store, user, "t", noon() + TimeDelta::seconds(60)).await;

        assert_eq!((counted, next), (Some((2, 1)), Some((1, 0))));
    }

    #[tokio::test]
    async fn disabled_user_is_not_admitted_until_enabled_again() {
        let (store, user) = with_token().await;

        store.set_disabled(user, true).await.unwrap();
        let refused = admit_and_count(&store, user, "t", noon()).await;
        store.set_disabled(user, false).await.unwrap();

        assert_eq!((refused, admit_and_count(&store, user, "t", noon()).await), (None, Some((1, 0))));
    }

    #[tokio::test]
    async fn stale_attributes_are_removed_when_worth_a_write() {
        let (store, user) = with_token().await;
        store.mark_token(user, "old", noon(), noon() - TimeDelta::days(2)).await.unwrap();
        let mut now = noon();
        let mut admitted = store.admit(user, "t", true, now).await.unwrap().unwrap();
        while admitted.stale.is_empty() {
            now += TimeDelta::minutes(1);
            admitted = store.admit(user, "t", true, now).await.unwrap().unwrap();
        }
        assert!(now < noon() + TimeDelta::minutes(9), "{now}");
        assert!(admitted.stale.0.contains(&"token#old".to_owned()), "{:?}", admitted.stale);

        store.tidy(user, &admitted.stale).await.unwrap();

        let admitted = store.admit(user, "t", false, now).await.unwrap().unwrap();
        assert_eq!((admitted.counted.requests, admitted.counted.media), (2, 1));
        assert!(admitted.stale.is_empty());
    }
}
