use crate::id::{ProfileId, UserId};
use crate::profile::ProfileRef;

/// A user, or one profile of a user. Functions that find or change what users own take an owner, so that a token that is
/// limited to a profile treats everything else as another user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub user_id: UserId,
    /// `None` for everything that the user owns.
    pub limited_to: Option<ProfileId>,
}

impl Owner {
    /// Whether something of the user is visible that belongs to this profile, or to none.
    pub fn may_see(&self, of_profile: Option<&ProfileRef>) -> bool {
        self.limited_to.is_none_or(|id| of_profile.is_some_and(|it| it.profile_id == id))
    }

    pub fn may_see_profile(&self, id: ProfileId) -> bool {
        self.limited_to.is_none_or(|it| it == id)
    }
}

impl From<UserId> for Owner {
    fn from(user_id: UserId) -> Self {
        Self { user_id, limited_to: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{a_profile, a_user, limited_to};

    #[test]
    fn user_sees_everything_and_a_limited_owner_only_its_profile() {
        let user = a_user();
        let profile = a_profile(&user);
        let (everything, limited) = (Owner::from(user.user_id), limited_to(&profile));
        let (own, other) = (profile.reference(), a_profile(&user).reference());

        assert_eq!([None, Some(&own), Some(&other)].map(|it| everything.may_see(it)), [true, true, true]);
        assert_eq!([None, Some(&own), Some(&other)].map(|it| limited.may_see(it)), [false, true, false]);
        assert!(everything.may_see_profile(other.profile_id));
        assert_eq!([&own, &other].map(|it| limited.may_see_profile(it.profile_id)), [true, false]);
    }
}
