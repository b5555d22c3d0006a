//! A connect flow: from "connect" to connected accounts.
//!
//! Each transition takes the flow as it was read, and returns the flow to write. `storage` writes
//! it on condition that the stored flow is still the one that was read.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ConnectionId, UserId};
use crate::owner::Owner;
use crate::profile::ProfileRef;

pub const FLOW_LIFETIME: TimeDelta = TimeDelta::seconds(600);

const REMEMBERED: TimeDelta = TimeDelta::days(1);

/// The most submissions of one connect flow. Each calls servers that a user named, which may
/// respond as slowly as they like.
pub const MAX_SUBMISSIONS: u32 = 10;

/// Releases the lock of a process that was stopped while it worked.
pub const LOCK_LEASE: TimeDelta = TimeDelta::seconds(30);

/// The shortest interval between two polls of one flow, however many pages and clients wait.
pub const POLL_INTERVAL: TimeDelta = TimeDelta::seconds(10);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectFlow {
    /// The user who receives the connections.
    pub user_id: UserId,
    pub provider: String,
    /// The customer who connects accounts; `None` if the user connects their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_profile: Option<ProfileRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<FlowLink>,
    pub state: FlowState,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<ConnectionId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_connected: Vec<ConnectionId>,
    /// Why the flow failed, or why some accounts were not connected. Shown to the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The participant that continues the flow; `None` before the first submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<FlowOwner>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub submissions: u32,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub lock_expires_at: Option<DateTime<Utc>>,
    /// The platform is not polled for an approval before this time.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub next_check_at: Option<DateTime<Utc>>,
    /// The data that the next state needs, sealed for this flow.
    #[serde(skip)]
    pub sealed: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowLink {
    pub key: String,
    /// The flow can be read for as long as the link, which shows what was connected.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub remembered_until: DateTime<Utc>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The participant that continues a connect flow. Other guests are denied: a server that the
/// participant named may have seen the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum FlowOwner {
    Owner,
    /// A guest, identified by the hash of the cookie of their browser.
    Guest(String),
}

const OWNER: &str = "owner";

impl From<String> for FlowOwner {
    fn from(stored: String) -> Self {
        if stored == OWNER { Self::Owner } else { Self::Guest(stored) }
    }
}

impl From<FlowOwner> for String {
    fn from(it: FlowOwner) -> Self {
        match it {
            FlowOwner::Owner => OWNER.to_owned(),
            FlowOwner::Guest(hash) => hash,
        }
    }
}

/// States only advance in this order, with one exception: from `AwaitingCallback`, the user may
/// return to our page and submit the form again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowState {
    CollectingInput,
    AwaitingCallback,
    /// The user approves in another app, and the platform is polled for the approval.
    AwaitingApproval,
    Completing,
    ChoosingAccounts,
    /// At least one account is connected.
    Completed,
    Failed,
}

impl FlowState {
    /// Not while the platform's response is processed.
    pub fn can_cancel(self) -> bool {
        match self {
            Self::CollectingInput | Self::AwaitingCallback | Self::AwaitingApproval | Self::ChoosingAccounts => true,
            Self::Completing | Self::Completed | Self::Failed => false,
        }
    }
}

/// The flow has moved on, has ended, or belongs to another participant, so the transition is not
/// made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStateError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowLockError {
    Busy,
    Spent,
    /// The flow has another state than the page that was submitted.
    MovedOn,
    /// Another participant continues the flow, so this guest may not.
    Theirs,
}

