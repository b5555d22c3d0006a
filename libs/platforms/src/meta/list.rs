use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::graph::Graph;
use crate::caller::Caller;
use crate::kit::CallError;

const MOST_PAGES: usize = 10;

#[derive(Deserialize)]
pub(crate) struct List<T> {
    pub(crate) data: Vec<T>,
    paging: Option<Paging>,
}

#[derive(Deserialize)]
struct Paging {
    cursors: Option<Cursors>,
    /// The URL of the next page.
    next: Option<String>,
}

#[derive(Deserialize)]
struct Cursors {
    after: Option<String>,
}

impl<T: DeserializeOwned> List<T> {
    /// The page after this cursor, or the first one.
    pub(crate) async fn page(
        graph: &Graph,
        caller: Caller<'_>,
        path: &str,
        query: &[(&str, &str)],
        after: Option<&str>,
    ) -> Result<Self, CallError> {
        let mut query = query.to_vec();
        query.extend(after.map(|it| ("after", it)));
        Ok(graph.get(caller, path, &query).await?.body)
    }

    /// All entries; of a very long list about the first thousand.
    pub(crate) async fn all(
        graph: &Graph,
        caller: Caller<'_>,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, CallError> {
        let (mut entries, mut after) = (Vec::new(), None::<String>);
        for _ in 0..MOST_PAGES {
            let page = Self::page(graph, caller, path, query, after.as_deref()).await?;
            after = page.next();
            entries.extend(page.data);
            if after.is_none() {
                break;
            }
        }
        Ok(entries)
    }

    pub(crate) fn next(&self) -> Option<String> {
        let paging = self.paging.as_ref().filter(|it| it.next.is_some())?;
        paging.cursors.as_ref()?.after.clone()
    }
}
