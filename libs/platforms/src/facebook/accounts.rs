//! For which Pages somebody posts.
//!
//! Facts: the token of a Page is read with that of its person, and does not end by
//! itself. Who has declined a permission is sent back all the same.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;

use super::kind;
use crate::account::{Account, Credentials};
use crate::caller::Caller;
use crate::connect_flow::ConnectError;
use crate::kit::CallError;
use crate::meta::Graph;
use crate::meta::facebook_login::{Granted, PORTFOLIOS};
use crate::meta::pages::{self, Page};

/// What nothing can be done without: to see which Pages there are, what they show, and to
/// post on them.
pub(super) const NEEDED: &[&str] = &["pages_show_list", "pages_read_engagement", "pages_manage_posts"];

/// To comment under a post.
const TO_COMMENT: &str = "pages_manage_engagement";

/// What is asked for.
pub(super) const SCOPES: &[&str] =
    &["pages_show_list", "pages_read_engagement", "pages_manage_posts", TO_COMMENT, PORTFOLIOS];

/// What is kept with a grant that does not let us comment.
const SILENT: &str = "silent";

/// The most names of Pages in a message.
const MOST_NAMES: usize = 5;

/// The Pages of a person: each an account of its own.
pub(super) async fn of(graph: &Graph, granted: Granted, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
    let all = granted.pages(graph, &[], now).await?;
    let may_comment = granted.permissions.have(TO_COMMENT);
    let account = |page: &Page| {
        let mut account = granted.account(page, profile(page)?, kind::rules(may_comment))?;
        account.credentials.extra = (!may_comment).then(|| SILENT.into());
        Some(account)
    };
    let accounts: Vec<Account> = all.iter().filter_map(account).collect();
    if accounts.is_empty() { Err(none(&all)) } else { Ok(accounts) }
}

/// Why there is nothing to connect.
fn none(all: &[Page]) -> ConnectError {
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

/// A Page as it tells of itself now; `None` where that cannot be an account.
pub(super) async fn one(graph: &Graph, by: Caller<'_>, id: &str) -> Result<Option<AccountInfo>, CallError> {
    Ok(profile(&pages::one(graph, by, id).await?))
}

/// Whether we may comment for the Pages of this grant.
pub(super) fn may_comment(credentials: &Credentials) -> bool {
    credentials.extra.is_none()
}

/// A Page, as people know it: by its name, where its address has none.
fn profile(page: &Page) -> Option<AccountInfo> {
    let is_id = !page.id.is_empty() && page.id.len() <= 30 && page.id.bytes().all(|it| it.is_ascii_digit());
    let of_address = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-' | b'_');
    let username = page.username.clone().filter(|it| !it.is_empty() && it.bytes().all(of_address));
    let name = page.name.clone().filter(|it| !it.trim().is_empty());
    is_id.then(|| AccountInfo {
        account_id: page.id.clone(),
        profile_url: Some(format!("https://www.facebook.com/{}", username.as_deref().unwrap_or(&page.id))),
        username: username.or_else(|| name.clone()).or_else(|| Some(page.id.clone())),
        display_name: name,
        avatar: page.picture(),
    })
}
