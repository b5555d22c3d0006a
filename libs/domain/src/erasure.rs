//! The erasure of a profile, which a user requests when deleting it. Upkeep completes it in passes.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ProfileId, UserId};
use crate::media::last_upload_at;

/// Longer than any request that was in progress when the profile was deleted.
const REQUEST_MARGIN: TimeDelta = TimeDelta::minutes(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileErasure {
    pub user_id: UserId,
    pub profile_id: ProfileId,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub requested_at: DateTime<Utc>,
}

impl ProfileErasure {
    /// When the next pass is due after one that began at `began_at`; `None` if nothing can be left.
    ///
    /// Until the last upload of the profile has arrived, a pass that finds nothing proves nothing.
    pub fn next_pass(&self, has_found: bool, began_at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        if has_found {
            return Some(began_at);
        }
        let settled_at = last_upload_at(self.requested_at + REQUEST_MARGIN);
        (began_at < settled_at).then_some(settled_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{a_profile, a_user, noon};

    #[test]
    fn passes_end_when_one_finds_nothing_after_the_last_upload() {
        let profile = a_profile(&a_user());
        let erasure = ProfileErasure { user_id: profile.user_id, profile_id: profile.profile_id, requested_at: noon() };
        let after = |minutes| noon() + TimeDelta::minutes(minutes);
        let settled_at = after(76);

        assert_eq!(erasure.next_pass(true, after(1)), Some(after(1)), "in the next round");
        assert_eq!(erasure.next_pass(false, after(6)), Some(settled_at));
        assert_eq!(erasure.next_pass(false, settled_at - TimeDelta::milliseconds(1)), Some(settled_at));
        assert_eq!(erasure.next_pass(true, settled_at), Some(settled_at), "in the next round");
        assert_eq!(erasure.next_pass(false, settled_at), None);
    }
}
