//! Grants that were ended at their platform, by its own word.

use chrono::{DateTime, Utc};
use storage::CredentialsRecord;

use crate::{CredentialService, PublishingError};

impl CredentialService {
    /// The platform says that this grant was ended there at that time, whoever has it
    /// here: each of its connections has to be connected again, and its users are told.
    /// A grant that was given since goes on. Returns the records of those that ended, as
    /// often as this is called.
    pub async fn ended_there(
        &self,
        grant_name: &str,
        at: DateTime<Utc>,
    ) -> Result<Vec<CredentialsRecord>, PublishingError> {
        let mut ended = Vec::new();
        for record in self.store.records_of_grant(grant_name).await? {
            // Generations begin with the time, in milliseconds; what is signed tells whole
            // seconds.
            let until = u64::try_from((at.timestamp() + 1) * 1_000).unwrap_or_default();
            if record.generation < until && self.lose(&record).await? {
                ended.push(record);
            }
        }
        Ok(ended)
    }
}
