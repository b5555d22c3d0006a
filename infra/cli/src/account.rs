//! Finds accounts by the names that users give them.

use client::Connection;

use crate::error::CliError;
use crate::output::plain;

/// `mastodon/harbour`, or the id if the account has no handle. The account of a customer is named
/// by its id, because other customers may have the same one.
pub(crate) fn name(account: &Connection) -> String {
    match &account.username {
        _ if account.profile_id.is_some() => plain(&format!("{}/{}", account.provider, account.id)),
        Some(username) => plain(&format!("{}/{username}", account.provider)),
        None => account.id.to_string(),
    }
}

pub(crate) fn find<'a>(accounts: &'a [Connection], query: &str) -> Result<&'a Connection, CliError> {
    let query = query.trim();
    let is_handle = |it: &Connection, handle: &str| {
        it.username
            .as_deref()
            .is_some_and(|name| name.trim_start_matches('@').eq_ignore_ascii_case(handle.trim_start_matches('@')))
    };
    // The accounts of customers are found by their ids alone.
    let is_own = |it: &Connection| it.profile_id.is_none();
    let is_match = |it: &&Connection| match query.split_once('/') {
        Some((platform, handle)) => {
            it.provider == platform && (is_own(it) && is_handle(it, handle) || it.id.to_string() == handle)
        }
        None => it.id.to_string() == query || is_own(it) && (it.provider == query || is_handle(it, query)),
    };
    let found: Vec<_> = accounts.iter().filter(is_match).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(CliError::Usage(format!("account {query:?} not found; {}", describe_accounts(accounts.iter())))),
        several => Err(CliError::Usage(format!(
            "{query:?} matches several accounts; {}",
            describe_accounts(several.iter().copied())
        ))),
    }
}

/// Each account once; `all` means every account of the user's own.
pub(crate) fn find_all<'a>(accounts: &'a [Connection], queries: &[String]) -> Result<Vec<&'a Connection>, CliError> {
    let mut found: Vec<&Connection> = Vec::new();
    for queries in queries {
        let named = if queries.trim() == "all" {
            accounts.iter().filter(|it| it.profile_id.is_none()).collect()
        } else {
            vec![find(accounts, queries)?]
        };
        if named.is_empty() {
            return Err(CliError::Usage(
                "no account of your own is connected; connect one with `social connect PLATFORM`, or name an account by its id"
                    .to_owned(),
            ));
        }
        for account in named {
            if !found.iter().any(|it| it.id == account.id) {
                found.push(account);
            }
        }
    }
    Ok(found)
}

fn describe_accounts<'a>(accounts: impl Iterator<Item = &'a Connection>) -> String {
    let names: Vec<_> = accounts.map(|it| format!("{} ({})", name(it), it.id)).collect();
    match names.as_slice() {
        [] => "no account is connected; connect one with `social connect PLATFORM`".to_owned(),
        names => format!("use one of {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    fn accounts() -> Vec<Connection> {
        let one = |id, provider: &str, username: Option<&str>| Connection {
            id,
            provider: provider.to_owned(),
            username: username.map(ToOwned::to_owned),
            display_name: None,
            avatar: None,
            profile_id: None,
            needs_reconnection: false,
            created_at: None,
        };
        vec![
            one(1, "mastodon", Some("@Harbour")),
            one(2, "mastodon", Some("pier")),
            one(3, "bluesky", Some("harbour")),
            one(4, "slack", None),
        ]
    }

    #[test]
    fn account_is_named_by_any_unambiguous_name() {
        let accounts = accounts();
        for (said, id) in [
            ("1", 1),
            ("bluesky", 3),
            ("mastodon/harbour", 1),
            ("mastodon/@pier", 2),
            ("pier", 2),
            ("slack", 4),
            ("slack/4", 4),
        ] {
            assert_eq!(find(&accounts, said).unwrap().id, id, "{said}");
        }
    }

    #[test]
    fn account_of_a_customer_is_named_by_its_id_alone() {
        let mut accounts = accounts();
        accounts[2].profile_id = Some(7);
        assert_eq!((find(&accounts, "harbour").unwrap().id, find(&accounts, "3").unwrap().id), (1, 3));
        assert!(find(&accounts, "bluesky").is_err());
        let all: Vec<_> = find_all(&accounts, &["all".to_owned()]).unwrap().iter().map(|it| it.id).collect();
        assert_eq!(all, [1, 2, 4]);
    }

    #[test]
    fn ambiguous_account_is_an_error_with_the_matches() {
        let accounts = accounts();
        let message = find(&accounts, "mastodon").unwrap_err().to_string();
        assert_eq!(
            message,
            "\"mastodon\" matches several accounts; use one of mastodon/@Harbour (1), mastodon/pier (2)"
        );
        assert!(find(&accounts, "harbour").is_err() && find(&accounts, "x").is_err());
    }

    #[test]
    fn repeated_account_is_used_once() {
        let accounts = accounts();
        let said = ["pier", "all", "2"].map(ToOwned::to_owned);
        let ids: Vec<_> = find_all(&accounts, &said).unwrap().iter().map(|it| it.id).collect();
        assert_eq!(ids, [2, 1, 3, 4]);
        assert!(find_all(&[], &["all".to_owned()]).is_err());
    }
}
