//! A lock for polling the platform for an approval: one caller at a time, at intervals, however many
//! browsers wait.

use chrono::{DateTime, Utc};

use super::{FlowState, key};
use crate::Store;
use crate::error::StorageError;
use crate::item::{at, s};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

impl Store {
    /// Acquires the right to poll the platform for this connect flow. No other caller gets it before
    /// `next_at`.
    pub async fn lock_approval_check(
        &self,
        hash: &str,
        next_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<WriteOutcome, StorageError> {
        let locked = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression(
                "#state = :awaiting AND :now < expires_at AND (attribute_not_exists(next_check_at) OR next_check_at <= :now)",
            )
            .update_expression("SET next_check_at = :next")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":awaiting", s(FlowState::AwaitingApproval.as_str()))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":next", at(next_at))
            .send()
            .await;
        WriteOutcome::from_write(locked)
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{a_user, noon};

    use super::*;
    use crate::connect_flows::ConnectFlow;
    use crate::testing::{a_connect_flow, store};

    fn later(seconds: i64) -> DateTime<Utc> {
        noon() + TimeDelta::seconds(seconds)
    }

    #[tokio::test]
    async fn one_caller_polls_at_a_time_and_only_while_awaiting_approval() {
        let store = store().await;
        let connect_flow = a_connect_flow(a_user().user_id, "sandbox", noon());
        store.begin_connect_flow("other", &connect_flow).await.unwrap();
        let connect_flow = ConnectFlow { state: FlowState::AwaitingApproval, ..connect_flow };
        store.begin_connect_flow("hash", &connect_flow).await.unwrap();

        let checks =
            futures::future::join_all((0..20).map(|_| store.lock_approval_check("hash", later(10), noon()))).await;

        assert_eq!(checks.into_iter().filter(|it| it.as_ref().unwrap().is_applied()).count(), 1);
        assert_eq!(store.lock_approval_check("hash", later(19), later(9)).await.unwrap(), WriteOutcome::Conflict);
        assert_eq!(store.lock_approval_check("hash", later(20), later(10)).await.unwrap(), WriteOutcome::Applied);
        assert_eq!(
            store.lock_approval_check("hash", later(9_999), connect_flow.expires_at).await.unwrap(),
            WriteOutcome::Conflict
        );
        assert_eq!(store.lock_approval_check("other", later(10), noon()).await.unwrap(), WriteOutcome::Conflict);
        assert_eq!(store.lock_approval_check("nothing", later(10), noon()).await.unwrap(), WriteOutcome::Conflict);
    }
}