/// Whether unauthenticated visitors may continue a user's connect flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guests {
    #[default]
    Denied,
    /// A visitor with the link may continue, after a page has named the recipient.
    Permitted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPoint {
    Page,
    Form,
    Callback,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAccess {
    Owner,
    Guest,
    AnotherBrowser,
    /// Only the owner may continue, and this is not the owner.
    Denied,
}

impl ConnectFlow {
    /// A flow that needs field values, or a confirmation, before it goes to the platform.
    pub fn start(user_id: UserId, provider: String, now: DateTime<Utc>) -> Self {
        Self {
            user_id,
            provider,
            of_profile: None,
            link: None,
            state: FlowState::CollectingInput,
            created_at: now,
            expires_at: now + FLOW_LIFETIME,
            ended_at: None,
            connection_id: None,
            also_connected: Vec::new(),
            reason: None,
            owner: None,
            submissions: 0,
            lock_expires_at: None,
            next_check_at: None,
            sealed: None,
        }
    }

    pub fn is_visible_to(&self, owner: Owner) -> bool {
        self.user_id == owner.user_id && owner.may_see(self.of_profile.as_ref())
    }

    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.connection_id.into_iter().chain(self.also_connected.iter().copied())
    }

    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        self.ended_at.is_none() && now < self.expires_at
    }

    pub fn remembered_until(&self) -> DateTime<Utc> {
        let own = self.ended_at.unwrap_or(self.expires_at) + REMEMBERED;
        self.link.as_ref().map_or(own, |it| it.remembered_until.max(own))
    }

    pub fn is_remembered(&self, now: DateTime<Utc>) -> bool {
        now < self.remembered_until()
    }

    /// Whether a visitor may continue the flow. `user` is signed in in this browser, and `guest`
    /// is the guest whose cookie it has. The flow of a connect link belongs to one browser, whatever `guests` says.
    ///
    /// Prevents account-linking phishing: with a link alone, an attacker could make a victim
    /// connect their account to the attacker's user.
    pub fn access(
        &self,
        user: Option<UserId>,
        guest: Option<&FlowOwner>,
        entry_point: EntryPoint,
        guests: Guests,
    ) -> FlowAccess {
        let is_same_browser = guest.is_some() && guest == self.owner.as_ref();
        if self.link.is_some() {
            return if is_same_browser { FlowAccess::Guest } else { FlowAccess::AnotherBrowser };
        }
        let is_guest_flow = matches!(self.owner, Some(FlowOwner::Guest(_)));
        if entry_point == EntryPoint::Callback && is_guest_flow && !is_same_browser {
            return FlowAccess::AnotherBrowser;
        }
        if user == Some(self.user_id) {
            return FlowAccess::Owner;
        }
        if guests == Guests::Permitted && self.owner != Some(FlowOwner::Owner) {
            // What an owner has started is not open to everyone who has the link.
            let is_open_to_guests =
                matches!(self.state, FlowState::CollectingInput | FlowState::AwaitingCallback | FlowState::Failed);
            if is_same_browser || (!is_guest_flow && is_open_to_guests && entry_point != EntryPoint::Callback) {
                return FlowAccess::Guest;
            }
            if is_guest_flow {
                return FlowAccess::AnotherBrowser;
            }
        }
        FlowAccess::Denied
    }

    /// Locks the flow for a submission of a page that showed `state`, and makes `by` the
    /// participant that continues it: the owner in any case, a guest only if no other participant
    /// does. Unless it is released, the lock ends after [`LOCK_LEASE`].
    pub fn submit(self, state: FlowState, by: &FlowOwner, now: DateTime<Utc>) -> Result<Self, FlowLockError> {
        if self.state != state {
            return Err(FlowLockError::MovedOn);
        }
        if *by != FlowOwner::Owner && self.owner.as_ref().is_some_and(|it| it != by) {
            return Err(FlowLockError::Theirs);
        }
        if MAX_SUBMISSIONS <= self.submissions {
            return Err(FlowLockError::Spent);
        }
        if self.lock_expires_at.is_some_and(|it| now < it) {
            return Err(FlowLockError::Busy);
        }
        let (owner, submissions) = (Some(by.clone()), self.submissions + 1);
        Ok(Self { owner, submissions, lock_expires_at: Some(now + LOCK_LEASE), ..self })
    }

    /// The user goes to the platform's page, which redirects back to us. `by` must be the
    /// participant that continues the flow, `None` if there is none yet.
    pub fn await_callback(
        self,
        by: Option<&FlowOwner>,
        sealed: Vec<u8>,
        now: DateTime<Utc>,
    ) -> Result<Self, FlowStateError> {
        Ok(Self { state: FlowState::AwaitingCallback, sealed: Some(sealed), ..self.authorize(by, now)? })
    }

    pub fn await_approval(
        self,
        by: Option<&FlowOwner>,
        sealed: Vec<u8>,
        now: DateTime<Utc>,
    ) -> Result<Self, FlowStateError> {
        Ok(Self { state: FlowState::AwaitingApproval, sealed: Some(sealed), ..self.authorize(by, now)? })
    }

    /// The platform returned accounts for the submitted field values, without a page.
    pub fn accept_accounts(self, by: Option<&FlowOwner>, now: DateTime<Utc>) -> Result<Self, FlowStateError> {
        Ok(Self { state: FlowState::Completing, sealed: None, ..self.authorize(by, now)? })
    }

    fn authorize(self, by: Option<&FlowOwner>, now: DateTime<Utc>) -> Result<Self, FlowStateError> {
        let flow = self.in_state(&[FlowState::CollectingInput, FlowState::AwaitingCallback], now)?;
        if flow.owner.as_ref() == by { Ok(flow) } else { Err(FlowStateError) }
    }

    /// Works once, because a code can be exchanged once.
    pub fn receive_callback(self, now: DateTime<Utc>) -> Result<Self, FlowStateError> {
        let flow = self.in_state(&[FlowState::AwaitingCallback], now)?;
        Ok(Self { state: FlowState::Completing, sealed: None, ..flow })
    }

    /// Reserves the next poll of the platform: one at a time, at intervals of [`POLL_INTERVAL`].
    pub fn poll(self, now: DateTime<Utc>) -> Result<Self, FlowStateError> {
        let flow = self.in_state(&[FlowState::AwaitingApproval], now)?;
        if flow.next_check_at.is_some_and(|it| now < it) {
            return Err(FlowStateError);
        }
        Ok(Self { next_check_at: Some(now + POLL_INTERVAL), ..flow })
    }

    /// Works once, like a callback.
    pub fn approve(self, now: DateTime<Utc>) -> Result<Self, FlowStateError> {
        let flow = self.in_state(&[FlowState::AwaitingApproval], now)?;
        Ok(Self { state: FlowState::Completing, sealed: None, ..flow })
    }

    pub fn offer_accounts(self, sealed: Vec<u8>, now: DateTime<Utc>) -> Result<Self, FlowStateError> {
        let flow = self.in_state(&[FlowState::Completing], now)?;
        Ok(Self { state: FlowState::ChoosingAccounts, sealed: Some(sealed), ..flow })
    }

    /// `left_out` tells the user which accounts were not connected.
    pub fn complete(
        self,
        connections: &[ConnectionId],
        left_out: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<Self, FlowStateError> {
        let (first, others) = connections.split_first().ok_or(FlowStateError)?;
        let flow = self.in_state(&[FlowState::Completing, FlowState::ChoosingAccounts], now)?;
        Ok(Self {
            state: FlowState::Completed,
            connection_id: Some(*first),
            also_connected: others.to_vec(),
            reason: left_out.map(str::to_owned),
            ended_at: Some(now),
            sealed: None,
            ..flow
        })
    }

    /// `reason` is shown to the user.
    pub fn fail(self, reason: &str, now: DateTime<Utc>) -> Result<Self, FlowStateError> {
        if !self.is_open(now) {
            return Err(FlowStateError);
        }
        let reason = Some(reason.to_owned());
        Ok(Self { state: FlowState::Failed, reason, ended_at: Some(now), sealed: None, ..self })
    }

    fn in_state(self, states: &[FlowState], now: DateTime<Utc>) -> Result<Self, FlowStateError> {
        if self.is_open(now) && states.contains(&self.state) { Ok(self) } else { Err(FlowStateError) }
    }
}

#[cfg(test)]
mod tests;
