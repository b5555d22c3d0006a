//! Continues a connect flow when the user has authorized it: at the platform's callback, or after
//! an approval in an app, where no callback arrives and the platform is polled.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::connect_flow::FlowState;
use platforms::{Approval, Callback, Connect, ConnectError, Instructions, PendingApproval};

use crate::start::{PendingAuthorization, within};
use crate::{ConnectFlows, ConnectingError, LoadedFlow};

/// For the exchange of a callback's code, which can be exchanged once. It is well below the 29
/// seconds after which the function is stopped.
pub const CALLBACK_TIMEOUT: Duration = Duration::from_secs(23);

/// Shorter than [`domain::connect_flow::POLL_INTERVAL`], so that a flow has one poll in flight at a
/// time.
const POLL_TIMEOUT: Duration = Duration::from_secs(8);

pub struct ReceivedCallback {
    pending: PendingAuthorization,
    query: BTreeMap<String, String>,
    arrived_at: String,
}

pub struct ApprovalPoll {
    loaded: LoadedFlow,
    pending: PendingAuthorization,
}

impl ReceivedCallback {
    /// The host that the user named. Calls to it need a permit.
    pub fn host(&self) -> Option<&str> {
        self.pending.host.as_deref()
    }
}

impl ApprovalPoll {
    /// The host that the user named. Calls to it need a permit.
    pub fn host(&self) -> Option<&str> {
        self.pending.host.as_deref()
    }
}

impl ConnectFlows {
    /// `None` when the flow does not await a callback.
    pub async fn receive_callback(
        &self,
        loaded: &LoadedFlow,
        query: BTreeMap<String, String>,
        arrived_at: String,
    ) -> Result<Option<ReceivedCallback>, ConnectingError> {
        if loaded.flow.state != FlowState::AwaitingCallback {
            return Ok(None);
        }
        Ok(Some(ReceivedCallback { pending: self.open(loaded).await?, query, arrived_at }))
    }

    /// Exchanges the code of a callback, once. When the browser sends it twice, only the first
    /// request exchanges it: the platform would refuse the second, and the flow would fail although
    /// it succeeded.
    pub async fn complete_callback(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        received: ReceivedCallback,
    ) -> Result<(), ConnectingError> {
        let now = self.clock.now();
        let Some(completing) = self.advance(loaded, |it| it.receive_callback(now)).await? else { return Ok(()) };
        let ReceivedCallback { pending, query, arrived_at } = received;
        let callback = Callback {
            query,
            arrived_at,
            verifier: pending.verifier.into(),
            urls: self.callback_urls(platform),
            adapter_state: pending.memory.map(Into::into),
        };
        match within(CALLBACK_TIMEOUT, platform.complete(&callback, self.clock.now())).await {
            // The code is used up, so the connect flow cannot continue after an error.
            Ok(accounts) => self.complete_or_fail(&completing, platform, accounts).await,
            Err(error) => self.fail(&completing, &error.to_string()).await,
        }
    }

    pub async fn instructions(&self, loaded: &LoadedFlow) -> Result<Instructions, ConnectingError> {
        let pending: PendingAuthorization = self.open(loaded).await?;
        pending.instructions.ok_or(ConnectingError::UnreadableState)
    }

    /// `None` if the flow awaits no approval, or the platform was polled just now.
    pub async fn begin_poll(&self, loaded: &LoadedFlow) -> Result<Option<ApprovalPoll>, ConnectingError> {
        let now = self.clock.now();
        let Some(loaded) = self.advance(loaded, |it| it.poll(now)).await? else { return Ok(None) };
        let pending = self.open(&loaded).await?;
        Ok(Some(ApprovalPoll { loaded, pending }))
    }

    /// Returns whether the connect flow has changed.
    pub async fn poll_approval(&self, platform: &dyn Connect, poll: ApprovalPoll) -> Result<bool, ConnectingError> {
        let ApprovalPoll { loaded, pending } = poll;
        let pending = PendingApproval {
            verifier: pending.verifier.into(),
            urls: self.callback_urls(platform),
            adapter_state: pending.memory.map(Into::into),
        };
        let accounts = match within(POLL_TIMEOUT, platform.poll(&pending, self.clock.now())).await {
            Ok(Approval::Approved(accounts)) => accounts,
            // Temporary errors are retried until the connect flow expires.
            Ok(Approval::Pending) | Err(ConnectError::Unreachable) => return Ok(false),
            Err(error) => {
                self.fail(&loaded, &error.to_string()).await?;
                return Ok(true);
            }
        };
        let now = self.clock.now();
        if let Some(completing) = self.advance(&loaded, |it| it.approve(now)).await? {
            // An approval may be valid only once, so the connect flow cannot continue after an
            // error.
            self.complete_or_fail(&completing, platform, accounts).await?;
        }
        Ok(true)
    }
}
