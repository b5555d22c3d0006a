//! The locations that a person manages. Each is an account.

use std::collections::BTreeSet;

use domain::connection::AccountInfo;
use futures::{StreamExt, TryStreamExt, stream};
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{GoogleBusiness, page, rules};
use crate::account::{AccountDetails, UnreadableGrant};
use crate::kit::{Auth, Call, CallError, Effect, ErrorKind, Grant};

/// The most pages of one list: 100 accounts, and 500 locations of each.
const MAX_PAGES: usize = 5;

const MAX_LOCATIONS: usize = 500;

const PARALLEL_LISTS: usize = 5;

const FIELDS: (&str, &str) = ("readMask", "name,title,storefrontAddress,metadata");

#[derive(Deserialize)]
pub(super) struct Page<T> {
    /// Absent where there are none.
    #[serde(default = "Vec::new", alias = "accounts", alias = "locations", alias = "localPosts")]
    pub(super) items: Vec<T>,
    #[serde(rename = "nextPageToken")]
    pub(super) next: Option<String>,
}

#[derive(Deserialize)]
struct Account {
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    name: String,
    title: Option<String>,
    #[serde(default)]
    storefront_address: Address,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    #[serde(default)]
    address_lines: Vec<String>,
    locality: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    maps_uri: Option<String>,
    /// Absent if false, as in all JSON of Google.
    #[serde(default)]
    can_operate_local_post: bool,
}

impl Location {
    fn id(&self) -> Option<&str> {
        self.name.strip_prefix("locations/").filter(|it| is_id(it))
    }

    /// The title with the street and the town, because a chain may have several locations in a town.
    fn long_name(&self) -> Option<String> {
        let Address { address_lines, locality } = &self.storefront_address;
        let address: Vec<&str> = address_lines.first().into_iter().chain(locality).map(String::as_str).collect();
        let title = self.title.as_ref().filter(|_| !address.is_empty())?;
        Some(format!("{title} ({})", address.join(", ")))
    }

    fn info(&self, account_id: String, needs_long_name: bool) -> AccountInfo {
        let name = self.long_name().filter(|_| needs_long_name).or_else(|| self.title.clone());
        AccountInfo {
            account_id,
            username: None,
            display_name: name.filter(|it| !it.trim().is_empty()),
            avatar: None,
            profile_url: self.metadata.maps_uri.clone().filter(|it| it.starts_with("https://")),
        }
    }
}

pub(super) async fn list(google: &GoogleBusiness, auth: Auth<'_>) -> Result<Grant, CallError> {
    let page_of_accounts = || google.accounts.get(auth, &["v1", "accounts"]).query(&[("pageSize", "20")]);
    let mut accounts: Vec<Account> = pages(page_of_accounts).await?;
    // A location may be in several accounts: the choice must be the same next time.
    accounts.sort_by(|a, b| a.name.cmp(&b.name));
    let personal = accounts.iter().find(|it| it.kind.as_deref() == Some("PERSONAL"));
    let grant = personal.or_else(|| accounts.first()).map(|it| it.name.clone());
    let ids = accounts.iter().filter_map(|it| it.name.strip_prefix("accounts/").filter(|it| is_id(it)));
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    let of_account = |account: String| async move {
        let path = ["v1", "accounts", &account, "locations"];
        let locations = pages(|| google.locations.get(auth, &path).query(&[FIELDS, ("pageSize", "100")])).await?;
        Ok::<_, CallError>((account, locations))
    };
    let lists: Vec<(String, Vec<Location>)> =
        stream::iter(ids).map(of_account).buffered(PARALLEL_LISTS).try_collect().await?;
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (account, location) in lists.iter().flat_map(|(account, list)| list.iter().map(move |it| (account, it))) {
        let Some(id) = location.id() else { continue };
        if location.metadata.can_operate_local_post && seen.insert(id) && found.len() < MAX_LOCATIONS {
            found.push((format!("accounts/{account}/locations/{id}"), location));
        }
    }
    if found.is_empty() {
        let reason = "this Google account manages no location that can have posts: ask an owner of the Business Profile \
                      to make it a manager, then connect again";
        return Err(CallError::new(ErrorKind::Forbidden, Effect::Read, reason));
    }
    let details = |(id, location): &(String, &Location)| {
        let is_ambiguous = 1 < found.iter().filter(|(_, it)| it.title == location.title).count();
        AccountDetails { profile: location.info(id.clone(), is_ambiguous), rules: rules() }
    };
    Ok(Grant { name: grant, accounts: found.iter().map(details).collect() })
}

/// `None` if the location is gone.
pub(super) async fn one(
    google: &GoogleBusiness,
    auth: Auth<'_>,
    profile: &AccountInfo,
) -> Result<Option<AccountDetails>, CallError> {
    let (_, id) = segments(&profile.account_id).ok_or(UnreadableGrant)?;
    let location: Location = match google.locations.get(auth, &["v1", "locations", id]).query(&[FIELDS]).read().await {
        Ok(location) => location,
        Err(error) if error.is_status(StatusCode::NOT_FOUND) => return Ok(None),
        Err(error) => return Err(error),
    };
    let has_long_name = profile.display_name.is_some() && profile.display_name == location.long_name();
    let profile = location.info(profile.account_id.clone(), has_long_name);
    Ok(Some(AccountDetails { profile, rules: rules() }))
}

async fn pages<T: DeserializeOwned>(call: impl Fn() -> Call) -> Result<Vec<T>, CallError> {
    let (mut all, mut token) = (Vec::new(), None::<String>);
    for _ in 0..MAX_PAGES {
        let Page { items, next } = page(call(), token.as_deref()).await?;
        all.extend(items);
        if next.is_none() || next == token {
            break;
        }
        token = next;
    }
    Ok(all)
}

/// The ids in `accounts/{account}/locations/{location}`.
pub(super) fn segments(account_id: &str) -> Option<(&str, &str)> {
    let (account, location) = account_id.strip_prefix("accounts/")?.split_once("/locations/")?;
    (is_id(account) && is_id(location)).then_some((account, location))
}

fn is_id(it: &str) -> bool {
    (1..=50).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_become_segments_of_a_path() {
        assert_eq!(segments("accounts/12/locations/34"), Some(("12", "34")));
        for wrong in ["locations/34", "accounts/12", "accounts/12/locations/", "accounts/1/2/locations/34"] {
            assert_eq!(segments(wrong), None, "{wrong}");
        }
        assert_eq!(segments("accounts/12/locations/../34"), None);
    }

    #[test]
    fn page_of_any_list_is_read() {
        let page = |json| serde_json::from_str::<Page<String>>(json).map(|it| (it.items, it.next)).unwrap();
        assert_eq!(page("{}"), (vec![], None));
        assert_eq!(page(r#"{"locations":["a"]}"#), (vec!["a".to_owned()], None));
        assert_eq!(page(r#"{"accounts":[],"nextPageToken":"2"}"#), (vec![], Some("2".to_owned())));
    }
}
