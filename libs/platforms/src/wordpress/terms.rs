//! Categories and tags, by their names.

use domain::delivery::AttemptError;
use futures::{StreamExt, TryStreamExt, stream};

use super::api::{Api, Caller};
use crate::html::plain;
use crate::kit::ErrorKind;

/// How many are looked up concurrently: a slow site takes a second for each, and few such sites
/// respond to many at once.
const CONCURRENCY: usize = 4;

/// The ids of terms of a taxonomy, `categories` or `tags`. Missing ones are created.
pub(super) async fn ids(
    api: &Api,
    caller: Caller<'_>,
    taxonomy: &str,
    names: &[String],
) -> Result<Vec<u64>, AttemptError> {
    let found: Vec<_> = names.iter().map(|name| id(api, caller, taxonomy, name.trim())).collect();
    stream::iter(found).buffered(CONCURRENCY).try_collect().await
}

async fn id(api: &Api, caller: Caller<'_>, taxonomy: &str, name: &str) -> Result<u64, AttemptError> {
    // WordPress stores names as HTML, and searches the stored form.
    let stored_name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let found = api.terms(caller, taxonomy, &stored_name).await?;
    let is_it = |it: &str| plain(it).trim().to_lowercase() == name.to_lowercase();
    if let Some(term) = found.into_iter().find(|it| is_it(&it.name)) {
        return Ok(term.id);
    }
    api.create_term(caller, taxonomy, name).await.map_err(|error| {
        if error.kind == ErrorKind::Forbidden {
            let reason = format!(
                "option {taxonomy}: the site has none with the name {name:?}, and the account may not create \
                         one"
            );
            return AttemptError::Refused { reason };
        }
        error.with_message(|why| format!("option {taxonomy}: {why}")).into()
    })
}
