//! The pages for which a member may post.
//!
//! Facts: the member's roles are listed, and the names of pages are read by their ids; the member's
//! token serves all of them. Source: `organizations/*`.

use std::collections::BTreeMap;

use domain::connection::AccountInfo;
use serde::Deserialize;

use super::PAGE_PREFIX;
use super::api::Api;
use crate::kit::{Auth, CallError};

const MAY_POST: &[&str] = &["ADMINISTRATOR", "CONTENT_ADMIN", "CONTENT_ADMINISTRATOR"];

const PAGE: usize = 50;
const MOST_PAGES: usize = 4;

#[derive(Deserialize)]
struct Roles {
    elements: Vec<Role>,
}

#[derive(Deserialize)]
struct Role {
    // Older versions use the second name.
    #[serde(alias = "organizationTarget")]
    organization: String,
    role: String,
}

#[derive(Deserialize)]
struct OrganizationList {
    results: BTreeMap<String, Organization>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Organization {
    localized_name: Option<String>,
    vanity_name: Option<String>,
}

pub(super) async fn all(api: &Api, auth: Auth<'_>) -> Result<Vec<AccountInfo>, CallError> {
    let mut ids: Vec<u64> = Vec::new();
    for page in 0..MOST_PAGES {
        let start = page * PAGE;
        let path = format!("organizationAcls?q=roleAssignee&state=APPROVED&count={PAGE}&start={start}");
        let Roles { elements } = api.find(auth, &path).read().await?;
        let may_post = elements.iter().filter(|it| MAY_POST.contains(&it.role.as_str()));
        ids.extend(may_post.filter_map(|it| number(&it.organization)));
        if elements.len() < PAGE {
            break;
        }
    }
    ids.sort_unstable();
    ids.dedup();
    fetch_pages(api, auth, &ids).await
}

pub(super) async fn one(api: &Api, auth: Auth<'_>, name: &str) -> Result<Option<AccountInfo>, CallError> {
    let Some(number) = number(name) else { return Ok(None) };
    Ok(fetch_pages(api, auth, &[number]).await?.pop())
}

async fn fetch_pages(api: &Api, auth: Auth<'_>, numbers: &[u64]) -> Result<Vec<AccountInfo>, CallError> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = numbers.iter().map(u64::to_string).collect();
    // The brackets and commas of a list are not encoded.
    let path = format!("organizations?ids=List({})", ids.join(","));
    let OrganizationList { mut results } = api.get(auth, &path).read().await?;
    Ok(ids.iter().filter_map(|id| Some(profile(id, results.remove(id)?))).collect())
}

fn profile(id: &str, Organization { localized_name, vanity_name }: Organization) -> AccountInfo {
    let vanity_name = vanity_name.filter(|it| !it.is_empty());
    let page = vanity_name.as_deref().unwrap_or(id);
    AccountInfo {
        account_id: format!("{PAGE_PREFIX}{id}"),
        profile_url: Some(format!("https://www.linkedin.com/company/{page}")),
        username: vanity_name.or_else(|| localized_name.clone()).or_else(|| Some(id.to_owned())),
        display_name: localized_name,
        // Reading it takes a call of the older API.
        avatar: None,
    }
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix(PAGE_PREFIX)?.parse().ok()
}
