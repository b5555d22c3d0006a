//! A device grant (RFC 8628), from the device code to the token.
//!
//! Each transition takes the grant as it was read, and returns the grant to write. `storage` writes
//! it on condition that the stored grant is still the one that was read.

use std::net::IpAddr;

use chrono::serde::ts_milliseconds;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ProfileId, UserId};
use crate::name::ClientName;
use crate::owner::Owner;
use crate::scope::Scopes;

pub const DEVICE_GRANT_LIFETIME: TimeDelta = TimeDelta::seconds(900);

/// For this long, an expired code is distinguished from an unknown one.
const REMEMBERED: TimeDelta = TimeDelta::days(1);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceGrant {
    pub scopes: Scopes,
    /// Chosen by the client, so it proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<ClientName>,
    pub asked_from: IpAddr,
    #[serde(with = "ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    #[serde(with = "ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    pub state: DeviceGrantState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// The profile to which that user limited the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceGrantState {
    Pending,
    Approved,
    Denied,
    Redeemed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionError {
    Decided,
    Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedeemError {
    Pending,
    Denied,
    Expired,
    /// The grant is redeemed, or has expired long ago.
    Invalid,
}

impl DeviceGrant {
    pub fn request(scopes: Scopes, client_name: Option<ClientName>, asked_from: IpAddr, now: DateTime<Utc>) -> Self {
        Self {
            scopes,
            client_name,
            asked_from,
            created_at: now,
            expires_at: now + DEVICE_GRANT_LIFETIME,
            state: DeviceGrantState::Pending,
            user_id: None,
            profile_id: None,
        }
    }

    pub fn check_undecided(&self, now: DateTime<Utc>) -> Result<(), DecisionError> {
        match self.state {
            DeviceGrantState::Pending if now < self.expires_at => Ok(()),
            DeviceGrantState::Pending => Err(DecisionError::Expired),
            DeviceGrantState::Approved | DeviceGrantState::Denied | DeviceGrantState::Redeemed => {
                Err(DecisionError::Decided)
            }
        }
    }

    /// Approves access to everything of a user, or to one profile.
    pub fn approve(self, owner: impl Into<Owner>, now: DateTime<Utc>) -> Result<Self, DecisionError> {
        self.check_undecided(now)?;
        let Owner { user_id, limited_to: profile_id } = owner.into();
        Ok(Self { state: DeviceGrantState::Approved, user_id: Some(user_id), profile_id, ..self })
    }

    pub fn deny(self, user: UserId, now: DateTime<Utc>) -> Result<Self, DecisionError> {
        self.check_undecided(now)?;
        Ok(Self { state: DeviceGrantState::Denied, user_id: Some(user), ..self })
    }

    /// The grant after its exchange for a token, and the user who approved it.
    pub fn redeem(self, now: DateTime<Utc>) -> Result<(Self, UserId), RedeemError> {
        if self.state == DeviceGrantState::Redeemed || self.expires_at + REMEMBERED <= now {
            return Err(RedeemError::Invalid);
        }
        if self.expires_at <= now {
            return Err(RedeemError::Expired);
        }
        match (self.state, self.user_id) {
            (DeviceGrantState::Approved, Some(user)) => Ok((Self { state: DeviceGrantState::Redeemed, ..self }, user)),
            (DeviceGrantState::Denied, _) => Err(RedeemError::Denied),
            (DeviceGrantState::Pending, _) => Err(RedeemError::Pending),
            (DeviceGrantState::Approved | DeviceGrantState::Redeemed, _) => Err(RedeemError::Invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noon;

    fn user() -> UserId {
        UserId::new(7).unwrap()
    }

    fn later(seconds: i64) -> DateTime<Utc> {
        noon() + TimeDelta::seconds(seconds)
    }

    fn pending() -> DeviceGrant {
        DeviceGrant::request(Scopes::from_requested(&[]), None, IpAddr::from([192, 0, 2, 7]), noon())
    }

    #[test]
    fn grant_is_decided_once_before_it_expires() {
        let approved = pending().approve(user(), later(899)).unwrap();
        assert_eq!((approved.state, approved.user_id), (DeviceGrantState::Approved, Some(user())));
        let denied = pending().deny(user(), noon()).unwrap();
        assert_eq!((denied.state, denied.user_id), (DeviceGrantState::Denied, Some(user())));

        assert_eq!(pending().approve(user(), later(900)), Err(DecisionError::Expired));
        assert_eq!(pending().deny(user(), later(900)), Err(DecisionError::Expired));
        for decided in [approved, denied] {
            assert_eq!(decided.clone().approve(user(), noon()), Err(DecisionError::Decided));
            assert_eq!(decided.deny(user(), later(900)), Err(DecisionError::Decided));
        }
    }

    #[test]
    fn approved_grant_is_redeemed_once_for_its_user() {
        let (redeemed, owner) = pending().approve(user(), noon()).unwrap().redeem(later(899)).unwrap();
        assert_eq!((redeemed.state, owner), (DeviceGrantState::Redeemed, user()));
        assert_eq!(redeemed.redeem(noon()), Err(RedeemError::Invalid));
    }

    #[test]
    fn other_grants_are_not_redeemed() {
        let denied = pending().deny(user(), noon()).unwrap();
        assert_eq!(denied.clone().redeem(noon()), Err(RedeemError::Denied));
        assert_eq!(pending().redeem(noon()), Err(RedeemError::Pending));
        for grant in [pending(), denied, pending().approve(user(), noon()).unwrap()] {
            assert_eq!(grant.clone().redeem(later(900)), Err(RedeemError::Expired));
            assert_eq!(grant.clone().redeem(later(899) + REMEMBERED), Err(RedeemError::Expired));
            assert_eq!(grant.redeem(later(900) + REMEMBERED), Err(RedeemError::Invalid));
        }
    }
}
