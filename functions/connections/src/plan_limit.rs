//! How many further accounts a user's plan allows, and the messages about those that it does not.

use std::collections::HashMap;

use domain::connection::AccountInfo;
use platforms::Account;
use storage::ConnectionRecord;

#[derive(Clone, Copy)]
pub(crate) struct PlanLimit {
    pub(crate) max: u32,
    /// The number of further accounts.
    pub(crate) left: usize,
}

impl PlanLimit {
    pub(crate) fn reached_message(self) -> String {
        format!("Your plan allows {} connected accounts (max_connections). Disconnect one first.", self.max)
    }
}

/// Splits the accounts, in their order, into those that can be connected and those beyond the
/// plan's limit. Accounts that are already connected do not count.
pub(crate) fn fit_plan<'a>(
    accounts: &'a [Account],
    found: &HashMap<String, ConnectionRecord>,
    limit: Option<PlanLimit>,
) -> (Vec<&'a Account>, Vec<&'a Account>) {
    let mut left = limit.map_or(usize::MAX, |it| it.left);
    accounts.iter().partition(|it| {
        if found.contains_key(&it.profile.account_id) {
            return true;
        }
        let fits = left != 0;
        left = left.saturating_sub(1);
        fits
    })
}

pub(crate) fn over_plan_message(left_out: &[&Account], limit: PlanLimit) -> Option<String> {
    let (first, others) = left_out.split_first()?;
    if others.is_empty() && limit.left == 0 {
        return Some(limit.reached_message());
    }
    let names =
        others.iter().fold(account_name(&first.profile), |names, it| format!("{names}, {}", account_name(&it.profile)));
    Some(format!("Your plan allows {} connected accounts (max_connections). Not connected: {names}.", limit.max))
}

/// The handle, else the display name, else the id.
pub(crate) fn account_name(profile: &AccountInfo) -> String {
    profile.handle().or_else(|| profile.display_name.clone()).unwrap_or_else(|| profile.account_id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_no_handle_is_shown_unchanged() {
        let profile = |username: Option<&str>| AccountInfo {
            account_id: "7".to_owned(),
            username: username.map(str::to_owned),
            display_name: Some("Ada".to_owned()),
            avatar: None,
            profile_url: None,
        };
        for (username, shown) in [(Some("keeper"), "@keeper"), (Some("Ada Keeper"), "Ada Keeper"), (None, "Ada")] {
            assert_eq!(account_name(&profile(username)), shown);
        }
    }
}
