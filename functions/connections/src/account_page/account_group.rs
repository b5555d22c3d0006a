use std::collections::BTreeMap;

use api::page::{PlatformMark, date};
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::profile::ProfileRef;
use domain::time_zone::TimeZone;
use domain::web_address::is_web_address;
use platforms::{Connect, Registry};

pub(super) struct AccountGroup {
    pub(super) mark: PlatformMark,
    pub(super) title: String,
    pub(super) accounts: Vec<AccountRow>,
}

pub(super) struct AccountRow {
    pub(super) id: String,
    pub(super) platform: String,
    /// The name of the server's software: some servers that speak Mastodon's API have names of
    /// their own.
    pub(super) title: String,
    pub(super) name: String,
    /// `None` when it equals `name`.
    pub(super) display_name: Option<String>,
    pub(super) avatar: Option<String>,
    pub(super) needs_reconnection: bool,
    pub(super) is_offered: bool,
    pub(super) since: String,
    /// The day on which only the user can restore the access; `None` when the service refreshes it.
    pub(super) ends: Option<String>,
    pub(super) pending: u32,
    /// The customer whose account it is; `None` for the user's own.
    pub(super) customer: Option<Customer>,
}

pub(super) struct Customer {
    pub(super) profile_id: String,
    pub(super) name: String,
}

impl AccountGroup {
    /// By title and name. Accounts that need to be reconnected, and their groups, come first.
    pub(super) fn all(accounts: Vec<AccountRow>) -> Vec<Self> {
        let mut by_platform: BTreeMap<String, Vec<AccountRow>> = BTreeMap::new();
        for account in accounts {
            by_platform.entry(account.platform.clone()).or_default().push(account);
        }
        let mut groups: Vec<_> = by_platform.into_iter().map(|(platform, them)| Self::new(&platform, them)).collect();
        groups.sort_by_cached_key(|it| (!it.needs_reconnection(), it.title.to_lowercase()));
        groups
    }

    fn new(platform: &str, mut accounts: Vec<AccountRow>) -> Self {
        accounts.sort_by_cached_key(|it| (!it.needs_reconnection, it.name.to_lowercase()));
        Self { mark: PlatformMark::new(platform), title: platform_title(platform).to_owned(), accounts }
    }

    fn needs_reconnection(&self) -> bool {
        self.accounts.iter().any(|it| it.needs_reconnection)
    }
}

impl AccountRow {
    pub(super) fn new(
        connection: Connection,
        platforms: &Registry<dyn Connect>,
        zone: &TimeZone,
        now: DateTime<Utc>,
    ) -> Self {
        let name = connection.profile.shown_name();
        Self {
            id: connection.connection_id.to_string(),
            is_offered: platforms.get(&connection.provider).is_some(),
            platform: connection.provider,
            title: connection.rules.title,
            display_name: connection.profile.display_name.filter(|it| *it != name),
            name,
            avatar: connection.profile.avatar.filter(|it| is_web_address(it)),
            needs_reconnection: connection.needs_reconnection,
            since: date(connection.created_at, zone),
            ends: connection.token_expires_at.filter(|it| now < *it).map(|it| date(it, zone)),
            pending: connection.pending,
            customer: connection.of_profile.map(Customer::from),
        }
    }

    /// Whether each word of the search is in a name of the account, of its platform or of its customer.
    pub(super) fn matches(&self, search: &str) -> bool {
        let display_name = self.display_name.as_deref().unwrap_or_default();
        let customer = self.customer.as_ref().map_or("", |it| it.name.as_str());
        let names = [&self.name, display_name, &self.title, platform_title(&self.platform), customer];
        let names = names.join("\n").to_lowercase();
        search.to_lowercase().split_whitespace().all(|word| names.contains(word))
    }
}

impl From<ProfileRef> for Customer {
    fn from(profile: ProfileRef) -> Self {
        Self { profile_id: profile.profile_id.to_string(), name: profile.shown_name() }
    }
}

/// The name itself for a platform that no longer exists.
fn platform_title(platform: &str) -> &str {
    platforms::platform_infos().iter().find(|it| it.name == platform).map_or(platform, |it| it.title)
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_connection, a_user, noon};

    use super::*;

    fn account(platform: &str, username: &str, needs_reconnection: bool) -> AccountRow {
        let mut connection = a_connection(&a_user());
        connection.provider = platform.to_owned();
        connection.profile.username = Some(username.to_owned());
        connection.needs_reconnection = needs_reconnection;
        AccountRow::new(connection, &Registry::from_adapters(Vec::new()), &TimeZone::utc(), noon())
    }

    fn names(accounts: Vec<AccountRow>) -> Vec<(String, Vec<String>)> {
        let groups = AccountGroup::all(accounts).into_iter();
        groups.map(|it| (it.title, it.accounts.into_iter().map(|it| it.name).collect())).collect()
    }

    #[test]
    fn accounts_are_grouped_by_platform_and_broken_ones_come_first() {
        let accounts = vec![
            account("bluesky", "bea", false),
            account("wordpress", "wim", false),
            account("mastodon", "Ada", false),
            account("wordpress", "zoe", true),
            account("mastodon", "abe", false),
            account("closed", "cora", false),
        ];

        let groups = names(accounts);

        let expected = [
            ("WordPress", &["@zoe", "@wim"][..]),
            ("Bluesky", &["@bea"]),
            ("closed", &["@cora"]),
            ("Mastodon", &["@abe", "@Ada"]),
        ];
        let expected = expected.map(|(title, names)| (title.to_owned(), names.iter().map(|&it| it.into()).collect()));
        assert_eq!(groups, expected);
    }

    #[test]
    fn search_finds_names_and_the_platform() {
        let mut row = account("mastodon", "ada", false);
        row.title = "Pixelfed".to_owned();
        for search in ["", " ", "ADA", "@ada", "harbour", "mastodon", "pixel", "ada masto"] {
            assert!(row.matches(search), "{search:?}");
        }
        for search in ["bea", "bluesky", "ada bluesky"] {
            assert!(!row.matches(search), "{search:?}");
        }
    }
}
