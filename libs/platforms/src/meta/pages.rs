//! The Pages for which a person may act.
//!
//! Facts (`pages-api/getting-started`, `reference/user/accounts`, the lists of the
//! business SDK):
//!
//! - A person's own Pages are listed with what they may do on each, and with a token of
//!   each. Read with a token that lasts, that of a Page does not end by itself.
//! - Pages of a portfolio may be missing there. They are listed below the portfolio,
//!   without what the person may do; a token comes only with those on which they may do
//!   something. To ask for portfolios takes the permission `business_management`.

use std::collections::BTreeSet;

use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::graph::Graph;
use super::list::List;
use crate::caller::Caller;
use crate::kit::{CallError, ErrorKind};

/// What is asked of each Page.
const OF_A_PAGE: &str = "id,name,username,access_token,picture.type(large)";

/// How many entries a list is asked for at once.
const AT_ONCE: &str = "100";

/// The most lists of Pages that are read, a portfolio's own and its clients' each for one.
const MOST_LISTS: usize = 40;

/// The tasks that let a person post, by the names of both kinds of Pages.
const MAY_POST: &[&str] = &["CREATE_CONTENT", "PROFILE_PLUS_CREATE_CONTENT"];

/// A Page. Its token does not print.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// What its address ends with, where it has a name of its own there.
    pub(crate) username: Option<String>,
    /// To act for it; `None` where the person may do nothing with it.
    #[serde(rename = "access_token")]
    pub(crate) token: Option<SecretString>,
    picture: Option<Picture>,
    /// What the person may do; `None` where that is not told.
    tasks: Option<Vec<String>>,
    /// The account of Instagram that belongs to it, where that was asked.
    #[serde(rename = "instagram_business_account")]
    pub(crate) instagram: Option<Linked>,
}

/// An account of Instagram that belongs to a Page.
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
    /// Whether the person may post on it. Where that is not told, its token says so.
    pub(crate) fn may_post(&self) -> bool {
        let can = |tasks: &Vec<String>| tasks.iter().any(|it| MAY_POST.contains(&it.as_str()));
        self.token.is_some() && self.tasks.as_ref().is_none_or(can)
    }

    /// Where its picture is, for a while.
    pub(crate) fn picture(&self) -> Option<String> {
        self.picture.as_ref()?.data.url.clone()
    }
}

/// All Pages for which the person with this token may act in some way, their own first.
/// `further` are fields beside the usual, such as `instagram_business_account{id}`;
/// `portfolios` says whether Pages of portfolios are read, for which the person has to
/// have granted `business_management`.
pub(crate) async fn all(
    graph: &Graph,
    by: Caller<'_>,
    further: &[&str],
    portfolios: bool,
) -> Result<Vec<Page>, CallError> {
    let fields = [&[OF_A_PAGE], further].concat().join(",");
    let mut pages: Vec<Page> = listed(graph, by, "/me/accounts", &format!("{fields},tasks")).await?;
    if portfolios {
        let known: BTreeSet<_> = pages.iter().map(|it| it.id.clone()).collect();
        let others = of_portfolios(graph, by, &fields).await?;
        pages.extend(others.into_iter().filter(|it| !known.contains(&it.id)));
    }
    let mut seen = BTreeSet::new();
    pages.retain(|it| seen.insert(it.id.clone()));
    Ok(pages)
}

/// The Page with this id, by its own token or that of a person.
pub(crate) async fn one(graph: &Graph, by: Caller<'_>, id: &str) -> Result<Page, CallError> {
    let query = [("fields", "id,name,username,picture.type(large)")];
    Ok(graph.get(by, &format!("/{id}"), &query).await?.body)
}

async fn of_portfolios(graph: &Graph, by: Caller<'_>, fields: &str) -> Result<Vec<Page>, CallError> {
    let portfolios: Vec<Portfolio> = match listed(graph, by, "/me/businesses", "id").await {
        // Nobody has to have any, and an app may not be let near them.
        Err(error) if error.kind == ErrorKind::Unauthorized => return Ok(Vec::new()),
        listed => listed?,
    };
    let mut pages = Vec::new();
    let lists = portfolios.iter().flat_map(|it| ["owned_pages", "client_pages"].map(|edge| (&it.id, edge)));
    for (id, edge) in lists.take(MOST_LISTS) {
        match listed(graph, by, &format!("/{id}/{edge}"), fields).await {
            Ok(found) => pages.extend::<Vec<Page>>(found),
            // In one portfolio the person may be nobody who sees its Pages.
            Err(error) if error.kind == ErrorKind::Unauthorized => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pages)
}

async fn listed<T: DeserializeOwned>(
    graph: &Graph,
    by: Caller<'_>,
    path: &str,
    fields: &str,
) -> Result<Vec<T>, CallError> {
    List::all(graph, by, path, &[("fields", fields), ("limit", AT_ONCE)]).await
}
