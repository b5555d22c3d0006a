//! Processes the forms of a connect flow: the field values of the platform, and the choice of
//! accounts. One submission is processed at a time, ten in all.

use std::collections::{BTreeMap, BTreeSet};

use domain::connect_flow::{FlowLockError, FlowOwner, FlowState};
use platforms::{Account, Connect, ConnectError, FieldValues};
use secrecy::ExposeSecret;
use storage::MAX_CONNECTED;

use crate::flow::Changed;
use crate::start::AuthorizeOutcome;
use crate::{AccountChoice, ConnectFlows, ConnectingError, LoadedFlow};

/// Enough for any token or URL.
const MAX_VALUE_BYTES: usize = 2048;

pub enum Submission {
    Redirect {
        url: String,
    },
    /// The page of the flow shows what follows.
    Done,
    /// Messages by field name. The user can correct the values.
    InvalidFields(BTreeMap<&'static str, String>),
    /// The platform did not start the authorization. The user can try again.
    Failed(ConnectError),
    NotProcessed(FlowLockError),
}

pub enum Selection {
    All,
    /// By account id. Ids that were not offered have no effect.
    Accounts(BTreeSet<String>),
}

pub enum Choice {
    /// The page of the flow shows the result.
    Done,
    /// No account was selected, or more than [`MAX_CONNECTED`]. The user can choose again.
    InvalidCount {
        choices: Vec<AccountChoice>,
        selected: usize,
    },
    NotProcessed(FlowLockError),
}

impl ConnectFlows {
    pub async fn submit_fields(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        by: &FlowOwner,
        values: &FieldValues,
    ) -> Result<Submission, ConnectingError> {
        let locked = match self.lock(loaded, by).await? {
            Changed::Written(locked) => locked,
            Changed::Rejected(error) => return Ok(Submission::NotProcessed(error)),
        };
        let submission = self.authorize_submitted(&locked, platform, by, values).await;
        self.unlock(&locked).await;
        submission
    }

    async fn authorize_submitted(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        by: &FlowOwner,
        values: &FieldValues,
    ) -> Result<Submission, ConnectingError> {
        let invalid_fields = invalid_fields(platform, values);
        if !invalid_fields.is_empty() {
            return Ok(Submission::InvalidFields(invalid_fields));
        }
        let outcome = self.authorize(platform, &loaded.state_token, values).await?;
        let (by, now) = (Some(by), self.clock.now());
        match outcome {
            AuthorizeOutcome::Redirect { url, sealed } => {
                let awaiting = self.advance(loaded, |it| it.await_callback(by, sealed.clone(), now)).await?;
                Ok(awaiting.map_or(Submission::Done, |_| Submission::Redirect { url }))
            }
            AuthorizeOutcome::WaitForApproval { sealed } => {
                self.advance(loaded, |it| it.await_approval(by, sealed.clone(), now)).await?;
                Ok(Submission::Done)
            }
            AuthorizeOutcome::Accounts(accounts) => {
                if let Some(completing) = self.advance(loaded, |it| it.accept_accounts(by, now)).await? {
                    // A typed code may be valid only once, so the connect flow cannot continue
                    // after an error.
                    self.complete_or_fail(&completing, platform, accounts).await?;
                }
                Ok(Submission::Done)
            }
            AuthorizeOutcome::Failed(ConnectError::Field { name, message }) => {
                Ok(Submission::InvalidFields([(name, message)].into()))
            }
            AuthorizeOutcome::Failed(error) => Ok(Submission::Failed(error)),
        }
    }

    pub async fn choose_accounts(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        by: &FlowOwner,
        selection: &Selection,
    ) -> Result<Choice, ConnectingError> {
        let locked = match self.lock(loaded, by).await? {
            Changed::Written(locked) => locked,
            Changed::Rejected(error) => return Ok(Choice::NotProcessed(error)),
        };
        let choice = self.connect_selected(&locked, platform, selection).await;
        self.unlock(&locked).await;
        choice
    }

    async fn connect_selected(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        selection: &Selection,
    ) -> Result<Choice, ConnectingError> {
        let mut choices = self.account_choices(loaded).await?;
        for choice in &mut choices {
            choice.is_selected = match selection {
                Selection::All => true,
                Selection::Accounts(ids) => ids.contains(&choice.profile.account_id),
            };
        }
        let selected = choices.iter().filter(|it| it.is_selected).count();
        if selected == 0 || MAX_CONNECTED < selected {
            return Ok(Choice::InvalidCount { choices, selected });
        }
        let (selected, others): (Vec<_>, Vec<_>) = choices.into_iter().partition(|it| it.is_selected);
        let accounts = |choices: Vec<AccountChoice>| {
            choices.into_iter().map(Account::try_from).collect::<Result<Vec<_>, ConnectingError>>()
        };
        self.connect_accounts(loaded, platform, &accounts(selected)?, &accounts(others)?).await?;
        Ok(Choice::Done)
    }

    /// Needs no lock, and does not count as a submission.
    pub async fn cancel(&self, loaded: &LoadedFlow, platform: &dyn Connect) -> Result<(), ConnectingError> {
        self.fail(loaded, "you cancelled").await?;
        if loaded.flow.state == FlowState::ChoosingAccounts {
            let accounts = self.account_choices(loaded).await?.into_iter().map(Account::try_from);
            self.revoke_unused(loaded, platform, &accounts.collect::<Result<Vec<_>, _>>()?).await?;
        }
        Ok(())
    }

    async fn lock(&self, loaded: &LoadedFlow, by: &FlowOwner) -> Result<Changed<FlowLockError>, ConnectingError> {
        let (state, now) = (loaded.flow.state, self.clock.now());
        self.change(loaded, |it| it.submit(state, by, now)).await
    }

    async fn unlock(&self, locked: &LoadedFlow) {
        let Some(expires_at) = locked.flow.lock_expires_at else { return };
        if let Err(error) = self.store.unlock_connect_flow(&locked.hash, expires_at).await {
            tracing::warn!(%error, "a connect flow stays locked for 30 seconds");
        }
    }
}

/// By field name.
fn invalid_fields(platform: &dyn Connect, values: &FieldValues) -> BTreeMap<&'static str, String> {
    let mut invalid = BTreeMap::new();
    for field in platform.fields() {
        let value = values.get(field.name).map_or("", |it| it.expose_secret());
        if MAX_VALUE_BYTES < value.len() || value.is_empty() && field.optional.is_none() {
            invalid.insert(field.name, format!("Enter a value such as: {}", field.example));
        }
    }
    invalid
}

#[cfg(test)]
mod tests {
    use domain::connect_flow::LOCK_LEASE;

    use crate::CALLBACK_TIMEOUT;
    use crate::start::SUBMIT_TIMEOUT;

    #[test]
    fn time_limits_leave_time_to_store_the_result() {
        assert!(SUBMIT_TIMEOUT < CALLBACK_TIMEOUT);
        assert!(CALLBACK_TIMEOUT.as_secs() < 27, "the function is stopped after 29");
        assert!(
            CALLBACK_TIMEOUT.as_secs() < LOCK_LEASE.num_seconds().unsigned_abs(),
            "a process that still works holds the flow"
        );
    }
}
