//! Attempts: what each call to a platform did.

use chrono::{DateTime, Utc};
use domain::attempt::{Attempt, AttemptStep, KEPT_FOR};
use domain::id::{PostId, UserId};

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, from_item, n, s, to_item, ttl};
use crate::schema::Table;

impl Store {
    /// Repeating the write changes nothing: the key names the call.
    pub async fn put_attempt(&self, attempt: &Attempt) -> Result<(), StorageError> {
        let put = self.client.put_item().table_name(self.table(Table::Attempts)).set_item(Some(attempt_item(attempt)?));
        put.send().await?;
        Ok(())
    }

    /// Newest first, without expired ones. An attempt that was stored a moment ago may be missing.
    pub async fn attempts(&self, user: UserId, post: PostId, now: DateTime<Utc>) -> Result<Vec<Attempt>, StorageError> {
        let (mut attempts, mut start) = (Vec::new(), None);
        loop {
            let page = self
                .client
                .query()
                .table_name(self.table(Table::Attempts))
                .key_condition_expression("user_id = :user AND attempt BETWEEN :oldest AND :newest")
                .expression_attribute_values(":user", n(user))
                .expression_attribute_values(":oldest", s(from(post, now - KEPT_FOR)))
                // The number sign precedes all digits, and this one follows them.
                .expression_attribute_values(":newest", s(format!("{:016}#~", post.get())))
                .scan_index_forward(false)
                .set_exclusive_start_key(start)
                .send()
                .await?;
            for item in page.items.unwrap_or_default() {
                attempts.push(from_item(item)?);
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                attempts.retain(|it: &Attempt| it.is_kept(now));
                return Ok(attempts);
            }
        }
    }
}

fn attempt_item(attempt: &Attempt) -> Result<Item, StorageError> {
    let mut item = to_item(attempt)?;
    // Without the step, a call that follows another in the same millisecond would replace its record.
    let step = match attempt.step {
        AttemptStep::Prepare => 0,
        AttemptStep::Publish => 1,
        AttemptStep::LookUp => 2,
        AttemptStep::Comment => 3,
    };
    let key = format!("{}#{:016}#{step}", from(attempt.post_id, attempt.at), attempt.target_id.get());
    item.insert("attempt".to_owned(), s(key));
    item.insert("ttl".to_owned(), ttl(attempt.at + KEPT_FOR));
    Ok(item)
}

/// Thirteen digits last until the year 2286.
fn from(post: PostId, at: DateTime<Utc>) -> String {
    format!("{:016}#{:013}", post.get(), at.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::attempt::{AttemptOutcome, CallResult, ErrorKind};
    use domain::delivery::Delivery;
    use domain::id::{TargetId, UserId};
    use domain::testing::{a_delivery, noon};

    use super::*;
    use crate::testing::store;

    fn attempt(delivery: &Delivery, seconds: i64) -> Attempt {
        let at = noon() + TimeDelta::seconds(seconds);
        let call = CallResult { http_status: Some(503), error_kind: Some(ErrorKind::ServerError) };
        let message = Some("it failed".to_owned());
        Attempt::new(delivery, 0, AttemptStep::Publish, (at, at), AttemptOutcome::Unknown, message, call)
    }

    #[tokio::test]
    async fn attempts_of_a_post_are_listed_newest_first() {
        let store = store().await;
        let one = a_delivery();
        let another = Delivery { target_id: TargetId::new(99).unwrap(), ..one.clone() };
        let (first, second, third) = (attempt(&one, 0), attempt(&another, 1), attempt(&one, 2));
        for attempt in [&second, &first, &third, &third] {
            store.put_attempt(attempt).await.unwrap();
        }

        let listed = store.attempts(one.user_id, one.post_id, noon()).await.unwrap();

        assert_eq!(listed, [third, second, first]);
    }

    #[tokio::test]
    async fn steps_of_one_millisecond_are_kept_in_their_order() {
        let store = store().await;
        let publish = attempt(&a_delivery(), 0);
        let comment = Attempt { step: AttemptStep::Comment, ..publish.clone() };
        store.put_attempt(&comment).await.unwrap();
        store.put_attempt(&publish).await.unwrap();

        let listed = store.attempts(publish.user_id, publish.post_id, noon()).await.unwrap();

        assert_eq!(listed, [comment, publish]);
    }

    #[tokio::test]
    async fn attempts_of_another_post_or_user_are_not_listed() {
        let store = store().await;
        let one = a_delivery();
        let next = PostId::new(one.post_id.get() + 1).unwrap();
        store.put_attempt(&attempt(&Delivery { post_id: next, ..one.clone() }, 0)).await.unwrap();
        let theirs = Delivery { user_id: UserId::new(77).unwrap(), ..one.clone() };
        store.put_attempt(&attempt(&theirs, 0)).await.unwrap();

        assert_eq!(store.attempts(one.user_id, one.post_id, noon()).await.unwrap(), []);
    }

    #[tokio::test]
    async fn expired_attempt_is_not_listed() {
        let store = store().await;
        let one = a_delivery();
        store.put_attempt(&attempt(&one, 0)).await.unwrap();
        store.put_attempt(&attempt(&one, 1)).await.unwrap();

        let listed = store.attempts(one.user_id, one.post_id, noon() + KEPT_FOR).await.unwrap();

        assert_eq!(listed, [attempt(&one, 1)]);
    }

    #[tokio::test]
    async fn attempts_of_a_user_are_erased() {
        let store = store().await;
        let one = a_delivery();
        store.put_attempt(&attempt(&one, 0)).await.unwrap();

        assert_eq!(store.erase(Table::Attempts, one.user_id).await.unwrap(), 1);
        assert_eq!(store.attempts(one.user_id, one.post_id, noon()).await.unwrap(), []);
    }
}
