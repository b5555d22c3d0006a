//! The Pages of a user.
//!
//! Facts: a Page token is read with the user's token, and does not expire. A user who declines a
//! permission is redirected to us all the same.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;

use super::kind;
use crate::account::{Account, Credentials};
use crate::caller::Caller;
use crate::connect_flow::ConnectError;
use crate::kit::CallError;
use crate::meta::Graph;
use crate::meta::facebook_login::{FacebookGrant, PORTFOLIOS};
use crate::meta::pages::{self, Page};

/// Without these, nothing works: they list Pages, read what Pages show, and publish posts.
pub(super) const NEEDED: &[&str] = &["pages_show_list", "pages_read_engagement", "pages_manage_posts"];

const TO_COMMENT: &str = "pages_manage_engagement";

pub(super) const SCOPES: &[&str] =
    &["pages_show_list", "pages_read_engagement", "pages_manage_posts", TO_COMMENT, PORTFOLIOS];

/// Stored with a grant that does not permit comments.
const SILENT: &str = "silent";

const MOST_NAMES: usize = 5;

pub(super) async fn list(
    graph: &Graph,
    granted: FacebookGrant,
    now: DateTime<Utc>,
) -> Result<Vec<Account>, ConnectError> {
    let all = granted.pages(graph, &[], now).await?;
    let may_comment = granted.permissions.have(TO_COMMENT);
    let account = |page: &Page| {
        let mut account = granted.account(page, profile(page)?, kind::rules(may_comment))?;
        account.credentials.extra = (!may_comment).then(|| SILENT.into());
        Some(account)
    };
    let accounts: Vec<Account> = all.iter().filter_map(account).collect();
    if accounts.is_empty() { Err(no_usable_page(&all)) } else { Ok(accounts) }
}

fn no_usable_page(all: &[Page]) -> ConnectError {
    let names: Vec<_> = all.iter().filter_map(|it| it.name.as_deref()).take(MOST_NAMES).collect();
    ConnectError::Refused(if all.is_empty() {
        "you have no Facebook Page, or selected none: connect again and select at least one Page (Facebook does not \
         permit posts to personal profiles)"
            .to_owned()
    } else {
        let names = if names.is_empty() { "your Pages".to_owned() } else { names.join(", ") };
        format!(
            "you may not create content on {names}: ask an admin of the Page to give you that task in the \
             Page's settings (Page access), then connect again"
        )
    })
}

/// The current account info of a Page; `None` if it cannot be an account.
pub(super) async fn one(graph: &Graph, caller: Caller<'_>, id: &str) -> Result<Option<AccountInfo>, CallError> {
    Ok(profile(&pages::one(graph, caller, id).await?))
}

pub(super) fn may_comment(credentials: &Credentials) -> bool {
    credentials.extra.is_none()
}

/// The Page's name replaces a missing username.
fn profile(page: &Page) -> Option<AccountInfo> {
    let is_id = !page.id.is_empty() && page.id.len() <= 30 && page.id.bytes().all(|it| it.is_ascii_digit());
    let is_url_character = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-' | b'_');
    let username = page.username.clone().filter(|it| !it.is_empty() && it.bytes().all(is_url_character));
    let name = page.name.clone().filter(|it| !it.trim().is_empty());
    is_id.then(|| AccountInfo {
        account_id: page.id.clone(),
        profile_url: Some(format!("https://www.facebook.com/{}", username.as_deref().unwrap_or(&page.id))),
        username: username.or_else(|| name.clone()).or_else(|| Some(page.id.clone())),
        display_name: name,
        avatar: page.picture(),
    })
}
