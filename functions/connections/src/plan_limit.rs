//! How many further accounts a user's plan allows, and what is said of those that
//! it does not.

use std::collections::HashMap;

use domain::connection::AccountInfo;
use platforms::Account;
use storage::ConnectionRecord;

/// What a plan allows.
#[derive(Clone, Copy)]
pub(crate) struct PlanLimit {
    pub(crate) max: u32,
    /// So many further accounts.
    pub(crate) left: usize,
}

impl PlanLimit {
    pub(crate) fn full(self) -> String {
        format!("Your plan allows {} connected accounts (max_connections). Disconnect one first.", self.max)
    }
}

/// The accounts that can be connected, in their order, and those for which the
/// plan has no room. Those that are connected need none.
pub(crate) fn fitting<'a>(
    accounts: &'a [Account],
    found: &HashMap<String, ConnectionRecord>,
    room: Option<PlanLimit>,
) -> (Vec<&'a Account>, Vec<&'a Account>) {
    let mut left = room.map_or(usize::MAX, |it| it.left);
    accounts.iter().partition(|it| {
        if found.contains_key(&it.profile.account_id) {
            return true;
        }
        let fits = left != 0;
        left = left.saturating_sub(1);
        fits
    })
}

pub(crate) fn over_plan_message(left_out: &[&Account], room: PlanLimit) -> Option<String> {
    let (first, others) = left_out.split_first()?;
    if others.is_empty() && room.left == 0 {
        return Some(room.full());
    }
    let names = others.iter().fold(name_of(&first.profile), |names, it| format!("{names}, {}", name_of(&it.profile)));
    Some(format!("Your plan allows {} connected accounts (max_connections). Not connected: {names}.", room.max))
}

/// An account as people know it.
pub(crate) fn name_of(profile: &AccountInfo) -> String {
    profile.handle().or_else(|| profile.display_name.clone()).unwrap_or_else(|| profile.account_id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_handle_is_shown_as_it_is() {
        let profile = |username: Option<&str>| AccountInfo {
            account_id: "7".to_owned(),
            username: username.map(str::to_owned),
            display_name: Some("Ada".to_owned()),
            avatar: None,
            profile_url: None,
        };
        for (username, shown) in [(Some("keeper"), "@keeper"), (Some("Ada Keeper"), "Ada Keeper"), (None, "Ada")] {
            assert_eq!(name_of(&profile(username)), shown);
        }
    }
}
