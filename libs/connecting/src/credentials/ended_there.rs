//! Grants that ended at their platform, as the platform reports.

use chrono::{DateTime, Utc};
use storage::CredentialsRecord;

use crate::{ConnectingError, CredentialService};

impl CredentialService {
    /// Handles the report of a platform that this grant ended at `at`, for all users that have it:
    /// each of its connections needs reconnection, and its users are notified. A grant that is
    /// newer continues to work. Returns the records that ended, on every call.
    pub async fn ended_there(
        &self,
        grant_name: &str,
        at: DateTime<Utc>,
    ) -> Result<Vec<CredentialsRecord>, ConnectingError> {
        let mut ended = Vec::new();
        for record in self.store.records_of_grant(grant_name).await? {
            // A generation begins with a time in milliseconds; a signed notification has whole
            // seconds.
            let until = u64::try_from((at.timestamp() + 1) * 1_000).unwrap_or_default();
            if record.state.generation < until && self.lose(&record).await? {
                ended.push(record);
            }
        }
        Ok(ended)
    }
}
