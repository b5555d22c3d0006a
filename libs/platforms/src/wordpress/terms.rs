//! Categories and tags, by their names.

use domain::delivery::Setback;

use super::api::{Api, Caller};
use super::content::escaped;
use super::failure::Failure;
use crate::html::plain;

/// The ids of terms of a taxonomy, `categories` or `tags`. Those that there are not
/// yet are made.
pub(super) async fn ids(api: &Api, caller: Caller<'_>, taxonomy: &str, names: &[String]) -> Result<Vec<u64>, Setback> {
    let mut ids = Vec::new();
    for name in names {
        ids.push(id(api, caller, taxonomy, name.trim()).await?);
    }
    Ok(ids)
}

async fn id(api: &Api, caller: Caller<'_>, taxonomy: &str, name: &str) -> Result<u64, Setback> {
    // WordPress keeps names as HTML, and looks for words in them as they are kept.
    let kept = escaped(name).replace("&#91;", "[");
    let found = api.terms(caller, taxonomy, &kept).await.map_err(Failure::before_the_call)?;
    let is_it = |it: &str| plain(it).trim().to_lowercase() == name.to_lowercase();
    if let Some(term) = found.into_iter().find(|it| is_it(&it.name)) {
        return Ok(term.id);
    }
    api.make_term(caller, taxonomy, name).await.map_err(|failure| {
        if failure.is_of_the_role() {
            let reason =
                format!("option {taxonomy}: the site has none of the name {name:?}, and the account may make none");
            return Setback::Refused { reason };
        }
        failure.before_the_call().in_words(|why| format!("option {taxonomy}: {why}"))
    })
}
