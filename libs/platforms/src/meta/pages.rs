//! The Pages for which a user may act.
//!
//! Facts (`pages-api/getting-started`, `reference/user/accounts`, the lists of the business SDK):
//!
//! - A user's own Pages are listed with the user's tasks on each, and with a token of each. If the
//!   list is read with a long-lived token, Page tokens do not expire.
//! - Pages of a business portfolio may be missing there. They are listed below the portfolio,
//!   without tasks; those for which the user has a task have a token. Reading portfolios requires
//!   the permission `business_management`.

use std::collections::BTreeSet;

use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::graph::Graph;
use super::list::List;
use crate::caller::Caller;
use crate::kit::{CallError, ErrorKind};

const OF_A_PAGE: &str = "id,name,username,access_token,picture.type(large)";

const AT_ONCE: &str = "100";

/// A portfolio has two lists: its own, and its clients'.
const MOST_LISTS: usize = 40;

/// The tasks that permit posts, for both kinds of Pages.
const MAY_POST: &[&str] = &["CREATE_CONTENT", "PROFILE_PLUS_CREATE_CONTENT"];

/// `Debug` does not print the token.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// The last part of its URL, if it has a name of its own.
    pub(crate) username: Option<String>,
    /// `None` if the user may not act for it.
    #[serde(rename = "access_token")]
    pub(crate) token: Option<SecretString>,
    picture: Option<Picture>,
    /// `None` if the list does not have them.
    tasks: Option<Vec<String>>,
    /// The linked Instagram account, if it was requested.
    #[serde(rename = "instagram_business_account")]
    pub(crate) instagram: Option<Linked>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Linked {
    pub(crate) id: String,
    pub(crate) username: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) profile_picture_url: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Picture {
    data: PictureData,
}

#[derive(Clone, Debug, Deserialize)]
struct PictureData {
    url: Option<String>,
}

#[derive(Deserialize)]
struct Portfolio {
    id: String,
}

impl Page {
    /// Whether the user may post to the Page. If its tasks are unknown, a token means yes.
    pub(crate) fn may_post(&self) -> bool {
        let can = |tasks: &Vec<String>| tasks.iter().any(|it| MAY_POST.contains(&it.as_str()));
        self.token.is_some() && self.tasks.as_ref().is_none_or(can)
    }

    /// A temporary URL.
    pub(crate) fn picture(&self) -> Option<String> {
        self.picture.as_ref()?.data.url.clone()
    }
}

/// All Pages for which the user of this token may act, their own first. `further` are additional
/// fields, such as `instagram_business_account{id}`; `portfolios` says whether Pages of portfolios
/// are read, which requires the permission `business_management`.
pub(crate) async fn all(
    graph: &Graph,
    caller: Caller<'_>,
    extra_fields: &[&str],
    includes_portfolios: bool,
) -> Result<Vec<Page>, CallError> {
    let fields = [&[OF_A_PAGE], extra_fields].concat().join(",");
    let mut pages: Vec<Page> = list_all(graph, caller, "/me/accounts", &format!("{fields},tasks")).await?;
    if includes_portfolios {
        let known: BTreeSet<_> = pages.iter().map(|it| it.id.clone()).collect();
        let others = list_portfolio_pages(graph, caller, &fields).await?;
        pages.extend(others.into_iter().filter(|it| !known.contains(&it.id)));
    }
    let mut seen = BTreeSet::new();
    pages.retain(|it| seen.insert(it.id.clone()));
    Ok(pages)
}

/// Reads a Page by its own token or that of a user.
pub(crate) async fn one(graph: &Graph, caller: Caller<'_>, id: &str) -> Result<Page, CallError> {
    let query = [("fields", "id,name,username,picture.type(large)")];
    Ok(graph.get(caller, &format!("/{id}"), &query).await?.body)
}

async fn list_portfolio_pages(graph: &Graph, caller: Caller<'_>, fields: &str) -> Result<Vec<Page>, CallError> {
    let portfolios: Vec<Portfolio> = match list_all(graph, caller, "/me/businesses", "id").await {
        // A user may have none, and an app may not be permitted to read them.
        Err(error) if error.kind == ErrorKind::Unauthorized => return Ok(Vec::new()),
        list_all => list_all?,
    };
    let mut pages = Vec::new();
    let lists = portfolios.iter().flat_map(|it| ["owned_pages", "client_pages"].map(|edge| (&it.id, edge)));
    for (id, edge) in lists.take(MOST_LISTS) {
        match list_all(graph, caller, &format!("/{id}/{edge}"), fields).await {
            Ok(found) => pages.extend::<Vec<Page>>(found),
            // The user may lack the permission to see the Pages of one portfolio.
            Err(error) if error.kind == ErrorKind::Unauthorized => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pages)
}

async fn list_all<T: DeserializeOwned>(
    graph: &Graph,
    caller: Caller<'_>,
    path: &str,
    fields: &str,
) -> Result<Vec<T>, CallError> {
    List::all(graph, caller, path, &[("fields", fields), ("limit", AT_ONCE)]).await
}
