//! A connect link: with it, a customer of a user connects accounts for a profile, or gives the consents that a post needs,
//! without an account of this service.
//!
//! Each transition takes the link as it was read, and returns the link to write.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::connect_flow::FlowOwner;
use crate::id::{ConnectLinkId, ConnectionId, PostId, UserId};
use crate::owner::Owner;
use crate::profile::ProfileRef;

pub const MIN_LIFETIME: TimeDelta = TimeDelta::minutes(1);
pub const MAX_LIFETIME: TimeDelta = TimeDelta::days(7);
pub const DEFAULT_LIFETIME: TimeDelta = TimeDelta::hours(1);

/// The most connect flows of one link. Each calls a platform and stores an item.
pub const MAX_FLOWS: usize = 50;

const REMEMBERED: TimeDelta = TimeDelta::days(1);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectLink {
    pub link_id: ConnectLinkId,
    /// The user who receives the connections.
    pub user_id: UserId,
    pub of_profile: ProfileRef,
    /// The platforms that the customer may choose; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    /// The consents for which the link asks, instead of accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consents: Option<LinkConsents>,
    /// The page of the user's product to which the browser returns.
    pub return_url: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    pub revision: u64,
    /// The only browser that may use the link; `None` before the first opens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<FlowOwner>,
    /// The hashes of the state tokens of its connect flows, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    #[serde(default)]
    pub has_ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkConsents {
    /// A post of the link's profile.
    pub post_id: PostId,
    /// The accounts of the post that waited for a consent when the link was created.
    pub accounts: Vec<ConnectionId>,
    /// Whether the customer has given all of them. Later changes of the post void consents, but not this result.
    pub are_given: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkResult {
    /// At least one account was connected, or every consent was given.
    Completed,
    Cancelled,
}

impl LinkResult {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkError {
    Expired,
    AnotherBrowser,
    Ended,
    Spent,
    /// The link asks for consents instead of accounts, or for accounts instead of consents.
    AnotherPurpose,
}

impl ConnectLink {
    pub fn remembered_until(&self) -> DateTime<Utc> {
        self.expires_at + REMEMBERED
    }

    pub fn owner(&self) -> Owner {
        Owner { user_id: self.user_id, limited_to: Some(self.of_profile.profile_id) }
    }

    pub fn offers(&self, platform: &str) -> bool {
        self.consents.is_none() && (self.platforms.is_empty() || self.platforms.iter().any(|it| it == platform))
    }

    /// The result of a link that has ended. Whether an account was connected is not stored with the link, because that can
    /// happen while the customer ends it.
    pub fn result(&self, is_connected: bool) -> LinkResult {
        let is_complete = self.consents.as_ref().map_or(is_connected, |it| it.are_given);
        if is_complete { LinkResult::Completed } else { LinkResult::Cancelled }
    }

    pub fn check(&self, browser: Option<&FlowOwner>, now: DateTime<Utc>) -> Result<(), LinkError> {
        if browser.is_none() || self.browser.as_ref() != browser {
            return Err(LinkError::AnotherBrowser);
        }
        self.check_open(now)
    }

    fn check_open(&self, now: DateTime<Utc>) -> Result<(), LinkError> {
        match () {
            () if self.has_ended => Err(LinkError::Ended),
            () if self.expires_at <= now => Err(LinkError::Expired),
            () => Ok(()),
        }
    }

    /// Makes the first browser that opens the link the only one.
    pub fn open(self, browser: &FlowOwner, now: DateTime<Utc>) -> Result<Self, LinkError> {
        if self.browser.as_ref().is_some_and(|it| it != browser) {
            return Err(LinkError::AnotherBrowser);
        }
        self.check_open(now)?;
        Ok(Self { browser: Some(browser.clone()), revision: self.revision + 1, ..self })
    }

    /// Adds a connect flow, before it is stored, so that no flow is unknown to its link.
    pub fn start_flow(mut self, browser: &FlowOwner, hash: &str, now: DateTime<Utc>) -> Result<Self, LinkError> {
        self.check(Some(browser), now)?;
        if self.consents.is_some() {
            return Err(LinkError::AnotherPurpose);
        }
        if MAX_FLOWS <= self.flows.len() {
            return Err(LinkError::Spent);
        }
        self.flows.push(hash.to_owned());
        Ok(Self { revision: self.revision + 1, ..self })
    }

    /// The customer ends the link, also when it has expired, and returns.
    pub fn finish(self, browser: &FlowOwner, now: DateTime<Utc>) -> Result<Self, LinkError> {
        match self.check(Some(browser), now) {
            Ok(()) | Err(LinkError::Expired) => Ok(Self { has_ended: true, revision: self.revision + 1, ..self }),
            Err(error) => Err(error),
        }
    }

    /// The customer has given every consent that the post needs, which ends the link, also when it has expired since.
    pub fn complete(self, browser: &FlowOwner, now: DateTime<Utc>) -> Result<Self, LinkError> {
        let mut after = self.finish(browser, now)?;
        after.consents.as_mut().ok_or(LinkError::AnotherPurpose)?.are_given = true;
        Ok(after)
    }
}

#[cfg(test)]
mod tests;
